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
    struct metrics_family *deliveries, *in_flight, *unsettled, *outcomes, *attempts, *waits, *skipped, *refused,
        *lease_losses, *late_reports, *round_trips, *errors, *rounds, *writes, *breaker, *oldest, *journal, *up;
    double reported[8]; /* counters as they were told last */
};

void gauges_init(struct gauges *g);
void gauges_fini(struct gauges *g);

/* An attempt is over. */
void gauges_outcome(struct gauges *g, const struct slot *slot);
/* A write request has ended, seconds after its start. */
void gauges_attempt(struct gauges *g, const char *channel, double seconds);
/* The ledger wants a delivery to wait. */
void gauges_wait(struct gauges *g, const char *channel, enum delivery_reason reason);
/* A round ran. */
void gauges_round(struct gauges *g, bool answered);
/* Redis answered a request with this error text. */
void gauges_error(struct gauges *g, const char *text);

/* Takes over what the worker has counted since. Cheap; called in every turn that has the time. */
void gauges_update(struct gauges *g, const struct worker *w);
/* Asks the ledger for what only it knows: deliveries by channel and state, breakers, ages, the journal's length. Two
 * round trips. */
void gauges_ask(struct gauges *g, struct worker *w);

#endif
