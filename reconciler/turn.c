/* SPDX-License-Identifier: MIT */
/*
 * turn: everything that waits for the ledger, in one round trip.
 */
#include "reconciler/reconciler.h"

#include "platforms/channel.h"
#include "runtime/clock.h"
#include "runtime/log.h"

static bool is_due(const struct reconciler *r, int64_t now)
{
    if (r->leap.due && r->lane_count > 0) return true;
    for (size_t i = 0; i < RECONCILER_WALKS_MAX; i++)
        if (walk_wants_round(&r->walks[i], now)) return true;
    return false;
}

void turn_round(struct reconciler *r)
{
    struct errbuf err = {{0}};
    if (r->dry_run) return; /* there is no other way to the ledger */
    if (!link_is_open(r->link) || !is_due(r, clock_boottime_ms())) return;
    if (r->lane_count > 0) leap_add(&r->leap, r->round, r->lanes[0].channel->name);
    for (size_t i = 0; i < RECONCILER_WALKS_MAX; i++)
        walk_add(r, &r->walks[i]);
    const bool answered = round_run(r->round, r->link, r->config->redis_round_limit_ms, &err);
    meters_round(&r->gauges.ledger, answered);
    if (!answered) log_event_limited(LOG_LEVEL_WARN, "ledger.lost", LOG_S("why", err.text));
    leap_answered(&r->leap);
    for (size_t i = 0; i < RECONCILER_WALKS_MAX; i++)
        walk_answered(r, &r->walks[i]);
    if (!link_must_stop(r->link)) return;
    log_event(LOG_LEVEL_FATAL, "ledger.stop", LOG_S("why", err.text));
    reconciler_stop(r, 2);
}
