/* SPDX-License-Identifier: MIT */
#include "cli/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/out.h"
#include "platforms/fleet.h"
#include "runtime/die.h"
#include "runtime/file.h"

#define FILE_MAX_BYTES ((size_t)16 << 20)

json_t *sample_file(const char *path, struct errbuf *err)
{
    struct buf text;
    json_error_t error;
    json_t *json = NULL;
    buf_init(&text, FILE_MAX_BYTES);
    if (file_read(path, &text, err)) {
        json = json_loadb(buf_text(&text), text.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
        if (!json) errbuf_set(err, "%s: line %d, column %d: %s", path, error.line, error.column, error.text);
    }
    buf_fini(&text);
    return json;
}

static json_t *made_up(const struct descriptor_setting *setting)
{
    switch (setting->type) {
    case SETTING_ORIGIN: return out_string("https://instance.example");
    case SETTING_URL: return out_string("https://instance.example/");
    case SETTING_STRING: return out_string("sample");
    case SETTING_ENUM: return json_incref(json_array_get(setting->values, 0));
    case SETTING_NUMBER: return json_integer(1);
    case SETTING_BOOLEAN: break;
    }
    return json_false();
}

static json_t *settings_of(const struct descriptor *d, const json_t *given)
{
    json_t *settings = json_is_object(given) ? json_copy((json_t *)given) : json_object();
    for (size_t i = 0; !given && i < d->setting_count; i++)
        if (d->settings[i].required) out_set(settings, d->settings[i].name, made_up(&d->settings[i]));
    return settings;
}

/* Channels without credentials name them all the same. */
static void name_credentials(const struct descriptor *d, json_t *channel)
{
    json_t *credentials = json_object();
    const char *name;
    for (size_t i = 0; (name = descriptor_credential(d, i)) != NULL; i++) {
        json_t *source = json_object();
        out_set(source, "env", out_string("NOT_READ"));
        out_set(credentials, name, source);
    }
    json_object_del(channel, "credential");
    if (json_object_size(credentials) > 0)
        out_set(channel, "credentials", credentials);
    else
        json_decref(credentials);
}

bool sample_open(const char *folder, const char *platform, const json_t *channel, const struct config *config,
                 struct sample *out, struct errbuf *err)
{
    struct descriptor *d = NULL;
    char name[IDENTITY_CHANNEL_BYTES];
    *out = (struct sample){.descriptors = descriptor_set_new(&folder, 1)};
    if (!descriptor_set_get(out->descriptors, platform, &d, err)) return false;
    json_t *one = json_is_object(channel) ? json_copy((json_t *)channel) : json_object(), *all = json_object();
    out_set(one, "platform", out_string(platform));
    out_set(one, "settings", settings_of(d, json_object_get(channel, "settings")));
    name_credentials(d, one);
    snprintf(name, sizeof(name), "%s/brand", platform);
    out_set(all, name, one);
    const struct delivery_policy defaults = fleet_defaults(config);
    const bool ok = channel_set_load_bare(all, "channel.json", out->descriptors, &defaults, &out->channels, err);
    json_decref(all);
    if (ok) out->channel = channel_find(out->channels, name);
    return ok;
}

void sample_fini(struct sample *sample)
{
    channel_set_free(&sample->channels);
    descriptor_set_free(&sample->descriptors);
}

static void add_line(struct answer *answer, char *own_line)
{
    answer_header_line(answer, own_line, strlen(own_line));
    free(own_line);
}

bool sample_answer(const json_t *described, struct answer *answer, struct errbuf *err)
{
    const json_t *status = json_object_get(described, "status"), *body = json_object_get(described, "body"),
                 *text = json_object_get(described, "text");
    const char *name;
    json_t *value;
    if (!json_is_integer(status) || json_integer_value(status) < 100 || json_integer_value(status) > 999)
        return errbuf_set(err, "its answer has no status");
    if ((body != NULL) == json_is_string(text)) return errbuf_set(err, "its answer needs body or text, one of them");
    answer_init(answer, ANSWER_BODY_MAX_BYTES);
    add_line(answer, xformat("HTTP/1.1 %d X", (int)json_integer_value(status)));
    json_object_foreach(json_object_get(described, "headers"), name, value)
    {
        add_line(answer, xformat("%s: %s\r\n", name, json_is_string(value) ? json_string_value(value) : ""));
    }
    char *dumped = body ? json_dumps(body, JSON_ENCODE_ANY) : NULL;
    const char *bytes = dumped ? dumped : body ? "" : json_string_value(text);
    bool ok = answer_body(answer, bytes, dumped || body ? strlen(bytes) : json_string_length(text));
    free(dumped);
    answer_finish(answer);
    if (!ok) answer_fini(answer);
    return ok || errbuf_set(err, "its answer is longer than %zu bytes", ANSWER_BODY_MAX_BYTES);
}
