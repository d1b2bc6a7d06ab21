/* SPDX-License-Identifier: MIT */
#include "runtime/config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_SETTING(field, path_, variable_, default_, pattern_, help_)                                               \
    {.path = path_,                                                                                                    \
     .variable = variable_,                                                                                            \
     .kind = CONFIG_KIND_TEXT,                                                                                         \
     .offset = offsetof(struct config, field),                                                                         \
     .text = default_,                                                                                                 \
     .pattern = CONFIG_##pattern_,                                                                                     \
     .help = help_},
#define NUMBER_SETTING(field, path_, variable_, default_, min_, max_, help_)                                           \
    {.path = path_,                                                                                                    \
     .variable = variable_,                                                                                            \
     .kind = CONFIG_KIND_NUMBER,                                                                                       \
     .offset = offsetof(struct config, field),                                                                         \
     .fallback = default_,                                                                                             \
     .min = min_,                                                                                                      \
     .max = max_,                                                                                                      \
     .help = help_},
#define CHOICE_SETTING(field, path_, variable_, default_, words_, help_)                                               \
    {.path = path_,                                                                                                    \
     .variable = variable_,                                                                                            \
     .kind = CONFIG_KIND_CHOICE,                                                                                       \
     .offset = offsetof(struct config, field),                                                                         \
     .text = words_,                                                                                                   \
     .fallback = default_,                                                                                             \
     .help = help_},

static const struct config_setting settings[] = {CONFIG_SETTINGS(TEXT_SETTING, NUMBER_SETTING, CHOICE_SETTING)};

const struct config_setting *config_setting(size_t i)
{
    return &settings[i];
}

void config_free(struct config **config)
{
    struct config *old = *config;
    if (!old) {
        return;
    }
    for (size_t i = 0; i < CONFIG_SETTING_COUNT; i++) {
        if (settings[i].kind == CONFIG_KIND_TEXT) {
            free(*(char **)((char *)old + settings[i].offset));
        }
    }
    for (size_t i = 0; i < old->descriptor_dir_count; i++) {
        free(old->descriptor_dirs[i]);
    }
    free(old->descriptor_dirs);
    free(old->path);
    config_redis_fini(&old->redis);
    address_list_fini(&old->fetch_allowed);
    address_list_fini(&old->only_hosts);
    secret_free(&old->redis_password);
    secret_free(&old->redis_sentinel_password);
    json_decref(old->channels);
    free(old);
    *config = NULL;
}

int64_t config_channel_slots(const struct config *config)
{
    if (config->worker_max_in_flight_per_channel > 0) {
        return config->worker_max_in_flight_per_channel;
    }
    return config->worker_slots >= 4 ? config->worker_slots / 4 : 1;
}

/* The word number `index` of "a|b|c". */
static void print_word(FILE *out, const char *words, int index)
{
    for (; index > 0; index--) {
        words = strchr(words, '|') + 1;
    }
    fprintf(out, "%.*s", (int)strcspn(words, "|"), words);
}

static void print_value(FILE *out, const struct config *config, const struct config_setting *setting)
{
    const void *field = (const char *)config + setting->offset;
    switch (setting->kind) {
    case CONFIG_KIND_TEXT: fprintf(out, "\"%s\"", *(char *const *)field); break;
    case CONFIG_KIND_NUMBER: fprintf(out, "%" PRId64, *(const int64_t *)field); break;
    case CONFIG_KIND_CHOICE: print_word(out, setting->text, *(const int *)field); break;
    }
}

void config_print(const struct config *config, FILE *out)
{
    fprintf(out, "file = %s\n", config->path ? config->path : "none");
    for (size_t i = 0; i < CONFIG_SETTING_COUNT; i++) {
        const struct config_setting *setting = &settings[i];
        fprintf(out, "%s = ", setting->path);
        print_value(out, config, setting);
        switch (config->sources[i]) {
        case CONFIG_DEFAULT: fputs("  (default)\n", out); break;
        case CONFIG_FILE: fputs("  (file)\n", out); break;
        case CONFIG_ENVIRONMENT: fprintf(out, "  (%s)\n", setting->variable); break;
        }
    }
    fprintf(out, "redis password = %s\n", config->redis_password ? "set" : "none");
    for (size_t i = 0; i < config->descriptor_dir_count; i++) {
        fprintf(out, "descriptors = \"%s\"\n", config->descriptor_dirs[i]);
    }
    fprintf(out, "channels = %zu\n", json_object_size(config->channels));
}
