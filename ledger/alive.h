/* SPDX-License-Identifier: MIT */
/*
 * alive: heartbeats. A process says that it lives, and everybody can see which ones have said so lately.
 */
#ifndef LANDFALL_LEDGER_ALIVE_H
#define LANDFALL_LEDGER_ALIVE_H

#include "ledger/reads.h"

#define ALIVE_MS         30000 /* a heartbeat counts for so long */
#define ALIVE_RETRY_MS   1000  /* one that Redis did not take is tried again */
#define ALIVE_TEXT_BYTES 256
#define ALIVE_MAX        1000 /* of them are listed */

struct alive {
    char name[ROW_WORKER_BYTES];
    char role[16];               /* "worker", "reconciler"; "" where the heartbeat does not say */
    char text[ALIVE_TEXT_BYTES]; /* the heartbeat as it stands: somebody else's bytes */
};

/* Writes `worker:<name>`: "role=.. host=.. pid=.. started=.." and what the role has to add. started_wall_ms is the
 * machine's clock. Notes the server's time in link_clock(). False: Redis did not take it. */
MUSTCHECK bool alive_tell(const struct ledger *ledger, struct redis_link *link, const char *role,
                          int64_t started_wall_ms, const char *more, int64_t limit_ms, struct errbuf *err);

/* Looks through the names of all keys, a few thousand in a round trip, until budget_ms have passed: then *complete is
 * false and somebody may be missing. *own_list is freed with free(). False: Redis did not answer. */
MUSTCHECK bool alive_read(const struct ledger *ledger, struct redis_link *link, int64_t budget_ms,
                          struct alive **own_list, size_t *count, bool *complete, int64_t limit_ms, struct errbuf *err);

#endif
