/* SPDX-License-Identifier: MIT */
/*
 * survey_keys: the names of all keys under the prefix, sorted out by kind. For ledger/ only.
 */
#ifndef LANDFALL_LEDGER_SURVEY_KEYS_H
#define LANDFALL_LEDGER_SURVEY_KEYS_H

#include "ledger/survey.h"

struct survey_names {
    char **name;
    size_t count, room;
};

/* What a key's name says. */
enum survey_key {
    SURVEY_KEY_FOREIGN, /* of another partition */
    SURVEY_KEY_UNKNOWN, /* under the prefix, and no name that this version writes */
    SURVEY_KEY_ROW,
    SURVEY_KEY_LEASE,
    SURVEY_KEY_OTHER, /* of ours, of any other kind */
};

/* Pure. *suffix: the delivery's name of a row or lease, borrowed from key. *partition: -1 where there is none. */
enum survey_key survey_key(const struct names *names, const char *key, const char **suffix, int64_t *partition);

/* Rows and leases without doubles, sorted; free with survey_names_fini(). Everything else goes into `out`, which also
 * learns whether that was all. deadline_ms: boot time. */
MUSTCHECK bool survey_keys_read(const struct ledger *ledger, struct redis_link *link,
                                const struct survey_bounds *bounds, int64_t deadline_ms, struct survey_names *rows,
                                struct survey_names *leases, struct survey *out, struct errbuf *err);
void survey_names_fini(struct survey_names *names);

void survey_list_add(struct survey_list *list, const char *name);

#endif
