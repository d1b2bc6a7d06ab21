/* SPDX-License-Identifier: MIT */
/*
 * config: the configuration of a process, read once and again at SIGHUP.
 *
 * One JSON file, then the environment over it. The file is the first of: the path given with --config,
 * $LANDFALL_CONFIG, ./landfall.json, /etc/landfall/landfall.json; one of the first two that does not exist is an error,
 * none of the last two means defaults. Unknown fields are errors, "$comment" is allowed everywhere. Relative paths in
 * the file are seen from the file's folder.
 *
 * CONFIG_SETTINGS is the one list of simple settings: fields of struct config, JSON paths, environment variables,
 * defaults, limits, and what `doctor` prints come from it. Channels are kept as JSON for platforms/, which knows what
 * stands in them. Passwords come from redis.password_file or LANDFALL_REDIS_PASSWORD (which wins), never from the URL,
 * and are never printed.
 */
#ifndef RUNTIME_CONFIG_H
#define RUNTIME_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "runtime/address.h"
#include "runtime/errbuf.h"
#include "runtime/secret.h"

#define CONFIG_FILE_MAX_BYTES (16 * 1024 * 1024)

/* TEXT(field, path, variable, default, pattern, help): char *; pattern is one of enum config_pattern without its
 * CONFIG_ NUMBER(field, path, variable, default, min, max, help): int64_t CHOICE(field, path, variable, default,
 * "word|word", help): int, the index of the word */
