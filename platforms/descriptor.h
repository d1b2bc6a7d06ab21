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
#ifndef LANDFALL_PLATFORMS_DESCRIPTOR_H
#define LANDFALL_PLATFORMS_DESCRIPTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "keys/key.h"
#include "platforms/limits.h"
#include "platforms/text.h"
#include "runtime/errbuf.h"

#define DESCRIPTOR_FILE_MAX_BYTES     (1024 * 1024)
#define DESCRIPTOR_STATUS_MAX         16
#define DESCRIPTOR_SESSION_VALUES_MAX 8

#define DESCRIPTOR_TIERS(X)                                                                                            \
    X(TIER_KEY, "key")       /* the platform honours our key for a while */                                            \
    X(TIER_UPSERT, "upsert") /* we choose the id: a repeat writes the same record */                                   \
    X(TIER_READ, "read")     /* no key, but the account's history can be read */                                       \
    X(TIER_BLIND, "blind")   /* neither */                                                                             \
    X(TIER_PING, "ping")     /* a repeat does no harm */

#define DESCRIPTOR_SETTING_TYPES(X)                                                                                    \
    X(SETTING_ORIGIN, "origin") /* where the platform is; kept in normal form: origin.h */                             \
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
    X(AUTH_WEBHOOK, "webhook") /* Standard Webhooks: signature and timestamp headers */                                \
    X(AUTH_JWT, "jwt")         /* a token that we sign ourselves, HS256, a new one for every request */                \
    X(AUTH_OAUTH2, "oauth2")   /* access tokens for a refresh token; a channel may give an access token instead */

/* May a search end before the end of the history? */
#define DESCRIPTOR_FLOORS(X)                                                                                           \
    X(FLOOR_NONE, "none")                                                                                              \
    X(FLOOR_SERVER_TIME, "server_time") /* newest first by the server's own time: older than the attempt is enough */

#define DESCRIPTOR_REPEATS(X) X(REPEATS_HARMFUL, "harmful") X(REPEATS_HARMLESS, "harmless")

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
    X(OUTCOME_DELETED, "deleted") /* it was published under this key and then deleted: nobody publishes it again */    \
    X(OUTCOME_SESSION_EXPIRED, "session_expired") /* log in and send the same again; the attempt goes on */

#define X(id, name) id,
enum descriptor_tier { DESCRIPTOR_TIERS(X) };
enum descriptor_setting_type { DESCRIPTOR_SETTING_TYPES(X) };
enum descriptor_auth_kind { DESCRIPTOR_AUTH_KINDS(X) };
enum descriptor_floor { DESCRIPTOR_FLOORS(X) };
enum descriptor_repeats { DESCRIPTOR_REPEATS(X) };
enum descriptor_outcome { DESCRIPTOR_OUTCOMES(X) };
#undef X

enum descriptor_half { DESCRIPTOR_READ, DESCRIPTOR_WRITE, DESCRIPTOR_HALVES };

struct canonical_text; /* keys/canonical.h */
struct program_input;  /* platforms/program_input.h */
struct descriptor_setting {
    const char *name;
    enum descriptor_setting_type type;
    bool required;
    const json_t *fallback; /* NULL: none */
    const json_t *values;   /* enum: array of strings */
    const char *help;
};

/* A request as the descriptor describes it; form_render() makes one of it. */
struct descriptor_request {
    const char *method;
    bool anonymous; /* sent without the channel's credential */
    const char *url_part, *headers_part;
    const char *json_part, *form_part, *text_part; /* the body: one of them, or none */
    const char *text_type;                         /* content type of a text body */
    const char *file_part; /* the body is bytes that a step kept: request_file.h; in steps before the write only */
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
    const char *if_part;            /* -> true */
    const char *id_part, *url_part; /* -> string, number or null */
    const char *stored_part;        /* -> {html} or {text}: what the answer says was stored, or null */
    const char *duplicate_part;     /* -> name of another post of the same delivery that this answer betrays, or null */
};

/* A harmless request before another one, or one for each element of a list; what `keep` makes of its answer is seen
 * later as .prepared.<name>. */
struct descriptor_step {
    const char *name;
    struct descriptor_request request;
    const char *each_part;  /* -> list; NULL: it is done once */
    const char *keep_part;  /* -> a value; null = the step failed */
    int64_t keep_bytes_max; /* 0: none; else the answer's body is kept for later steps, up to so many bytes */
    const char *again_part; /* -> true: not ready yet, the same is asked again; NULL: never */
    int64_t again_after_ms, again_times;
};

/* One request of a login, and what its answer gives. */
struct descriptor_login {
    struct descriptor_request request; /* sent without the channel's credential; holes place it */
    const char *keep_part;             /* -> string (the first session value) or object of them; null: none */
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
    enum descriptor_floor floor;
    bool drift; /* pages are numbered: a new post shifts them */
    int64_t pages_max;
};

struct descriptor_wait {
    struct descriptor_status_list statuses;
    enum limits_form form;
    const char *header;    /* lower case; NULL for LIMITS_BODY */
    const char *at_part;   /* LIMITS_BODY: -> seconds */
    const char *remaining; /* lower case: the header that counts what is left; it counts only where nothing is */
};

