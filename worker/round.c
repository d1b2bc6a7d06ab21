/* SPDX-License-Identifier: MIT */
/*
 * round: everything that waits for the ledger, in one round trip.
 *
 * Settlements, claims and takes of a turn travel together, as the transactions of a database share one commit. While
 * many transfers are in flight a round waits a few milliseconds for company; with few it goes at once.
 */
#include "worker/worker.h"

#include <stdio.h>

#include "runtime/clock.h"
#include "runtime/crash.h"
#include "runtime/log.h"
#include "worker/gauges.h"

static bool wants_round(const struct worker *w, const struct slot *slot, int64_t now)
{
    bool waits = slot->phase == SLOT_SETTLE || slot->phase == SLOT_FREEZE ||
                 (slot->phase == SLOT_CLAIM && ((!w->stopping && copies_open(w->copies)) || slot->claim_sent));
    return waits && slot->retry_boot_ms <= now;
}

static bool lane_waits(const struct lane *lane)
{
    return lane->pause_due || lane->block_due || lane->health_due;
}

bool round_due(const struct worker *w, int64_t now)
{
    int waiting = (int)w->take_count;
    int64_t oldest = w->take_count > 0 ? w->takes_since_ms : now;
    int in_flight = transfer_in_flight(w->pool);
    if (!work_connected(w)) return false;
    if (w->leap.due && w->lane_count > 0) return true;
    for (int i = 0; i < w->slot_count; i++) {
        const struct slot *slot = &w->slots[i];
        waiting += prepare_renews(slot, now);
        if (!wants_round(w, slot, now)) continue;
        waiting++;
        if (slot->ready_boot_ms < oldest) oldest = slot->ready_boot_ms;
    }
    for (const struct lane *lane = w->telling; lane != NULL; lane = lane->next_telling)
        waiting += lane_waits(lane);
    int gather_ms = in_flight / 3 < WORKER_GATHER_MS ? in_flight / 3 : WORKER_GATHER_MS;
    return waiting > 0 && (waiting >= in_flight || waiting >= REQUEST_BATCH_MAX || now - oldest >= gather_ms);
}

/* ---- what goes in ---- */

static void add_lanes(struct worker *w)
{
    for (struct lane *lane = w->telling; lane != NULL; lane = lane->next_telling) {
        if (lane->pause_due) round_channel(w->round, &lane->pause);
        if (lane->block_due) round_channel(w->round, &lane->block);
        if (lane->health_due) round_channel(w->round, &lane->health);
    }
}

static void add_slots(struct worker *w, int64_t now)
{
    bool settles = false;
    bool claims = false;
    for (int i = 0; i < w->slot_count; i++) {
        struct slot *slot = &w->slots[i];
        if (prepare_renews(slot, now)) prepare_renew(w, slot);
        settle_review(w, slot);
        if (slot->in_round || !wants_round(w, slot, now)) continue;
        slot->in_round = true;
        if (slot->phase != SLOT_CLAIM) {
            settles = settles || slot->phase == SLOT_SETTLE;
            round_settle(w->round, &slot->decide);
        } else {
            claims = true;
            slot->claim_sent = true;
            if (slot->run_id[0] == '\0') snprintf(slot->run_id, sizeof slot->run_id, "%s", link_run_id(w->link));
            round_claim(w->round, &slot->claim);
        }
    }
    if (claims) crash_point("before_claim");
    if (settles) crash_point("before_settle");
}

/* ---- what comes back ---- */

/* True if the ledger knows of it now; what it refused or did not answer is told again. */
static bool told(bool *due, const struct channel_request *request)
{
    if (!*due || request->base.result != REQUEST_ANSWERED) return false;
    *due = false;
    return true;
}

/* One alert for the fleet, however many requests were refused: by whoever's word it was that closed the channel. */
static void pause_answered(struct lane *lane)
{
    const struct channel_request *pause = &lane->pause;
    if (lane->pause_due && pause->base.result == REQUEST_UNKNOWN) lane->pause_unsure = true;
    if (!told(&lane->pause_due, pause)) return;
    if (lane->pause_why && (pause->value > 0 || lane->pause_unsure))
        log_event(LOG_LEVEL_ERROR, "channel.paused", LOG_S("channel", lane->channel->name),
                  LOG_S("why", lane->pause_why), LOG_I("status", lane->pause_status));
    lane->pause_unsure = false;
    lane->pause_why = NULL;
    lane->pause_status = 0;
}