#define CONFIG_SETTINGS(TEXT, NUMBER, CHOICE)                                                                          \
    TEXT(environment, "environment", "LANDFALL_ENVIRONMENT", "production", NAME,                                       \
         "Name of this fleet's world; must be the one written in its Redis")                                           \
    TEXT(                                                                                                              \
        redis_url, "redis.url", "LANDFALL_REDIS_URL", "redis://127.0.0.1:6379/0", ANY,                                 \
        "redis://[user@]host[:port][,host...][/db], rediss:// for TLS, redis+sentinel://host[,host...]/service[/db], " \
        "unix:///path[?db=N]; never with a password")                                                                  \
    TEXT(redis_password_file, "redis.password_file", "LANDFALL_REDIS_PASSWORD_FILE", "", PATH,                         \
         "File that holds the Redis password")                                                                         \
    TEXT(redis_ca_file, "redis.ca_file", "LANDFALL_REDIS_CA_FILE", "", PATH,                                           \
         "Certificates that sign the certificate of Redis (PEM); empty = those that the system trusts")                \
    TEXT(redis_cert_file, "redis.cert_file", "LANDFALL_REDIS_CERT_FILE", "", PATH,                                     \
         "Client certificate for Redis (PEM); empty = none is shown")                                                  \
    TEXT(redis_key_file, "redis.key_file", "LANDFALL_REDIS_KEY_FILE", "", PATH,                                        \
         "Private key of the client certificate (PEM)")                                                                \
    TEXT(redis_sentinel_password_file, "redis.sentinel_password_file", "LANDFALL_REDIS_SENTINEL_PASSWORD_FILE", "",    \
         PATH, "File that holds the password of the sentinels; empty = they want none")                                \
    TEXT(redis_prefix, "redis.prefix", "LANDFALL_REDIS_PREFIX", "lf", NAME, "First part of every key")                 \
    /* at least 3 s: with appendfsync everysec a slow disk holds a write for up to 2 s */                              \
    NUMBER(redis_round_limit_ms, "redis.round_limit_ms", "LANDFALL_REDIS_ROUND_LIMIT_MS", 5000, 3000, 60000,           \
           "Time limit of one round trip")                                                                             \
    NUMBER(redis_away_limit_ms, "redis.away_limit_ms", "LANDFALL_REDIS_AWAY_LIMIT_MS", 15000, 1000, 3600000,           \
           "How long --until-idle waits for a Redis that is away")                                                     \
    NUMBER(redis_wait_replicas, "redis.wait_replicas", "LANDFALL_REDIS_WAIT_REPLICAS", 0, 0, 16,                       \
           "Nothing is sent before so many replicas have acknowledged its claim (WAIT)")                               \
    CHOICE(redis_wait_fsync, "redis.wait_fsync", "LANDFALL_REDIS_WAIT_FSYNC", CONFIG_WAIT_FSYNC_NO, "no|local|all",    \
           "Nothing is sent before its claim is on disk: local = of the master, all = of those replicas, too "         \
           "(WAITAOF, Redis 7.2)")                                                                                     \
    NUMBER(redis_wait_timeout_ms, "redis.wait_timeout_ms", "LANDFALL_REDIS_WAIT_TIMEOUT_MS", 2000, 100, 30000,         \
           "Claims that are not acknowledged by then are given back unsent")                                           \
    NUMBER(partition, "partition", "LANDFALL_PARTITION", 0, 0, 1023, "The partition that this process serves")         \
    NUMBER(partitions, "partitions", "LANDFALL_PARTITIONS", 1, 1, 1024, "How many partitions the fleet has")           \
    NUMBER(worker_slots, "worker.slots", "LANDFALL_WORKER_SLOTS", 64, 1, 1024, "Deliveries in flight at once")         \
    NUMBER(worker_max_in_flight_per_channel, "worker.max_in_flight_per_channel",                                       \
           "LANDFALL_WORKER_MAX_IN_FLIGHT_PER_CHANNEL", 0, 0, 1024,                                                    \
           "Slots that one channel may hold; 0 = a quarter of the slots, at least 1")                                  \
    NUMBER(worker_grace_ms, "worker.grace_ms", "LANDFALL_WORKER_GRACE_MS", 10000, 0, 600000,                           \
           "How long transfers may finish after SIGTERM")                                                              \
    NUMBER(worker_reclaim_idle_ms, "worker.reclaim_idle_ms", "LANDFALL_WORKER_RECLAIM_IDLE_MS", 60000, 100, 3600000,   \
           "Entries that a worker took and never claimed go to another worker after this time")                        \
    TEXT(worker_name, "worker.name", "LANDFALL_WORKER_NAME", "", OPTIONAL_NAME,                                        \
         "Name in leases and heartbeats; empty = host name and a random part")                                         \
    TEXT(worker_spool_dir, "worker.spool_dir", "LANDFALL_WORKER_SPOOL_DIR", "", PATH,                                  \
         "Folder for outcomes that Redis has not taken yet; empty = in memory only")                                   \
    NUMBER(delivery_max_attempts, "delivery.max_attempts", "LANDFALL_DELIVERY_MAX_ATTEMPTS", 5, 1, 20,                 \
           "Attempts before a delivery is held for a person")                                                          \
    NUMBER(delivery_backoff_base_ms, "delivery.backoff_base_ms", "LANDFALL_DELIVERY_BACKOFF_BASE_MS", 5000, 100,       \
           3600000, "First wait after a failed attempt; doubles")                                                      \
    NUMBER(delivery_backoff_cap_ms, "delivery.backoff_cap_ms", "LANDFALL_DELIVERY_BACKOFF_CAP_MS", 3600000, 100,       \
           86400000, "Longest wait between two attempts")                                                              \
    NUMBER(delivery_give_up_after_ms, "delivery.give_up_after_ms", "LANDFALL_DELIVERY_GIVE_UP_AFTER_MS", 604800000,    \
           60000, 31536000000, "How long evidence is looked for before an uncertain delivery is held")                 \
    CHOICE(delivery_on_absent, "delivery.on_absent", "LANDFALL_DELIVERY_ON_ABSENT", CONFIG_ON_ABSENT_RETRY,            \
           "retry|hold", "What follows a proof that a delivery did not happen")                                        \
    NUMBER(delivery_handed_back_per_minute, "delivery.handed_back_per_minute",                                         \
           "LANDFALL_DELIVERY_HANDED_BACK_PER_MINUTE", 30, 0, 60000,                                                   \
           "So many a minute of what was handed back to the workers go out on one channel; 0 = no limit")              \
    NUMBER(delivery_max_age_ms, "delivery.max_age_ms", "LANDFALL_DELIVERY_MAX_AGE_MS", 0, 0, 31536000000,              \
           "Older deliveries are held instead of sent; 0 = no limit")                                                  \
    NUMBER(retention_rejected_request_ms, "retention.rejected_request_ms", "LANDFALL_RETENTION_REJECTED_REQUEST_MS",   \
           604800000, 0, 31536000000, "How long a rejected delivery's content is kept for a retry")                    \
    NUMBER(retention_outcomes_entries, "retention.outcomes_entries", "LANDFALL_RETENTION_OUTCOMES_ENTRIES", 100000,    \
           100, 100000000, "Length of the outcomes stream")                                                            \
    TEXT(fetch_allow, "fetch.allow", "LANDFALL_FETCH_ALLOW", "", ANY,                                                  \
         "Hosts and address ranges, with spaces between, that addresses from items and answers may lead to though "    \
         "they "                                                                                                       \
         "are not public")                                                                                             \
    TEXT(                                                                                                              \
        http_only_hosts, "http.only_hosts", "LANDFALL_HTTP_ONLY_HOSTS", "", ANY,                                       \
        "Host names and addresses, with spaces between: nothing else is spoken to, whatever a channel, an item or an " \
        "answer says; empty = every host")                                                                             \
    TEXT(metrics_listen, "metrics.listen", "LANDFALL_METRICS_LISTEN", "auto", ANY,                                     \
         "Address of /metrics, /live and /ready, such as 127.0.0.1:9464; auto = the first free port of 127.0.0.1, "    \
         "from 9464 (worker) or 9480 (reconciler); off = none")                                                        \
    CHOICE(log_level, "log.level", "LANDFALL_LOG_LEVEL", 1, "debug|info|warn|error|fatal",                             \
           "Least severity that is logged")                                                                            \
    CHOICE(log_format, "log.format", "LANDFALL_LOG_FORMAT", 0, "logfmt|json", "Form of a log line")

