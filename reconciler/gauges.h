/* SPDX-License-Identifier: MIT */
/*
 * gauges: the reconciler's metrics (names: docs/contract.md, section 9).
 */
#ifndef LANDFALL_RECONCILER_GAUGES_H
#define LANDFALL_RECONCILER_GAUGES_H

#include <stdbool.h>
#include <stdint.h>

#include "ledger/reads.h"
#include "runtime/metrics.h"

struct gauges {
    struct metrics *metrics;
    struct metrics_family *deliveries, *outcomes, *walks, *pages, *journal, *oldest, *in_flight, *round_trips, *rounds,
        *errors, *up;
    uint64_t round_trips_told;
};

void gauges_init(struct gauges *g);
void gauges_fini(struct gauges *g);

void gauges_walk(struct gauges *g, const char *channel, const char *result);
void gauges_page(struct gauges *g, const char *channel);
void gauges_outcome(struct gauges *g, const char *channel, const char *outcome, const char *source);
void gauges_round(struct gauges *g, bool answered);
/* Cheap; called in every turn. */
void gauges_update(struct gauges *g, int in_flight, bool redis_up, uint64_t round_trips);
/* Asks the ledger for what only it knows. False: it could not be asked. */
MUSTCHECK bool gauges_ask(struct gauges *g, const struct ledger *ledger, struct redis_link *link, int64_t limit_ms,
                          struct errbuf *err);

#endif
