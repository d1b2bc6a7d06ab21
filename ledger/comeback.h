/* SPDX-License-Identifier: MIT */
/*
 * comeback: a server that was left for another one, or was a replica, and is the one that takes writes again.
 *
 * What the other one answered meanwhile it may never have heard of, or it has lost what the other one did not know; and
 * its run id is the one that the ledger knows: a master that stood still during a failover and is used again, or was
 * made a replica and then a master. So whoever has seen it says it: the ledger gets a run id that no server has, and
 * the next claim notices the change as any (epoch.lua). Once is enough for the fleet; who comes back after the ledger
 * has noticed says nothing more.
 *
 * Only a process that lived through it can know. Nothing is owned.
 */
#ifndef LANDFALL_LEDGER_COMEBACK_H
#define LANDFALL_LEDGER_COMEBACK_H

#include "ledger/reads.h"
#include "ledger/round.h"

#define COMEBACK_SERVERS 8 /* so many that were left are remembered */

struct comeback {
    char here[LINK_RUN_ID_BYTES]; /* the server that was asked last; "": none yet */
    int64_t lost_boot_ms;         /* when its connection was seen to be gone; 0: it is not */
    char left[COMEBACK_SERVERS][LINK_RUN_ID_BYTES];
    size_t left_count; /* ever; the newest stand in `left` */
};

/* In every turn in which there is no connection. */
void comeback_lost(struct comeback *comeback);

/* The connection is open, the ledger is ours, and overview was read there. *returned: the server had been left for
 * another one, or was a replica. False: Redis did not answer, err says why; to be called again. */
MUSTCHECK bool comeback_home(struct comeback *comeback, const struct ledger *ledger, struct redis_link *link,
                             const struct reads_overview *overview, int64_t limit_ms, bool *returned,
                             struct errbuf *err);

#endif
