/* SPDX-License-Identifier: MIT */
/*
 * inventory: the names of all deliveries that have a row, or a lease. Reads only.
 *
 * There is no set of all deliveries, so the keys are looked through with SCAN, a few thousand in a round trip: what was
 * there all the time is in the list, what came or went meanwhile may be.
 */
#ifndef LANDFALL_LEDGER_INVENTORY_H
#define LANDFALL_LEDGER_INVENTORY_H

#include "ledger/round.h"

/* kind: NAMES_DELIVERY or NAMES_LEASE. channel NULL: of all channels. *own_names is sorted by bytes, each name once,
 * and freed with inventory_free(); keys whose name is no delivery's are left out. limit_ms: of one round trip. */
MUSTCHECK bool inventory_read(const struct ledger *ledger, struct redis_link *link, enum names_kind kind,
                              const char *channel, char ***own_names, size_t *count, int64_t limit_ms,
                              struct errbuf *err);
void inventory_free(char ***names, size_t count);

#endif
