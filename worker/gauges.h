/* SPDX-License-Identifier: MIT */
/*
 * gauges: the worker's metrics (names: docs/contract.md, section 9).
 */
#ifndef LANDFALL_WORKER_GAUGES_H
#define LANDFALL_WORKER_GAUGES_H

#include "ledger/meters.h"
#include "runtime/metrics.h"
#include "worker/worker.h"

struct gauges {
    struct metrics *metrics;
    struct meters ledger; /* rounds, errors, and what only the ledger knows */
    struct metrics_family *in_flight, *unsettled, *spooled, *outcomes, *attempts, *waits, *skipped, *refused,
        *lease_losses, *late_reports, *writes, *uncopied, *copies_enough;
    double reported[6]; /* counters as they were told last */
};

void gauges_init(struct gauges *g);
void gauges_fini(struct gauges *g);

/* An attempt is over. */
void gauges_outcome(struct gauges *g, const struct slot *slot);
/* A write request has ended, seconds after its start. */
void gauges_attempt(struct gauges *g, const char *channel, double seconds);
/* The ledger wants a delivery to wait. */
void gauges_wait(struct gauges *g, const char *channel, enum delivery_reason reason);

/* Takes over what the worker has counted since. Cheap; called in every turn that has the time. */
void gauges_update(struct gauges *g, const struct worker *w);

#endif
