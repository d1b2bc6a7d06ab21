/* SPDX-License-Identifier: MIT */
/*
 * alive: which processes have written a heartbeat in the last READS_HEARTBEAT_MS. Reads only.
 */
#ifndef LANDFALL_LEDGER_ALIVE_H
#define LANDFALL_LEDGER_ALIVE_H

#include "ledger/reads.h"

#define ALIVE_TEXT_BYTES 256
#define ALIVE_MAX        1000 /* of them are listed */

struct alive {
    char name[ROW_WORKER_BYTES];
    char role[16];               /* "worker", "reconciler"; "" where the heartbeat does not say */
    char text[ALIVE_TEXT_BYTES]; /* the heartbeat as it stands: somebody else's bytes */
};

/* Looks through the names of all keys, a few thousand in a round trip, until budget_ms have passed: then *complete is
 * false and somebody may be missing. *own_list is freed with free(). False: Redis did not answer. */
MUSTCHECK bool alive_read(const struct ledger *ledger, struct redis_link *link, int64_t budget_ms,
                          struct alive **own_list, size_t *count, bool *complete, int64_t limit_ms, struct errbuf *err);

#endif