/* A limit on the item, told at submit. */
struct descriptor_item_limit {
    const char *what_part; /* -> text or null */
    enum text_unit unit;
    int64_t max;             /* 0: max_setting */
    const char *max_setting; /* name of the setting that says it */
    int64_t url_counts;      /* 0: as long as it is */
    bool short_mentions;     /* of @name@host the host does not count */
};

struct descriptor {
    char *file;
    const char *platform, *title;
    const json_t *docs;
    json_t *document;
    bool unverified; /* `verify`: not all of it was seen on a real server */

    struct descriptor_setting *settings;
    size_t setting_count;
    const char *instance_setting; /* whose value says where the platform is */

    enum descriptor_auth_kind auth;
    const char *auth_header;        /* AUTH_HEADER, AUTH_SESSION: its name, or NULL */
    const char *auth_prefix;        /* AUTH_HEADER, AUTH_JWT: what stands in front of the secret, or NULL */
    const char *audience;           /* AUTH_JWT: claim `aud` */
    const json_t *credential_names; /* as given; NULL: the usual ones of the kind */
    struct descriptor_login login;  /* of one request; or: */
    struct descriptor_login *login_steps;
    size_t login_step_count;
    struct descriptor_login refresh; /* of a session that is over; no method: there is none */
    bool refresh_repeatable;         /* a refresh whose answer was lost may be sent again with the same token */
    const char *refused_part;        /* -> true where a login's answer refuses the credential inside a success */
    const char *token_part;          /* what login and refresh keep */
    const json_t *session_names;     /* what holes session.<name> there are; NULL: the usual ones of the kind */
    int64_t login_limit_ms, lifetime_s;

    const char *text_part;    /* NULL: the platform publishes no text of its own */
    const json_t *item_needs; /* array of arrays of member names; NULL: none */
    struct descriptor_item_limit *item_limits;
    size_t item_limit_count;

    enum descriptor_tier tier;
    enum descriptor_repeats repeats; /* what holds for a channel is in its policy */
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

    int64_t late_commit_s, visibility_lag_s, clean_misses, lease_s, margin_s;
    struct descriptor_wait *waits;
    size_t wait_count;
    int64_t spacing_ms, burst;

    struct descriptor_private *own; /* parts and compiled programs */
};

/* Read and check one file. *out is the caller's. */
MUSTCHECK bool descriptor_load(const char *path, struct descriptor **out, struct errbuf *err);
void descriptor_free(struct descriptor **descriptor);

/* Compiles the programs of a half now and not at their first use. */
MUSTCHECK bool descriptor_compiles(struct descriptor *descriptor, enum descriptor_half half, struct errbuf *err);

/* Run one of its programs; compiles the half at the first call. *result is the caller's. err names file and path. */
MUSTCHECK bool descriptor_run(struct descriptor *descriptor, enum descriptor_half half, const char *part,
                              const json_t *input, json_t **result, struct errbuf *err);

/* The same over an input that several of its programs see (platforms/program.h). */
MUSTCHECK bool descriptor_run_over(struct descriptor *descriptor, enum descriptor_half half, const char *part,
                                   struct program_input *input, json_t **result, struct errbuf *err);

/* The same, and the result's canonical JSON is put to out. */
MUSTCHECK bool descriptor_print_over(struct descriptor *descriptor, enum descriptor_half half, const char *part,
                                     struct program_input *input, struct canonical_text *out, struct errbuf *err);

/* False if one of its programs certainly gives the same whether its input has this member or not. */
bool descriptor_sees(struct descriptor *descriptor, enum descriptor_half half, const char *part, const char *member);

/* What stands in the file for one of its programs; borrowed. */
const char *descriptor_program_text(const struct descriptor *descriptor, const char *part);

/* As descriptor_run for a program that answers yes or no: only true is yes, everything else no. */
MUSTCHECK bool descriptor_ask(struct descriptor *descriptor, enum descriptor_half half, const char *part,
                              const json_t *input, bool *yes, struct errbuf *err);

/* Name of the i-th credential that a channel must give; NULL behind the last one. A single one is called "secret". */
const char *descriptor_credential(const struct descriptor *descriptor, size_t i);

/* True if a setting's value is of its type; else why ("must be ..."). Values that need one get their normal form from
 * channel.c. */
bool descriptor_setting_fits(const struct descriptor_setting *setting, const json_t *value, char *why, size_t why_size);

/* True for the one that a channel may leave out. */
bool descriptor_credential_optional(const struct descriptor *descriptor, const char *name);

/* Name of the i-th value of a session: the hole session.<name>. NULL behind the last one. */
const char *descriptor_session_value(const struct descriptor *descriptor, size_t i);

/* The i-th request of a login; NULL behind the last one, and where there is no login. */
const struct descriptor_login *descriptor_login(const struct descriptor *descriptor, size_t i);

/* True for kinds whose tokens come from a login or a refresh. */
bool descriptor_has_session(const struct descriptor *descriptor);

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
