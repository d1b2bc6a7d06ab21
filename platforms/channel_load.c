/* SPDX-License-Identifier: MIT */
/*
 * The channel's table, then its settings against the descriptor's, then its credentials, then what follows from all of
 * it: the policy that the protocol decides by.
 */
#include "platforms/channel_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platforms/form.h"
#include "platforms/origin.h"
#include "platforms/program.h"
#include "platforms/shape.h"
#include "runtime/die.h"

#define NOT_GIVEN (-1)
#define DAY_MS    INT64_C(86400000)
#define YEAR_MS   (365 * DAY_MS)

/* What the configuration says, as it stands there. */
struct channel_config {
    const char *platform;
    const json_t *settings;
    struct credential_source credential;
    bool has_credential;
    struct credential_source *credentials;
    size_t credential_count;
    const char *text;
    int64_t spacing_ms, burst;
    int64_t max_age_ms, max_attempts, write_limit_ms, handed_back_per_minute;
    int on_absent; /* index in the words */
    bool paused;
    int64_t late_commit_ms, visibility_lag_ms, clean_misses, lease_ms, margin_ms, key_window_ms;
};

enum { ON_ABSENT_DEFAULT, ON_ABSENT_RETRY, ON_ABSENT_HOLD };
static const char *const on_absent_words[] = {"default", "retry", "hold", NULL};

#define AT(field) offsetof(struct channel_config, field)
#define INTEGER(label, field, low, high)                                                                               \
    {                                                                                                                  \
        .name = (label), .kind = SHAPE_INTEGER, .offset = AT(field), .min = (low), .max = (high),                      \
        .fallback = NOT_GIVEN                                                                                          \
    }

static const struct shape_member pace_members[] = {
    INTEGER("spacing_ms", spacing_ms, 0, DAY_MS),
    INTEGER("burst", burst, 1, 1000),
};
static const struct shape pace = {sizeof(struct channel_config), pace_members, 2};

static const struct shape_member times_members[] = {
    INTEGER("late_commit_ms", late_commit_ms, 0, DAY_MS), INTEGER("visibility_lag_ms", visibility_lag_ms, 0, DAY_MS),
    INTEGER("clean_misses", clean_misses, 1, 10),         INTEGER("lease_ms", lease_ms, 100, 3600000),
    INTEGER("margin_ms", margin_ms, 0, 3600000),          INTEGER("key_window_ms", key_window_ms, 0, YEAR_MS),
};
static const struct shape times = {sizeof(struct channel_config), times_members,
                                   sizeof(times_members) / sizeof(*times_members)};

static const struct shape_member channel_members[] = {
    {.name = "platform",
     .kind = SHAPE_TEXT,
     .offset = AT(platform),
     .required = true,
     .todo = "write the platform's name"},
    {.name = "settings", .kind = SHAPE_VALUE, .offset = AT(settings)},
    {.name = "credential",
     .kind = SHAPE_OBJECT,
     .offset = AT(credential),
     .shape = &credential_shape,
     .given_offset = AT(has_credential)},
    {.name = "credentials",
     .kind = SHAPE_MAP,
     .offset = AT(credentials),
     .shape = &credential_shape,
     .count_offset = AT(credential_count),
     .todo = "must be an object: credentials is for platforms with several, each under its name; a single one is "
             "written {\"file\": \"path\"} or {\"env\": \"NAME\"} under credential"},
    {.name = "text", .kind = SHAPE_TEXT, .offset = AT(text)},
    {.name = "pace", .kind = SHAPE_OBJECT, .shape = &pace},
    INTEGER("max_age_ms", max_age_ms, 0, YEAR_MS),
    INTEGER("handed_back_per_minute", handed_back_per_minute, 0, 60000),
    {.name = "on_absent", .kind = SHAPE_WORD, .offset = AT(on_absent), .words = on_absent_words},
    INTEGER("max_attempts", max_attempts, 1, 20),
    {.name = "times", .kind = SHAPE_OBJECT, .shape = &times},
    INTEGER("write_limit_ms", write_limit_ms, 50, 600000),
    {.name = "paused", .kind = SHAPE_BOOLEAN, .offset = AT(paused)},
};
static const struct shape channel_all = {sizeof(struct channel_config), channel_members,
                                         sizeof(channel_members) / sizeof(*channel_members)};

const struct shape *channel_shape(void)
{
    return &channel_all;
}

int64_t channel_turn_ms(int64_t per_minute)
{
    return per_minute > 0 ? 60000 / per_minute : 0;
}

static int64_t either(int64_t given, int64_t otherwise)
{
    return given != NOT_GIVEN ? given : otherwise;
}

