/* SPDX-License-Identifier: MIT */
/*
 * gauges: the worker's metrics (names: docs/contract.md, section 9).
 */
#ifndef LANDFALL_WORKER_GAUGES_H
#define LANDFALL_WORKER_GAUGES_H

#include "runtime/metrics.h"
#include "worker/worker.h"

struct gauges {
    struct metrics *metrics;
    struct metrics_family *deliveries, *in_flight, *unsettled, *skipped, *refused, *lease_losses, *late_reports,
        *round_trips, *errors, *rounds, *journal, *up;
    double reported[8]; /* counters as they were told last */
};

void gauges_init(struct gauges *g);
void gauges_fini(struct gauges *g);
/* Takes over what the worker has counted since. Cheap; called in every turn that has the time. */
void gauges_update(struct gauges *g, const struct worker *w);
/* Asks the ledger for what only it knows: deliveries by channel and state, the journal's length. A round trip. */
void gauges_ask(struct gauges *g, struct worker *w);

#endif
