/* SPDX-License-Identifier: MIT */
#include "platforms/fleet.h"

#include <inttypes.h>
#include <string.h>

#include "platforms/origin.h"

/* Times are a descriptor's defaults. */
struct delivery_policy fleet_defaults(const struct config *config)
{
    return (struct delivery_policy){
        .hold_absent = config->delivery_on_absent == CONFIG_ON_ABSENT_HOLD,
        .lease_ms = 60000,
        .late_commit_ms = 30000,
        .margin_ms = 10000,
        .clean_misses = 2,
        .max_attempts = (int)config->delivery_max_attempts,
        .backoff_base_ms = config->delivery_backoff_base_ms,
        .backoff_cap_ms = config->delivery_backoff_cap_ms,
        .give_up_after_ms = config->delivery_give_up_after_ms,
        .max_age_ms = config->delivery_max_age_ms,
        .turn_ms = channel_turn_ms(config->delivery_handed_back_per_minute),
    };
}

/* The longest time for which something that was sent may still matter: a key window, or until it has committed and can
 * be seen. */
static int64_t longest_doubt(const struct delivery_policy *policy, int64_t longest_ms)
{
    const int64_t visible_ms = policy->lease_ms + policy->late_commit_ms + policy->visibility_lag_ms;
    if (visible_ms > longest_ms) longest_ms = visible_ms;
    return policy->key_window_ms > longest_ms ? policy->key_window_ms : longest_ms;
}

/* A claim waits for its copies, at worst behind another one, and is to leave time for its write. */
static bool waits_fit(const struct config *config, const struct channel *channel, struct errbuf *err)
{
    const int64_t spare_ms = channel->policy.lease_ms - channel->policy.margin_ms - channel->write_limit_ms;
    const bool waits = config->redis_wait_replicas > 0 || config->redis_wait_fsync != CONFIG_WAIT_FSYNC_NO;
    if (!waits || 2 * config->redis_wait_timeout_ms < spare_ms) return true;
    return errbuf_set(err,
                      "%s%schannels[\"%s\"]: times.lease_ms leaves %" PRId64
                      " ms beside write_limit_ms and times.margin_ms, and twice redis.wait_timeout_ms (%" PRId64
                      ") must stay below that; lower it, or raise times.lease_ms",
                      config->path ? config->path : "", config->path ? ": " : "", channel->name, spare_ms,
                      config->redis_wait_timeout_ms);
}

/* A fleet that may speak to named hosts only says at its start which channel would speak to another one. */
static bool hosts_fit(const struct config *config, const struct channel *channel, struct errbuf *err)
{
    const struct descriptor *d = channel->descriptor;
    for (size_t i = 0; i < d->setting_count && *config->http_only_hosts; i++) {
        const struct descriptor_setting *setting = &d->settings[i];
        const char *url = json_string_value(json_object_get(channel->settings, setting->name));
        char host[ORIGIN_MAX_BYTES];
        if ((setting->type != SETTING_ORIGIN && setting->type != SETTING_URL) || !url) continue;
        if (origin_host(url, host) && address_list_has_host(&config->only_hosts, host)) continue;
        return errbuf_set(err,
                          "%s%schannels[\"%s\"].settings.%s: http.only_hosts does not name %s; add it, or correct the "
                          "setting",
                          config->path ? config->path : "", config->path ? ": " : "", channel->name, setting->name,
                          host);
    }
    return true;
}

static bool load(const struct config *config, bool bare, struct fleet *out, struct errbuf *err)
{
    memset(out, 0, sizeof *out);
    out->defaults = fleet_defaults(config);
    out->descriptors = descriptor_set_new((const char *const *)config->descriptor_dirs, config->descriptor_dir_count);
    if (!(bare ? channel_set_load_bare : channel_set_load)(config->channels, config->path, out->descriptors,
                                                           &out->defaults, &out->channels, err)) {
        fleet_fini(out);
        return false;
    }
    for (size_t i = 0; i < channel_set_count(out->channels); i++) {
        const struct channel *channel = channel_set_at(out->channels, i);
        out->longest_window_ms = longest_doubt(&channel->policy, out->longest_window_ms);
        if (waits_fit(config, channel, err) && hosts_fit(config, channel, err)) continue;
        fleet_fini(out);
        return false;
    }
    return true;
}

bool fleet_load(const struct config *config, struct fleet *out, struct errbuf *err)
{
    return load(config, false, out, err);
}

bool fleet_load_bare(const struct config *config, struct fleet *out, struct errbuf *err)
{
    return load(config, true, out, err);
}

void fleet_fini(struct fleet *fleet)
{
    channel_set_free(&fleet->channels);
    descriptor_set_free(&fleet->descriptors);
}