static json_t *setting_value(const struct descriptor_setting *setting, const json_t *value)
{
    char normal[ORIGIN_MAX_BYTES];
    if (setting->type == SETTING_ORIGIN && origin_normalize(json_string_value(value), normal))
        return json_string(normal);
    return json_incref((json_t *)value);
}

static bool take_setting(struct shape_reader *reader, struct channel *channel, const struct descriptor_setting *setting,
                         const json_t *given)
{
    char path[300], why[160];
    snprintf(path, sizeof(path), "%s.settings.%s", reader->path, setting->name);
    const json_t *value = given ? given : setting->fallback;
    if (!value) {
        if (setting->required) return shape_error(reader, path, "missing: %s", setting->help);
        return true;
    }
    if (!descriptor_setting_fits(setting, value, why, sizeof(why))) return shape_error(reader, path, "%s", why);
    if (json_object_set_new(channel->settings, setting->name, setting_value(setting, value)) != 0) die("out of memory");
    return true;
}

static bool take_settings(struct shape_reader *reader, struct channel *channel, const json_t *given)
{
    const struct descriptor *d = channel->descriptor;
    if (given && !json_is_object(given)) return shape_error(reader, reader->path, "settings must be an object");
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)given, name, value)
    {
        bool known = strcmp(name, "$comment") == 0;
        for (size_t i = 0; i < d->setting_count; i++)
            known |= strcmp(name, d->settings[i].name) == 0;
        if (!known)
            return shape_error(reader, reader->path, "settings.%s: %s has no such setting; see %s", name, d->title,
                               d->file);
    }
    channel->settings = json_object();
    for (size_t i = 0; i < d->setting_count; i++)
        if (!take_setting(reader, channel, &d->settings[i], json_object_get(given, d->settings[i].name))) return false;
    const char *instance =
        d->instance_setting ? json_string_value(json_object_get(channel->settings, d->instance_setting)) : NULL;
    channel->instance = xstrdup(instance ? instance : d->platform);
    return true;
}

static bool is_named(const struct channel_config *config, const char *name)
{
    for (size_t i = 0; i < config->credential_count; i++)
        if (strcmp(config->credentials[i].name, name) == 0) return true;
    return config->has_credential && strcmp(name, CREDENTIAL_ONLY) == 0;
}

static bool are_credentials_named(struct shape_reader *reader, const struct descriptor *d,
                                  const struct channel_config *config, size_t given)
{
    size_t needed = 0;
    const char *name;
    for (size_t i = 0; (name = descriptor_credential(d, i)); i++) {
        bool named = is_named(config, name);
        needed += named;
        if (!named && !descriptor_credential_optional(d, name))
            return shape_error(reader, reader->path, "missing: %s needs the credential \"%s\"; write %s", d->title,
                               name,
                               strcmp(name, CREDENTIAL_ONLY) == 0 ? "\"credential\": {\"env\": \"NAME\"}"
                                                                  : "it under \"credentials\"");
    }
    if (given == needed) return true;
    return shape_error(reader, reader->path, "%s takes %zu credentials, not %zu", d->title, needed, given);
}

static bool take_credentials(struct shape_reader *reader, struct channel *channel, const struct channel_config *config,
                             const struct channel_load *load)
{
    const struct descriptor *d = channel->descriptor;
    if (config->has_credential && config->credential_count > 0)
        return shape_error(reader, reader->path, "has credential and credentials; one of them");
    size_t given = config->has_credential ? 1 : config->credential_count;
    /* An access token that somebody else renews stands in for what would renew it here. */
    channel->auth = d->auth == AUTH_OAUTH2 && config->has_credential ? AUTH_BEARER : d->auth;
    if (channel->auth == d->auth && !are_credentials_named(reader, d, config, given)) return false;
    if (load->bare) return true;
    struct errbuf why;
    if (!credentials_load(config->has_credential ? &config->credential : config->credentials, given, load->config_path,
                          reader->path, &channel->credentials, &why))
        return errbuf_set(reader->err, "%s: %s", reader->file, why.text);
    if (form_check_credentials(d, &channel->credentials, &why)) return true;
    return shape_error(reader, reader->path, "credential: %s", why.text);
}

static int64_t key_window_ms(const struct channel *channel, const struct channel_config *config, int64_t stated_s)
{
    switch (channel->tier) {
    case TIER_UPSERT: return DELIVERY_FOREVER;
    case TIER_KEY: return either(config->key_window_ms, stated_s * 1000);
    case TIER_READ:
    case TIER_BLIND:
    case TIER_PING: break;
    }
    return 0;
}

