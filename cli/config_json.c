/* SPDX-License-Identifier: MIT */
#include "cli/config_json.h"

#include <string.h>

#include "cli/out.h"

static json_t *value_of(const struct config *config, const struct config_setting *setting)
{
    const void *field = (const char *)config + setting->offset;
    switch (setting->kind) {
    case CONFIG_KIND_TEXT: return out_string(*(char *const *)field);
    case CONFIG_KIND_NUMBER: return json_integer(*(const int64_t *)field);
    case CONFIG_KIND_CHOICE: break;
    }
    const char *word = setting->text;
    for (int i = *(const int *)field; i > 0; i--)
        word = strchr(word, '|') + 1;
    return out_bytes(word, strcspn(word, "|"));
}

json_t *config_json(const struct config *config, const struct fleet *fleet)
{
    static const char *const sources[] = {
        [CONFIG_DEFAULT] = "default", [CONFIG_FILE] = "file", [CONFIG_ENVIRONMENT] = "environment"};
    json_t *settings = json_array();
    for (size_t i = 0; i < CONFIG_SETTING_COUNT; i++) {
        json_t *one = json_object();
        out_set(one, "path", out_string(config_setting(i)->path));
        out_set(one, "value", value_of(config, config_setting(i)));
        out_set(one, "source", out_string(sources[config->sources[i]]));
        out_add(settings, one);
    }
    json_t *folders = json_array();
    for (size_t i = 0; i < config->descriptor_dir_count; i++)
        out_add(folders, out_string(config->descriptor_dirs[i]));
    json_t *channels = json_array();
    for (size_t i = 0; i < channel_set_count(fleet->channels); i++)
        out_add(channels, out_string(channel_set_at(fleet->channels, i)->name));
    json_t *all = json_object();
    out_set(all, "file", out_string(config->path));
    out_set(all, "settings", settings);
    out_set(all, "redis_password", out_string(config->redis_password ? "set" : "none"));
    out_set(all, "descriptors", folders);
    out_set(all, "channels", channels);
    return all;
}