enum config_wait_fsync { CONFIG_WAIT_FSYNC_NO, CONFIG_WAIT_FSYNC_LOCAL, CONFIG_WAIT_FSYNC_ALL };

enum config_on_absent { CONFIG_ON_ABSENT_RETRY, CONFIG_ON_ABSENT_HOLD };

enum config_source { CONFIG_DEFAULT, CONFIG_FILE, CONFIG_ENVIRONMENT };

struct config_host {
    char *name; /* or address */
    int port;
};

/* Where Redis is: redis.url in parts. */
struct config_redis {
    char *unix_path;           /* NULL: hosts */
    struct config_host *hosts; /* tried in this order */
    size_t host_count;
    char *service; /* the hosts are sentinels, and this is what they call the master; NULL: they are Redis */
    char *user;    /* NULL: the default user */
    int db;
    bool tls;
};

#define CONFIG_TEXT_FIELD(field, path, variable, fallback, pattern, help)    char *field;
#define CONFIG_NUMBER_FIELD(field, path, variable, fallback, min, max, help) int64_t field;
#define CONFIG_CHOICE_FIELD(field, path, variable, fallback, words, help)    int field;
#define CONFIG_COUNT(...)                                                    +1

enum { CONFIG_SETTING_COUNT = 0 CONFIG_SETTINGS(CONFIG_COUNT, CONFIG_COUNT, CONFIG_COUNT) };

struct config {
    char *path; /* the file; NULL if there was none */
    CONFIG_SETTINGS(CONFIG_TEXT_FIELD, CONFIG_NUMBER_FIELD, CONFIG_CHOICE_FIELD)
    enum config_source sources[CONFIG_SETTING_COUNT]; /* in the order of the table */
    struct config_redis redis;
    struct address_list fetch_allowed;      /* fetch.allow in parts */
    struct address_list only_hosts;         /* http.only_hosts in parts */
    struct secret *redis_password;          /* NULL: none */
    struct secret *redis_sentinel_password; /* NULL: none */
    char **descriptor_dirs; /* in the order of search: as configured or "descriptors" beside the file, then the
                               installed ones */
    size_t descriptor_dir_count;
    json_t *channels; /* object: "platform/account" to an object; never NULL; the strings in it are not checked here */
};

/* Read file and environment. explicit_path: what --config said, or NULL. On success *config is the caller's
 * (config_free). err names the file with line and column, or with the JSON path of the field, or the variable, and what
 * is allowed there. */
MUSTCHECK bool config_load(const char *explicit_path, struct config **config, struct errbuf *err);
void config_free(struct config **config);

/* The Redis password once more, from its file (a variable never changes). After an error the old one stays. */
MUSTCHECK bool config_reload_password(struct config *config, bool *changed, struct errbuf *err);

/* worker.max_in_flight_per_channel with its 0 worked out. */
int64_t config_channel_slots(const struct config *config);

/* What is in force and where it came from, one setting per line. Never a secret. */
void config_print(const struct config *config, FILE *out);

/* Take redis.url apart; *redis is to be released with config_redis_fini, also after an error. A password in it is
 * refused, and no part of the URL stands in err. */
MUSTCHECK bool config_redis_parse(const char *url, struct config_redis *redis, struct errbuf *err);
void config_redis_fini(struct config_redis *redis);

/* The table for those who list it (help, docs, the schema's test): entry i, 0 .. CONFIG_SETTING_COUNT - 1. */
enum config_pattern {
    CONFIG_ANY,
    CONFIG_NAME,          /* 1 to 64 of letters, digits, . _ - */
    CONFIG_OPTIONAL_NAME, /* or nothing */
    CONFIG_PATH,          /* seen from the configuration file's folder */
};

enum config_kind { CONFIG_KIND_TEXT, CONFIG_KIND_NUMBER, CONFIG_KIND_CHOICE };

struct config_setting {
    const char *path;     /* "redis.url" */
    const char *variable; /* "LANDFALL_REDIS_URL" */
    enum config_kind kind;
    size_t offset;               /* of the field in struct config */
    const char *text;            /* TEXT: the default. CHOICE: the words, with | between them */
    int64_t fallback;            /* NUMBER, CHOICE: the default */
    int64_t min, max;            /* NUMBER */
    enum config_pattern pattern; /* TEXT */
    const char *help;
};

const struct config_setting *config_setting(size_t i);

#endif
