/* SPDX-License-Identifier: MIT */
/*
 * Requests stand in three tables that differ in one thing: which half needs their programs. Members that are objects
 * in the file and plain fields in struct descriptor (key, times, ..) have shapes whose offsets count from the struct.
 */
#include "platforms/descriptor_table.h"

#include "platforms/descriptor.h"

#define AT(type, field) offsetof(struct type, field)
#define COUNT(table)    (sizeof(table) / sizeof(*(table)))
#define SHAPE(type, tbl)                                                                                               \
    {                                                                                                                  \
        sizeof(struct type), (tbl), COUNT(tbl)                                                                         \
    }

#define TEXT(label, type, field, must, help)                                                                           \
    {                                                                                                                  \
        .name = (label), .kind = SHAPE_TEXT, .offset = AT(type, field), .required = (must), .todo = (help)             \
    }
#define PROGRAM(label, type, field, must, half, help)                                                                  \
    {                                                                                                                  \
        .name = (label), .kind = SHAPE_PROGRAM, .offset = AT(type, field), .required = (must), .halves = (half),       \
        .todo = (help)                                                                                                 \
    }
#define INTEGER(label, type, field, low, high, otherwise)                                                              \
    {                                                                                                                  \
        .name = (label), .kind = SHAPE_INTEGER, .offset = AT(type, field), .min = (low), .max = (high),                \
        .fallback = (otherwise)                                                                                        \
    }
#define BOOLEAN(label, type, field, otherwise)                                                                         \
    {                                                                                                                  \
        .name = (label), .kind = SHAPE_BOOLEAN, .offset = AT(type, field), .fallback = (otherwise)                     \
    }
#define WORD(label, type, field, must, list, help)                                                                     \
    {                                                                                                                  \
        .name = (label), .kind = SHAPE_WORD, .offset = AT(type, field), .required = (must), .words = (list),           \
        .todo = (help)                                                                                                 \
    }
#define OBJECT(label, at, must, members, help)                                                                         \
    {                                                                                                                  \
        .name = (label), .kind = SHAPE_OBJECT, .offset = (at), .required = (must), .shape = &(members), .todo = (help) \
    }
#define LIST(label, type, field, counter, must, members, help)                                                         \
    {                                                                                                                  \
        .name = (label), .kind = SHAPE_LIST, .offset = AT(type, field), .required = (must), .shape = &(members),       \
        .count_offset = AT(type, counter), .todo = (help)                                                              \
    }

#define X(id, name, ...) name,
static const char *const tiers[] = {DESCRIPTOR_TIERS(X) NULL};
static const char *const setting_types[] = {DESCRIPTOR_SETTING_TYPES(X) NULL};
static const char *const auth_kinds[] = {DESCRIPTOR_AUTH_KINDS(X) NULL};
static const char *const outcomes[] = {DESCRIPTOR_OUTCOMES(X) NULL};
static const char *const floors[] = {DESCRIPTOR_FLOORS(X) NULL};
static const char *const repeats[] = {DESCRIPTOR_REPEATS(X) NULL};
static const char *const key_formats[] = {KEY_FORMATS(X) NULL};
static const char *const limit_forms[] = {LIMITS_FORMS(X) NULL};
#undef X
#define X(symbol, name, words) name,
static const char *const units[] = {TEXT_UNITS(X) NULL};
#undef X

const char *descriptor_tier_name(enum descriptor_tier tier)
{
    return tiers[tier];
}

const char *descriptor_outcome_name(enum descriptor_outcome outcome)
{
    return outcomes[outcome];
}