static void lanes_answered(struct worker *w)
{
    for (struct lane **at = &w->telling; *at != NULL;) {
        struct lane *lane = *at;
        pause_answered(lane);
        (void)told(&lane->block_due, &lane->block);
        if (told(&lane->health_due, &lane->health) && lane->health.op == CHANNEL_FAIL)
            settle_health(w, lane, lane->health.value);
        lane->telling = lane_waits(lane);
        if (lane->telling)
            at = &lane->next_telling;
        else
            *at = lane->next_telling;
    }
}

static void takes_answered(struct worker *w)
{
    for (size_t i = 0; i < w->take_count; i++) {
        struct take_request *take = &w->takes[i];
        if (take->base.result == REQUEST_ANSWERED && take->answer == TAKE_WORK) {
            if (!w->stopping) intake_taken(w, take); /* else it is due again in 30 s */
        } else if (take->base.result == REQUEST_ANSWERED && take->answer == TAKE_UNCERTAIN) {
            w->tally.lease_losses++;
            tally_note(&w->tally, take->base.delivery, DS_UNCERTAIN);
            log_event(LOG_LEVEL_WARN, "delivery.lease_lost", LOG_S("delivery", take->base.delivery));
        } else if (take->base.result == REQUEST_ANSWERED && take->answer == TAKE_HELD) {
            tally_note(&w->tally, take->base.delivery, DS_HELD);
            log_event(LOG_LEVEL_ERROR, "delivery.held", LOG_S("delivery", take->base.delivery),
                      LOG_S("reason", delivery_reason_name(take->reason)));
        } else if (take->base.result == REQUEST_ANSWERED && take->answer == TAKE_ERROR) {
            log_event_limited(LOG_LEVEL_ERROR, "delivery.unreadable", LOG_S("delivery", take->base.delivery),
                              LOG_S("why", take->base.error));
        }
        round_forget(w->round, &take->base);
        take_fini(take);
    }
    w->take_count = 0; /* what had no answer is on the agenda still, or comes again in 30 s */
}

static void slots_answered(struct worker *w)
{
    for (int i = 0; i < w->slot_count; i++) {
        struct slot *slot = &w->slots[i];
        prepare_renewed(w, slot); /* first: a request that is kept now is written at once, if the lease covers it */
        if (!slot->in_round) continue;
        const struct request *request = slot->phase == SLOT_CLAIM ? &slot->claim.base : &slot->decide.base;
        if (request->result == REQUEST_PENDING) continue; /* it did not fit and is in the next one */
        slot->in_round = false;
        if (slot->phase == SLOT_SETTLE)
            settle_answered(w, slot);
        else if (slot->phase == SLOT_FREEZE)
            prepare_frozen(w, slot);
        else
            claimed_answered(w, slot);
    }
}

static void check_refusals(struct worker *w)
{
    if (!link_must_stop(w->link)) return;
    log_event(LOG_LEVEL_FATAL, "ledger.stop",
              LOG_S("why", "the server refuses what landfall needs; the line above says what"));
    worker_stop(w, 2);
}

void round_turn(struct worker *w)
{
    struct errbuf err = {{0}};
    if (w->stopping) w->take_count = 0; /* what was not asked for yet stays on the agenda */
    if (w->lane_count > 0) leap_add(&w->leap, w->round, w->lanes[0].channel->name);
    add_lanes(w);
    add_slots(w, clock_boottime_ms());
    for (size_t i = 0; i < w->take_count; i++)
        round_take(w->round, &w->takes[i]);
    bool answered = round_run(w->round, w->link, w->config->redis_round_limit_ms, &err);
    meters_round(&w->gauges->ledger, answered);
    if (!answered) log_event_limited(LOG_LEVEL_WARN, "ledger.lost", LOG_S("why", err.text));
    leap_answered(&w->leap);
    leap_look(&w->leap, link_clock(w->link), w->ledger.longest_window_ms);
    lanes_answered(w);
    slots_answered(w);
    takes_answered(w);
    check_refusals(w);
}
