/* SPDX-License-Identifier: MIT */
#include "ledger/setup.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ledger/link_tls.h"
#include "runtime/log.h"
#include "runtime/random.h"

/* A claim that reaches Redis later than this refuses itself: the worker has given up waiting for its answer by then. */
#define SETUP_CLAIM_VALID_MS 15000
/* What landfall submit may add while nobody reads. */
#define SETUP_QUEUE_MAX 1000000

bool setup_ledger(const struct config *config, const char *name, int64_t longest_window_ms, struct ledger *out,
                  struct errbuf *err)
{
    char names_err[KEYS_ERR_BYTES];
    memset(out, 0, sizeof *out);
    if (!names_init(&out->names, config->redis_prefix, (unsigned)config->partition, names_err)) {
        errbuf_set(err, "redis.prefix or partition: %s", names_err);
        return false;
    }
    out->environment = config->environment;
    out->partitions = config->partitions;
    out->worker = name;
    out->outcomes_max = config->retention_outcomes_entries;
    out->rejected_keep_ms = config->retention_rejected_request_ms;
    out->queue_max = SETUP_QUEUE_MAX;
    out->longest_window_ms = longest_window_ms;
    out->claim_valid_ms = SETUP_CLAIM_VALID_MS;
    return true;
}

bool setup_environment(const struct ledger *ledger, const char *theirs, struct errbuf *err)
{
    return theirs[0] == '\0' || strcmp(theirs, ledger->environment) == 0 ||
           errbuf_set(err,
                      "this Redis belongs to the environment %s, the configuration says %s: correct redis.url or "
                      "environment",
                      theirs, ledger->environment);
}

bool setup_home(const struct ledger *ledger, const struct reads_epoch *epoch, struct errbuf *err)
{
    if (!setup_environment(ledger, epoch->environment, err)) return false;
    if (epoch->partitions < 0)
        return errbuf_set(err,
                          "the number of partitions is being changed to %" PRId64
                          ", and that is not over: landfall partitions %" PRId64 " --yes goes on with it",
                          -epoch->partitions, -epoch->partitions);
    return epoch->partitions == 0 || epoch->partitions == ledger->partitions ||
           errbuf_set(err,
                      "this fleet was started with %" PRId64 " partitions, the configuration says %" PRId64
                      ": other channels would live here, and what was published on them would be published again; set "
                      "partitions to %" PRId64,
                      epoch->partitions, ledger->partitions, epoch->partitions);
}

bool setup_channels(const struct config *config, size_t count, struct errbuf *err)
{
    if (count > 0) return true;
    if (config->path) return errbuf_set(err, "%s has no channels", config->path);
    return errbuf_set(err, "no channels: there is no ./landfall.json and no /etc/landfall/landfall.json; "
                           "start it in the folder of the file, or with --config FILE");
}

void setup_explain_away(const struct config *config, struct errbuf *err)
{
    if (config->path)
        errbuf_prefix(err, "Redis (redis.url, now %s)", config->redis_url);
    else
        errbuf_prefix(err, "Redis (redis.url, now %s; there is no ./landfall.json and no /etc/landfall/landfall.json)",
                      config->redis_url);
}

struct redis_link *setup_link(const struct config *config, const struct ledger *ledger, const char *name)
{
    char epoch[NAMES_KEY_BYTES];
    const struct link_address address = {
        .url = config->redis_url,
        .password = config->redis_password,
        .sentinel_password = config->redis_sentinel_password,
        .ca_file = config->redis_ca_file,
        .cert_file = config->redis_cert_file,
        .key_file = config->redis_key_file,
        .probe_key = epoch,
        .name = name,
    };
    names_key(&ledger->names, NAMES_EPOCH, NULL, epoch, sizeof epoch);
    return link_new(&address);
}

const char *setup_built_in(void)
{
    return link_tls_is_built_in() ? "with TLS to Redis" : "without TLS to Redis";
}

bool setup_reload(struct config *config, struct redis_link *link)
{
    struct errbuf err = {{0}};
    bool changed = false;
    if (!config_reload_password(config, &changed, &err)) {
        log_event(LOG_LEVEL_ERROR, "reload.refused", LOG_S("why", err.text));
        return false;
    }
    if (!changed) return false;
    link_set_password(link, config->redis_password);
    log_event(LOG_LEVEL_INFO, "reload.credential", LOG_S("of", "redis"));
    return true;
}

void setup_name(const struct config *config, char out[64])
{
    char host[64] = "";
    char unique[9];
    if (config->worker_name[0] != '\0') {
        snprintf(out, 64, "%s", config->worker_name);
        return;
    }
    if (gethostname(host, sizeof host - 1) != 0 || host[0] == '\0') snprintf(host, sizeof host, "worker");
    for (char *c = host; *c != '\0'; c++) {
        bool fine =
            (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '.' || *c == '-';
        if (!fine) *c = '-';
    }
    random_hex(unique, sizeof unique);
    snprintf(out, 64, "%.50s-%s", host, unique);
}

static const char *looked_for(const struct config *config)
{
    return config->path != NULL ? config->path : "./landfall.json and /etc/landfall/landfall.json";
}

void setup_say_no_channels(const struct config *config)
{
    log_event(LOG_LEVEL_WARN, "channels.none", LOG_S("looked_for", looked_for(config)),
              LOG_S("what", "not ready: write the file and start me again"));
}

bool setup_ready(const struct config *config, const struct setup_readiness *facts, char *why, size_t why_size)
{
    if (facts->channels == 0) {
        snprintf(why, why_size, "no channels: looked for them in %s", looked_for(config));
        return false;
    }
    snprintf(why, why_size, "%s",
             facts->ending          ? "it is ending"
             : !facts->connected    ? "Redis is out of reach"
             : !facts->takes_writes ? "Redis answers and takes no writes"
             : facts->queue_fails   ? "Redis does not let it read the queue"
             : facts->lacks_copies  ? "too few copies of Redis acknowledge (redis.wait_), so it sends nothing"
                                    : "Redis takes writes");
    return facts->connected && facts->takes_writes && !facts->queue_fails && !facts->lacks_copies && !facts->ending;
}
