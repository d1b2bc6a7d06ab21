/* SPDX-License-Identifier: MIT */
/*
 * gauges: the reconciler's metrics (names: docs/contract.md, section 9).
 */
#ifndef LANDFALL_RECONCILER_GAUGES_H
#define LANDFALL_RECONCILER_GAUGES_H

#include "ledger/meters.h"
#include "runtime/metrics.h"

struct gauges {
    struct metrics *metrics;
    struct meters ledger; /* rounds, errors, and what only the ledger knows */
    struct metrics_family *outcomes, *walks, *pages, *in_flight;
};

void gauges_init(struct gauges *g);
void gauges_fini(struct gauges *g);

void gauges_walk(struct gauges *g, const char *channel, const char *result);
void gauges_page(struct gauges *g, const char *channel);
void gauges_outcome(struct gauges *g, const char *channel, const char *outcome, const char *source);

#endif
