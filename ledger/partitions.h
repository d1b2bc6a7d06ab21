/* SPDX-License-Identifier: MIT */
/*
 * partitions: another number of partitions, for a fleet that is at rest.
 *
 * A channel whose partition changes moves with everything that the ledger knows of it. Until all of it has moved, every
 * epoch says so, and no process starts. Everything is copied before the first key goes, a key goes only where its copy
 * is seen, and every step changes nothing when it is done again: a run that was killed is simply run again.
 *
 * What tells of the past and is asked by nobody who decides (outcomes, refused, audit) stays where it is.
 */
#ifndef LANDFALL_LEDGER_PARTITIONS_H
#define LANDFALL_LEDGER_PARTITIONS_H

#include "ledger/round.h"
#include "runtime/config.h"

#define PARTITIONS_MAX 256 /* each has a connection of its own meanwhile */

struct partitions_place {
    struct ledger ledger;    /* as the caller's, with this partition's keys */
    struct redis_link *link; /* on a cluster each may be on another node */
    int64_t said;            /* `partitions` of its epoch: 0: nobody has said; -N: it is being changed to N */
    int64_t said_from;       /* the number before, while it is being changed */
};

enum partitions_stage {
    PARTITIONS_UNTOUCHED, /* nothing was done */
    PARTITIONS_MOVING,    /* an earlier run was cut off while keys moved */
    PARTITIONS_FINISHING, /* or when only the epochs were left */
    PARTITIONS_DONE,
};

struct partitions {
    int64_t from, to;               /* numbers of partitions */
    struct partitions_place *place; /* as many as the larger of both */
    size_t count;
    int64_t limit_ms; /* of one round trip */
    enum partitions_stage stage;
    int64_t rows, keys; /* that are to move; counted by partitions_at_rest() */
};

/* Connects to all partitions and reads how far they are. False, with words: Redis is away, or (*mixed) these partitions
 * do not belong together, or to another change. config and name are borrowed until partitions_close(), which is to be
 * called in either case. */
MUSTCHECK bool partitions_open(struct partitions *all, const struct config *config, const struct ledger *ledger,
                               const char *name, int64_t to, bool *mixed, struct errbuf *err);
void partitions_close(struct partitions *all);

/* From now on no process starts. */
MUSTCHECK bool partitions_mark(struct partitions *all, struct errbuf *err);
/* As it was before: only where nothing has moved yet. */
MUSTCHECK bool partitions_unmark(struct partitions *all, struct errbuf *err);

/* *rest: nobody works, nothing is queued, and nothing that would move is claimed or uncertain; else why says what to
 * do. False: Redis is away. */
MUSTCHECK bool partitions_at_rest(struct partitions *all, bool *rest, struct errbuf *why, struct errbuf *err);

MUSTCHECK bool partitions_copy(struct partitions *all, struct errbuf *err);
/* What was copied goes from where it was. */
MUSTCHECK bool partitions_drop(struct partitions *all, struct errbuf *err);
/* The new number stands everywhere: processes may start. */
MUSTCHECK bool partitions_finish(struct partitions *all, struct errbuf *err);

/* Who does it, in the audit stream of partition 0: once for each run that gets so far. */
MUSTCHECK bool partitions_audit(struct partitions *all, const char *user, const char *host, const char *why,
                                struct errbuf *err);

#endif