/* A request, for one half: its members, and the table's name. */
#define REQUEST_TABLE(id, half)                                                                                        \
    static const struct shape_member id##_body_members[] = {                                                           \
        PROGRAM("json", descriptor_request, json_part, false, half, NULL),                                             \
        PROGRAM("form", descriptor_request, form_part, false, half, NULL),                                             \
        PROGRAM("text", descriptor_request, text_part, false, half, NULL),                                             \
        TEXT("type", descriptor_request, text_type, false, NULL),                                                      \
        PROGRAM("file", descriptor_request, file_part, false, half, NULL),                                             \
    };                                                                                                                 \
    static const struct shape id##_body = SHAPE(descriptor_request, id##_body_members);                                \
    static const struct shape_member id##_members[] = {                                                                \
        TEXT("method", descriptor_request, method, true, "write the HTTP method, such as \"GET\""),                    \
        PROGRAM("url", descriptor_request, url_part, true, half, "write a program that gives the address"),            \
        PROGRAM("headers", descriptor_request, headers_part, false, half, NULL),                                       \
        OBJECT("body", 0, false, id##_body, NULL),                                                                     \
        BOOLEAN("anonymous", descriptor_request, anonymous, false),                                                    \
    };                                                                                                                 \
    static const struct shape id = SHAPE(descriptor_request, id##_members);

REQUEST_TABLE(read_request, HALF_READ)
REQUEST_TABLE(write_request, HALF_WRITE)
REQUEST_TABLE(login_request, HALF_BOTH)

#define STEP_TABLE(id, request_shape, half)                                                                            \
    static const struct shape_member id##_again_members[] = {                                                          \
        PROGRAM("if", descriptor_step, again_part, true, half, "write a program that is true while it is not ready"),  \
        INTEGER("after_ms", descriptor_step, again_after_ms, 100, 60000, 1000),                                        \
        INTEGER("times", descriptor_step, again_times, 1, 100, 30),                                                    \
    };                                                                                                                 \
    static const struct shape id##_again = SHAPE(descriptor_step, id##_again_members);                                 \
    static const struct shape_member id##_members[] = {                                                                \
        TEXT("name", descriptor_step, name, true, "name it; its result is then .prepared.<name>"),                     \
        OBJECT("request", AT(descriptor_step, request), true, request_shape, "write the request of this step"),        \
        PROGRAM("keep", descriptor_step, keep_part, true, half, "write a program that takes the value out of answer"), \
        PROGRAM("each", descriptor_step, each_part, false, half, NULL),                                                \
        INTEGER("keep_bytes", descriptor_step, keep_bytes_max, 1, 16 << 20, 0),                                        \
        OBJECT("again", 0, false, id##_again, NULL),                                                                   \
    };                                                                                                                 \
    static const struct shape id = SHAPE(descriptor_step, id##_members);

STEP_TABLE(read_step, read_request, HALF_READ)
STEP_TABLE(write_step, write_request, HALF_WRITE)

static const struct shape_member login_step_members[] = {
    OBJECT("request", AT(descriptor_login, request), true, login_request, "write the request of this step"),
    PROGRAM("keep", descriptor_login, keep_part, true, HALF_BOTH,
            "write a program that takes session values out of the answer"),
};
static const struct shape login_step = SHAPE(descriptor_login, login_step_members);

static const struct shape_member setting_members[] = {
    WORD("type", descriptor_setting, type, true, setting_types, "write \"string\", \"origin\", .."),
    BOOLEAN("required", descriptor_setting, required, false),
    {.name = "default", .kind = SHAPE_VALUE, .offset = AT(descriptor_setting, fallback)},
    {.name = "values", .kind = SHAPE_NAMES, .offset = AT(descriptor_setting, values)},
    TEXT("help", descriptor_setting, help, true, "say in a sentence what it is"),
};
static const struct shape setting = SHAPE(descriptor_setting, setting_members);

static const struct shape_member auth_members[] = {
    WORD("kind", descriptor, auth, true, auth_kinds, "write \"bearer\", \"none\", .."),
    TEXT("name", descriptor, auth_header, false, NULL),
    TEXT("prefix", descriptor, auth_prefix, false, NULL),
    TEXT("audience", descriptor, audience, false, NULL),
    {.name = "credentials", .kind = SHAPE_NAMES, .offset = AT(descriptor, credential_names)},
    OBJECT("login", AT(descriptor, login.request), false, login_request, NULL),
    LIST("steps", descriptor, login_steps, login_step_count, false, login_step, NULL),
    OBJECT("refresh", AT(descriptor, refresh.request), false, login_request, NULL),
    BOOLEAN("refresh_repeatable", descriptor, refresh_repeatable, false),
    PROGRAM("refused", descriptor, refused_part, false, HALF_BOTH, NULL),
    PROGRAM("token", descriptor, token_part, false, HALF_BOTH, NULL),
    {.name = "values", .kind = SHAPE_NAMES, .offset = AT(descriptor, session_names)},
    INTEGER("login_limit_ms", descriptor, login_limit_ms, 100, 120000, 15000),
    INTEGER("lifetime_s", descriptor, lifetime_s, 0, 31536000, 0),
};
static const struct shape auth = SHAPE(descriptor, auth_members);

static const struct shape_member item_limit_members[] = {
    PROGRAM("what", descriptor_item_limit, what_part, true, HALF_WRITE, "write a program that gives what is measured"),
    WORD("unit", descriptor_item_limit, unit, true, units,
         "write \"graphemes\", \"code_points\", \"bytes\" or \"weighted\""),
    INTEGER("max", descriptor_item_limit, max, 1, 100000000, 0),
    TEXT("max_setting", descriptor_item_limit, max_setting, false, NULL),
    INTEGER("url_counts", descriptor_item_limit, url_counts, 1, 10000, 0),
    BOOLEAN("short_mentions", descriptor_item_limit, short_mentions, false),
};
static const struct shape item_limit = SHAPE(descriptor_item_limit, item_limit_members);

static const struct shape_member item_members[] = {
    {.name = "needs", .kind = SHAPE_CHOICES, .offset = AT(descriptor, item_needs)},
    LIST("limits", descriptor, item_limits, item_limit_count, false, item_limit, NULL),
};
static const struct shape item = SHAPE(descriptor, item_members);

static const struct shape_member key_members[] = {
    WORD("format", descriptor, key_format, true, key_formats, "write \"plain\", \"tid\", .."),
    INTEGER("max_length", descriptor, key_max_length, 1, 1024, 255),
    {.name = "window_s",
     .kind = SHAPE_INTEGER,
     .offset = AT(descriptor, key_window_s),
     .required = true,
     .min = -1,
     .max = 31536000,
     .todo = "write for how long the platform remembers a key, 0 if it does not, -1 for ever"},
    TEXT("window_setting", descriptor, key_window_setting, false, NULL),
};
static const struct shape key = SHAPE(descriptor, key_members);

static const struct shape_member write_members[] = {
    OBJECT("request", AT(descriptor, write), true, write_request, "write the request that publishes"),
    INTEGER("limit_ms", descriptor, write_limit_ms, 100, 600000, 20000),
    BOOLEAN("gives_id", descriptor, gives_id, true),
};
static const struct shape write_shape = SHAPE(descriptor, write_members);

static const struct shape_member rule_members[] = {
    {.name = "status", .kind = SHAPE_STATUSES, .offset = AT(descriptor_rule, statuses)},
    PROGRAM("if", descriptor_rule, if_part, false, HALF_WRITE, NULL),
    WORD("outcome", descriptor_rule, outcome, true, outcomes, "write what such an answer means"),
    TEXT("reason", descriptor_rule, reason, false, NULL),
    PROGRAM("id", descriptor_rule, id_part, false, HALF_WRITE, NULL),
    PROGRAM("url", descriptor_rule, url_part, false, HALF_WRITE, NULL),
    PROGRAM("duplicate", descriptor_rule, duplicate_part, false, HALF_WRITE, NULL),
    PROGRAM("stored", descriptor_rule, stored_part, false, HALF_WRITE, NULL),
};
static const struct shape rule = SHAPE(descriptor_rule, rule_members);

static const struct shape_member lookup_members[] = {
    OBJECT("request", AT(descriptor_lookup, request), true, read_request, "write the request that reads the post"),
    PROGRAM("found", descriptor_lookup, found_part, true, HALF_READ, "write a program that gives the entry, or null"),
    PROGRAM("gone", descriptor_lookup, gone_part, true, HALF_READ,
            "write a program that is true where the answer proves that there is no such post"),
};
static const struct shape lookup = SHAPE(descriptor_lookup, lookup_members);

static const struct shape_member listing_members[] = {
    OBJECT("request", AT(descriptor_listing, request), true, read_request, "write the request that lists the posts"),
    PROGRAM("entries", descriptor_listing, entries_part, true, HALF_READ,
            "write a program that gives the page's posts"),
    PROGRAM("next", descriptor_listing, next_part, true, HALF_READ,
            "write a program that gives the cursor of the next page, or null"),
    PROGRAM("end", descriptor_listing, end_part, true, HALF_READ,
            "without a proof of the end no search is complete; write a program that is true where this page proves "
            "that there are no older posts"),
    WORD("floor", descriptor_listing, floor, true, floors,
         "write \"server_time\" if posts come newest first by a time that the server sets, else \"none\""),
    BOOLEAN("drift", descriptor_listing, drift, false),
    INTEGER("pages_max", descriptor_listing, pages_max, 1, 10000, 100),
};
static const struct shape listing = SHAPE(descriptor_listing, listing_members);

#define GIVEN(label, type, field, members)                                                                             \
    {                                                                                                                  \
        .name = (label), .kind = SHAPE_OBJECT, .offset = AT(type, field), .shape = &(members),                         \
        .given_offset = AT(type, field.given)                                                                          \
    }

static const struct shape_member reads_members[] = {
    LIST("prepare", descriptor, read_prepare, read_prepare_count, false, read_step, NULL),
    GIVEN("by_id", descriptor, by_id, lookup),
    GIVEN("by_key", descriptor, by_key, lookup),
    GIVEN("listing", descriptor, listing, listing),
};
static const struct shape reads = SHAPE(descriptor, reads_members);

static const struct shape_member times_members[] = {
    INTEGER("late_commit_s", descriptor, late_commit_s, 0, 86400, 30),
    INTEGER("visibility_lag_s", descriptor, visibility_lag_s, 0, 86400, 60),
    INTEGER("clean_misses", descriptor, clean_misses, 1, 10, 2),
    INTEGER("lease_s", descriptor, lease_s, 5, 3600, 60),
    INTEGER("margin_s", descriptor, margin_s, 0, 3600, 10),
};
static const struct shape times = SHAPE(descriptor, times_members);

static const struct shape_member wait_members[] = {
    {.name = "status",
     .kind = SHAPE_STATUSES,
     .offset = AT(descriptor_wait, statuses),
     .required = true,
     .todo = "write the statuses that carry it, such as [429]"},
    WORD("form", descriptor_wait, form, true, limit_forms, "write in which form the time stands there"),
    TEXT("header", descriptor_wait, header, false, NULL),
    TEXT("remaining", descriptor_wait, remaining, false, NULL),
    PROGRAM("at", descriptor_wait, at_part, false, HALF_BOTH, NULL),
};
static const struct shape wait_shape = SHAPE(descriptor_wait, wait_members);

static const struct shape_member pace_members[] = {
    INTEGER("spacing_ms", descriptor, spacing_ms, 0, 86400000, 0),
    INTEGER("burst", descriptor, burst, 1, 1000, 1),
};
static const struct shape pace = SHAPE(descriptor, pace_members);

static const struct shape_member descriptor_members[] = {
    TEXT("platform", descriptor, platform, true, "write the name of this file without \".json\""),
    TEXT("title", descriptor, title, true, "write the platform's name as people know it"),
    {.name = "docs", .kind = SHAPE_NAMES, .offset = AT(descriptor, docs)},
    BOOLEAN("verify", descriptor, unverified, false),
    {.name = "settings",
     .kind = SHAPE_MAP,
     .offset = AT(descriptor, settings),
     .shape = &setting,
     .count_offset = AT(descriptor, setting_count)},
    TEXT("instance", descriptor, instance_setting, false, NULL),
    OBJECT("auth", 0, true, auth, "write how a channel proves who it is; {\"kind\": \"none\"} if it need not"),
    OBJECT("item", 0, false, item, NULL),
    PROGRAM("text", descriptor, text_part, false, HALF_BOTH, NULL),
    WORD("tier", descriptor, tier, true, tiers, "write what is known about repeats"),
    WORD("repeats", descriptor, repeats, true, repeats, "write \"harmful\" or \"harmless\""),
    {.name = "key", .kind = SHAPE_OBJECT, .shape = &key, .given_offset = AT(descriptor, has_key)},
    LIST("prepare", descriptor, prepare, prepare_count, false, write_step, NULL),
    OBJECT("write", 0, true, write_shape, "write how a post is published"),
    LIST("accept", descriptor, rules, rule_count, true, rule, "write what the platform's answers mean"),
    BOOLEAN("verify_after_publish", descriptor, verify_after_publish, false),
    BOOLEAN("stores_failures", descriptor, stores_failures, false),
    OBJECT("reads", 0, false, reads, NULL),
    PROGRAM("marks", descriptor, marks_part, false, HALF_READ, NULL),
    OBJECT("times", 0, false, times, NULL),
    LIST("limits", descriptor, waits, wait_count, false, wait_shape, NULL),
    OBJECT("pace", 0, false, pace, NULL),
};
static const struct shape descriptor_all = SHAPE(descriptor, descriptor_members);

const struct shape *descriptor_shape(void)
{
    return &descriptor_all;
}
