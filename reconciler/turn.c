/* SPDX-License-Identifier: MIT */
/*
 * turn: everything that waits for the ledger, in one round trip.
 */
#include "reconciler/reconciler.h"

#include "runtime/clock.h"
#include "runtime/log.h"

static bool is_due(const struct reconciler *r, int64_t now)
{
    if (r->leap_due) return true;
    for (size_t i = 0; i < RECONCILER_WALKS_MAX; i++)
        if (walk_wants_round(&r->walks[i], now)) return true;
    return false;
}

void turn_round(struct reconciler *r)
{
    struct errbuf err = {{0}};
    if (r->dry_run) return; /* there is no other way to the ledger */
    if (!link_is_open(r->link) || !is_due(r, clock_boottime_ms())) return;
    if (r->leap_due && !r->leap_in_round) round_channel(r->round, &r->leap);
    r->leap_in_round = r->leap_due;
    for (size_t i = 0; i < RECONCILER_WALKS_MAX; i++)
        walk_add(r, &r->walks[i]);
    const bool answered = round_run(r->round, r->link, r->config->redis_round_limit_ms, &err);
    meters_round(&r->gauges.ledger, answered);
    if (!answered) log_event_limited(LOG_LEVEL_WARN, "ledger.lost", LOG_S("why", err.text));
    if (r->leap_in_round && r->leap.base.result != REQUEST_PENDING) {
        r->leap_in_round = false;
        r->leap_due = r->leap.base.result != REQUEST_ANSWERED;
    }
    for (size_t i = 0; i < RECONCILER_WALKS_MAX; i++)
        walk_answered(r, &r->walks[i]);
    if (!link_must_stop(r->link)) return;
    log_event(LOG_LEVEL_FATAL, "ledger.stop", LOG_S("why", err.text));
    reconciler_stop(r, 2);
}
