/* SPDX-License-Identifier: MIT */
/*
 * spool_replay: settles what a process that is gone has left in its spool file, then removes the file.
 *
 * Each outcome is a late report: its row is read, core/ decides, settle.lua writes, and where the row has changed
 * meanwhile the same report is decided about again. So it makes no difference who does it, when, or how often. What
 * cannot be settled now (an unreadable row, a channel that this process does not know, a Redis that refuses writes)
 * stays in the file. A file with a line that cannot be read is put aside once the rest of it is settled.
 *
 * What a report says about its channel (wait, refused credential) is not told again: it was true when it was written,
 * and the next attempt finds out.
 */
#ifndef LANDFALL_LEDGER_SPOOL_REPLAY_H
#define LANDFALL_LEDGER_SPOOL_REPLAY_H

#include "ledger/round.h"
#include "ledger/spool_file.h"

enum spool_result {
    SPOOL_SETTLED, /* the row says so now */
    SPOOL_ALREADY, /* the row said so, or knew better */
    SPOOL_NOTHING, /* the row is lost and nothing was published: there is nothing to write down */
    SPOOL_LEFT,    /* not now; `why` */
};

/* One report's end. Borrowed for the call. */
struct spool_told {
    const char *file;
    const struct attempt_report *report;
    enum spool_result result;
    enum delivery_state state; /* settled, already */
    enum delivery_reason reason;
    bool duplicate, alert;
    const char *why; /* left */
};

struct spool_replay {
    const struct ledger *ledger;
    struct redis_link *link;
    int64_t limit_ms; /* of a round trip */
    const char *folder, *prefix;
    int64_t partition;
    const struct delivery_policy *(*policy_of)(void *context, const char *channel); /* NULL: not known here */
    void (*told)(void *context, const struct spool_told *told);
    void *context;
    bool environment_checked;
};

enum spool_end {
    SPOOL_END_REMOVED, /* everything is settled */
    SPOOL_END_ASIDE,   /* everything that can be read is; the file has another name now */
    SPOOL_END_LEFT,    /* something is left in it */
    SPOOL_END_ALIVE,   /* its owner lives, or somebody else is at it */
    SPOOL_END_GONE,    /* somebody else was quicker */
    SPOOL_END_OTHERS,  /* it belongs to another environment, prefix or partition */
    SPOOL_END_FAILED,  /* the file, or Redis; err */
};

struct spool_replayed {
    size_t settled, left; /* reports */
    size_t unreadable, first_bad_line;
    struct errbuf why; /* of that line */
    size_t torn_bytes; /* of a write that was cut off: ignored */
};

/* Settles one file of the folder. The link is open. */
MUSTCHECK enum spool_end spool_replay_file(struct spool_replay *replay, const char *name, struct spool_replayed *out,
                                           struct errbuf *err);

#endif
