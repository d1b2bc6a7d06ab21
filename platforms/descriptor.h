/* SPDX-License-Identifier: MIT */
/*
 * descriptor: what landfall knows about a platform, read from a JSON file and checked as a whole.
 *
 * descriptor_load() validates every member (docs/contract.md, section 6); an error names the file and the JSON path.
 * After that everything in the struct is borrowed from the file's JSON and lives as long as the descriptor. Programs
 * are named by their JSON path without "$." and are compiled when the platform is first used, one program for each
 * half. A member `*_part` below is such a name, NULL where the descriptor has no such program.
 *
 * The reconciler uses DESCRIPTOR_READ and never compiles the write half.
 */
#ifndef PLATFORMS_DESCRIPTOR_H
#define PLATFORMS_DESCRIPTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "keys/key.h"
#include "runtime/errbuf.h"

#define DESCRIPTOR_FILE_MAX_BYTES (1024 * 1024)
#define DESCRIPTOR_STATUS_MAX     16

#define DESCRIPTOR_TIERS(X)                                                                                            \
    X(TIER_KEY, "key")       /* the platform honours our key for a while */                                            \
    X(TIER_UPSERT, "upsert") /* we choose the id: a repeat writes the same record */                                   \
    X(TIER_READ, "read")     /* no key, but the account's history can be read */                                       \
    X(TIER_BLIND, "blind")   /* neither */                                                                             \
    X(TIER_PING, "ping")     /* a repeat does no harm */

#define DESCRIPTOR_SETTING_TYPES(X)                                                                                    \
    X(SETTING_ORIGIN, "origin") /* scheme, host, port; kept in normal form */                                          \
    X(SETTING_URL, "url")       /* http or https */                                                                    \
    X(SETTING_STRING, "string")                                                                                        \
    X(SETTING_ENUM, "enum")                                                                                            \
    X(SETTING_NUMBER, "number")                                                                                        \
    X(SETTING_BOOLEAN, "boolean")

#define DESCRIPTOR_AUTH_KINDS(X)                                                                                       \
    X(AUTH_NONE, "none")                                                                                               \
    X(AUTH_BEARER, "bearer")                                                                                           \
    X(AUTH_HEADER, "header")                                                                                           \
    X(AUTH_BASIC, "basic")                                                                                             \
    X(AUTH_PATH, "path") /* the descriptor places the secret in the URL, through a hole */                             \
    X(AUTH_BODY, "body") /* the same in the body */                                                                    \
    X(AUTH_SESSION, "session")                                                                                         \
    X(AUTH_WEBHOOK, "webhook") /* Standard Webhooks: signature and timestamp headers */

#define DESCRIPTOR_BODIES(X)                                                                                           \
    X(BODY_NONE, "none")                                                                                               \
    X(BODY_JSON, "json")                                                                                               \
    X(BODY_FORM, "form")                                                                                               \
    X(BODY_TEXT, "text")

/* What an accept rule makes of an answer; docs/contract.md, section 7. */
#define DESCRIPTOR_OUTCOMES(X)                                                                                         \
    X(OUTCOME_COMMITTED, "committed")                                                                                  \
    X(OUTCOME_NO_ID, "no_id")                                                                                          \
    X(OUTCOME_REFUSED, "refused")                                                                                      \
    X(OUTCOME_NOT_COMMITTED, "not_committed")                                                                          \
    X(OUTCOME_WAIT, "wait")                                                                                            \
    X(OUTCOME_CREDENTIAL, "credential")                                                                                \
    X(OUTCOME_UNKNOWN, "unknown")                                                                                      \
    X(OUTCOME_CONFLICT, "conflict")                                                                                    \
    X(OUTCOME_SESSION_EXPIRED, "session_expired") /* log in and send the same again; the attempt goes on */

/* The forms of a "come back at" in an answer. */
#define DESCRIPTOR_LIMIT_FORMS(X)                                                                                      \
    X(LIMIT_SECONDS_OR_DATE, "seconds_or_date") /* Retry-After */                                                      \
    X(LIMIT_EPOCH_S, "epoch_s")                                                                                        \
    X(LIMIT_EPOCH_MS, "epoch_ms")                                                                                      \
    X(LIMIT_DELTA_S, "delta_s")                                                                                        \
    X(LIMIT_ISO8601, "iso8601")                                                                                        \
    X(LIMIT_BODY, "body") /* seconds, from a program */

#define DESCRIPTOR_UNITS(X) X(UNIT_GRAPHEMES, "graphemes") X(UNIT_CODE_POINTS, "code_points") X(UNIT_BYTES, "bytes")

#define X(id, name) id,
enum descriptor_tier { DESCRIPTOR_TIERS(X) };
enum descriptor_setting_type { DESCRIPTOR_SETTING_TYPES(X) };
enum descriptor_auth_kind { DESCRIPTOR_AUTH_KINDS(X) };
enum descriptor_body { DESCRIPTOR_BODIES(X) };
enum descriptor_outcome { DESCRIPTOR_OUTCOMES(X) };
enum descriptor_limit_form { DESCRIPTOR_LIMIT_FORMS(X) };
enum descriptor_unit { DESCRIPTOR_UNITS(X) };
#undef X

enum descriptor_half { DESCRIPTOR_READ, DESCRIPTOR_WRITE, DESCRIPTOR_HALVES };

struct descriptor_setting {
    const char *name;
    enum descriptor_setting_type type;
    bool required;
    const json_t *fallback; /* NULL: none */
    const json_t *values;   /* enum: array of strings */
};

/* A request as the descriptor describes it; form_render() makes one of it. */
struct descriptor_request {
    const char *method;
    enum descriptor_body body;
    const char *body_type; /* content type of a text body */
    bool anonymous;        /* sent without the channel's credential */
    const char *url_part, *headers_part, *body_part;
};

