/* SPDX-License-Identifier: MIT */
/*
 * meters: the metrics of every process that works with the ledger (names: docs/contract.md, section 9).
 *
 * Rounds, their errors and whether Redis answers are counted as they happen; deliveries, breakers, ages and the length
 * of the journal only the ledger knows, so it is asked now and then. The families belong to the process's metrics;
 * what only one program counts stands with that program.
 */
#ifndef LANDFALL_LEDGER_METERS_H
#define LANDFALL_LEDGER_METERS_H

#include <stdbool.h>
#include <stdint.h>

#include "ledger/round.h"
#include "runtime/metrics.h"

struct meters {
    struct metrics_family *deliveries, *breaker, *paused, *oldest, *queue, *journal, *doubted, *duplicates, *rounds,
        *round_trips, *errors, *up;
    uint64_t round_trips_told;
};

/* Registers the families; there is nothing to free. */
void meters_init(struct meters *meters, struct metrics *metrics);

/* A round ran; answered: not lost. */
void meters_round(struct meters *meters, bool answered);
/* Redis answered a request with this error text. */
void meters_error(struct meters *meters, const char *text);
/* Somebody's post stands twice. */
void meters_duplicate(struct meters *meters, const char *channel);
/* Cheap; called in every turn. up: Redis answers, and is ours. */
void meters_update(struct meters *meters, const struct redis_link *link, bool up);
/* Asks the ledger for what only it knows, in a few round trips. False: it could not be asked. */
MUSTCHECK bool meters_ask(struct meters *meters, const struct ledger *ledger, struct redis_link *link, int64_t limit_ms,
                          struct errbuf *err);

#endif