static bool take_policy(struct shape_reader *reader, struct channel *channel, const struct channel_config *config)
{
    const struct descriptor *d = channel->descriptor;
    struct delivery_policy *policy = &channel->policy;
    const json_t *stated = d->key_window_setting ? json_object_get(channel->settings, d->key_window_setting) : NULL;
    int64_t stated_s = stated ? (int64_t)json_number_value(stated) : d->key_window_s;
    channel->tier = stated && stated_s > 0 ? TIER_KEY : d->tier;

    policy->harmless = channel->tier == TIER_PING;
    policy->gives_id = d->gives_id;
    policy->can_read = d->listing.given || d->by_key.given;
    policy->verify = d->verify_after_publish;
    policy->stores_failures = d->stores_failures;
    if (config->on_absent != ON_ABSENT_DEFAULT) policy->hold_absent = config->on_absent == ON_ABSENT_HOLD;
    policy->lease_ms = either(config->lease_ms, d->lease_s * 1000);
    policy->late_commit_ms = either(config->late_commit_ms, d->late_commit_s * 1000);
    policy->margin_ms = either(config->margin_ms, d->margin_s * 1000);
    policy->visibility_lag_ms = either(config->visibility_lag_ms, d->visibility_lag_s * 1000);
    policy->clean_misses = (int)either(config->clean_misses, d->clean_misses);
    policy->max_attempts = (int)either(config->max_attempts, policy->max_attempts);
    policy->max_age_ms = either(config->max_age_ms, policy->max_age_ms);
    if (config->handed_back_per_minute != NOT_GIVEN)
        policy->turn_ms = channel_turn_ms(config->handed_back_per_minute);
    else if (policy->harmless)
        policy->turn_ms = 0; /* nobody reads pings: a flood of them is the pace's business */
    policy->key_window_ms = key_window_ms(channel, config, stated_s);

    channel->write_limit_ms = either(config->write_limit_ms, d->write_limit_ms);
    channel->spacing_ms = either(config->spacing_ms, d->spacing_ms);
    channel->burst = either(config->burst, d->burst);
    channel->paused = config->paused;
    if (channel->write_limit_ms + policy->margin_ms >= policy->lease_ms)
        return shape_error(
            reader, reader->path,
            "write_limit_ms (%lld) and times.margin_ms (%lld) together must stay below times.lease_ms (%lld)",
            (long long)channel->write_limit_ms, (long long)policy->margin_ms, (long long)policy->lease_ms);
    return true;
}

/* The descriptor of the channel's platform, and that the channel's name begins with it. */
static bool take_descriptor(struct shape_reader *reader, struct channel *channel, const struct channel_config *config,
                            struct descriptor_set *descriptors)
{
    size_t len = strlen(config->platform);
    if (strncmp(channel->name, config->platform, len) != 0 || channel->name[len] != '/')
        return shape_error(reader, reader->path,
                           "platform: must be what stands in front of the slash in the channel's name, \"%.*s\", "
                           "not \"%.60s\"",
                           (int)strcspn(channel->name, "/"), channel->name, config->platform);
    struct errbuf why;
    if (descriptor_set_get(descriptors, config->platform, &channel->descriptor, &why)) return true;
    return shape_error(reader, reader->path, "platform: %s", why.text);
}

bool channel_load_one(const struct channel_load *load, const char *name, const json_t *object, struct channel **out,
                      struct errbuf *err)
{
    char path[160], why[KEYS_ERR_BYTES];
    *out = NULL;
    snprintf(path, sizeof(path), "$.channels.%.100s", name);
    if (!identity_channel_check(name, why)) return errbuf_set(err, "%s: %s: %s", load->file, path, why);

    struct shape_reader reader;
    struct channel_config config = {0};
    struct channel *channel = xcalloc(1, sizeof(*channel));
    snprintf(channel->name, sizeof(channel->name), "%s", name);
    channel->account = identity_account(channel->name);
    channel->policy = *load->defaults;
    shape_reader_init(&reader, load->file, path, err);
    bool ok = shape_read(&reader, object, channel_shape(), &config) &&
              take_descriptor(&reader, channel, &config, load->descriptors) &&
              take_settings(&reader, channel, config.settings) && take_credentials(&reader, channel, &config, load) &&
              take_policy(&reader, channel, &config);
    if (ok && config.text) channel->text = xstrdup(config.text);
    shape_reader_fini(&reader);
    if (!ok) channel_free(&channel);
    *out = channel;
    return ok;
}

void channel_free(struct channel **channel)
{
    if (!*channel) return;
    credentials_fini(&(*channel)->credentials);
    program_free(&(*channel)->text_program);
    json_decref((*channel)->settings);
    free((*channel)->instance);
    free((*channel)->text);
    free(*channel);
    *channel = NULL;
}