struct descriptor_status_list {
    int count; /* 0: any status */
    int status[DESCRIPTOR_STATUS_MAX];
};

/* One accept rule. The first whose statuses and `if` fit decides. */
struct descriptor_rule {
    struct descriptor_status_list statuses;
    enum descriptor_outcome outcome;
    const char *reason;             /* a word of core/reason.h, or NULL */
    bool before_effect;             /* raised before anything was done: certain even for a delivery in doubt */
    bool replay_only;               /* only while an earlier attempt of the delivery is in doubt */
    const char *if_part;            /* -> true */
    const char *id_part, *url_part; /* -> string, number or null */
};

/* A harmless request before another one; what `keep` makes of its answer is seen later as .prepared.<name>. */
struct descriptor_step {
    const char *name;
    struct descriptor_request request;
    const char *keep_part; /* -> a value; null = the step failed */
};

/* A post by its id, or by our key. */
struct descriptor_lookup {
    bool given;
    struct descriptor_request request;
    const char *found_part; /* -> an entry as the listing's, or null */
    const char *gone_part;  /* -> true if the answer proves that there is no such post */
};

struct descriptor_listing {
    bool given;
    struct descriptor_request request;
    const char *entries_part; /* -> [{id, url, at_ms, urls, keys, html, text, skip}] */
    const char *next_part;    /* -> cursor or null */
    const char *end_part;     /* -> true if this page proves the end */
    bool floor_server_time;   /* newest first by the server's own time: pages older than the attempt need not be read */
    bool drift;               /* pages are numbered: a new post shifts them */
    int pages_max;
};

struct descriptor_wait {
    struct descriptor_status_list statuses;
    enum descriptor_limit_form form;
    const char *header;  /* lower case; NULL for LIMIT_BODY */
    const char *at_part; /* LIMIT_BODY: -> seconds */
};

/* A limit on the item, told at submit. */
struct descriptor_item_limit {
    const char *what_part; /* -> text or null */
    enum descriptor_unit unit;
    int64_t max;             /* 0: max_setting */
    const char *max_setting; /* name of the setting that says it */
    int64_t url_counts;      /* 0: as long as it is */
};

struct descriptor {
    const char *file, *platform, *title;
    json_t *document;
    bool unverified; /* `verify`: not all of it was seen on a real server */

    struct descriptor_setting *settings;
    size_t setting_count;
    const char *instance_setting; /* whose value says where the platform is */

    enum descriptor_auth_kind auth;
    const char *auth_header;        /* AUTH_HEADER */
    const char *const *credentials; /* names of the credentials a channel must give; "secret" = the only one */
    size_t credential_count;
    struct descriptor_request login; /* AUTH_SESSION */
    const char *token_part;          /* -> string, or object of named strings: session.<name> */
    int64_t login_limit_ms, lifetime_s;

    const char *text_part;    /* NULL: the platform publishes no text of its own */
    const json_t *item_needs; /* array of arrays of member names; NULL: none */
    struct descriptor_item_limit *item_limits;
    size_t item_limit_count;

    enum descriptor_tier tier;
    bool harmless; /* repeats; a setting may change it: channel.h */
    bool has_key;
    enum key_format key_format;
    int64_t key_max_length, key_window_s; /* -1: never ends */
    const char *key_window_setting;       /* number of seconds; where given: a key tier with harmful repeats */

    struct descriptor_step *prepare; /* before the write */
    size_t prepare_count;
    struct descriptor_request write;
    int64_t write_limit_ms;
    bool gives_id;
    struct descriptor_rule *rules;
    size_t rule_count;
    bool verify_after_publish, stores_failures;

    struct descriptor_step *read_prepare; /* before by_key and listing, once per walk */
    size_t read_prepare_count;
    struct descriptor_lookup by_id, by_key;
    struct descriptor_listing listing;
    const char *marks_part;

    int64_t late_commit_s, visibility_lag_s, lease_s, margin_s;
    int clean_misses;
    struct descriptor_wait *waits;
    size_t wait_count;
    int64_t spacing_ms;
    int burst;

    struct descriptor_private *own; /* parts and compiled programs */
};

/* Read and check one file. *out is the caller's. */
MUSTCHECK bool descriptor_load(const char *path, struct descriptor **out, struct errbuf *err);
void descriptor_free(struct descriptor **descriptor);

/* Run one of its programs; compiles the half at the first call. *result is the caller's. err names file and path. */
MUSTCHECK bool descriptor_run(struct descriptor *descriptor, enum descriptor_half half, const char *part,
                              const json_t *input, json_t **result, struct errbuf *err);

/* As descriptor_run for a program that answers yes or no: only true is yes, everything else no. */
MUSTCHECK bool descriptor_ask(struct descriptor *descriptor, enum descriptor_half half, const char *part,
                              const json_t *input, bool *yes, struct errbuf *err);

bool descriptor_status_fits(const struct descriptor_status_list *list, int status);
const char *descriptor_tier_name(enum descriptor_tier tier);
const char *descriptor_outcome_name(enum descriptor_outcome outcome);

/* The platforms of a process: files <platform>.json in folders searched in order, read when first asked for. */
struct descriptor_set;
struct descriptor_set *descriptor_set_new(const char *const *dirs, size_t dir_count);
void descriptor_set_free(struct descriptor_set **set);
/* *out is borrowed from the set. err names the folders that were searched, or the file and what is wrong in it. */
MUSTCHECK bool descriptor_set_get(struct descriptor_set *set, const char *platform, struct descriptor **out,
                                  struct errbuf *err);

#endif
