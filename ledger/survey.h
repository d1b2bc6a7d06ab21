/* SPDX-License-Identifier: MIT */
/*
 * survey: looks through the ledger for what does not fit together. Reads only, a bounded number of round trips.
 *
 * The names of all keys are looked through (SURVEY_KEYS_MAX of them and budget_ms at most), then the rows, then the
 * agenda. Work goes on meanwhile, so whatever looks wrong is looked at a second time and counts only if it is still so
 * and its row has not been changed in between. What was not looked at is said.
 *
 * A row's channel, state and places are all that is read of it; contents and secrets never are.
 */
#ifndef LANDFALL_LEDGER_SURVEY_H
#define LANDFALL_LEDGER_SURVEY_H

#include "ledger/survey_row.h"

#define SURVEY_KEYS_MAX   200000
#define SURVEY_AGENDA_MAX 50000
#define SURVEY_LIST_MAX   1000

/* Names of what was found: the first SURVEY_LIST_MAX, and how many there are. */
struct survey_list {
    char **names;
    size_t kept;
    int64_t total;
};

/* Deliveries of a channel in a state, as `counts` says it and as they were counted. */
struct survey_count {
    char channel[IDENTITY_CHANNEL_BYTES];
    enum delivery_state state;
    int64_t stated, found;
};

struct survey {
    int64_t keys, rows, agenda; /* looked at */
    bool complete;              /* all keys were looked at, and all rows */
    bool agenda_complete;
    int64_t highest_partition;     /* of keys of a channel, a delivery or a process */
    int64_t foreign_partitions;    /* keys of other partitions */
    struct survey_list unknown;    /* keys under the prefix whose kind or name this version does not know */
    struct survey_list endless;    /* leases without an end */
    struct survey_list unreadable; /* rows */
    struct survey_list nowhere;    /* rows that nothing will ever look at */
    struct survey_list no_lease;   /* claimed, for longer than any lease lasts, without one */
    struct survey_list stale;      /* on the agenda, and the row is gone or settled */
    struct survey_list odd;        /* agenda members that are no names of ours */
    struct survey_list deaf;       /* channels whose deliveries wait and which are not on the agenda, not paused */
    struct survey_list unwalked;   /* channels with uncertain deliveries whose account is not to be walked */
    struct survey_list unclear;  /* channels whose facts are no numbers: their deliveries are answered with an error */
    struct survey_list behind;   /* deliveries that wait for the one that they come after */
    bool counted;                /* all was counted and `counts` did not change meanwhile */
    struct survey_count *counts; /* where the two differ; only if counted */
    size_t count_count;
};

struct survey_bounds {
    int64_t longest_lease_ms; /* of all channels */
    int64_t budget_ms;        /* for the whole */
    int64_t keys_max;         /* SURVEY_KEYS_MAX, or fewer */
    int64_t limit_ms;         /* of one round trip */
    bool watch;               /* begins with WATCH counts and agenda, for mend_counts() on the same link */
};

/* now_ms: the server's time. Free with survey_fini(), also after a failure. */
MUSTCHECK bool survey_read(const struct ledger *ledger, struct redis_link *link, const struct survey_bounds *bounds,
                           int64_t now_ms, struct survey *out, struct errbuf *err);
void survey_fini(struct survey *survey);

#endif
