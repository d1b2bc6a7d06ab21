/* SPDX-License-Identifier: MIT */
/*
 * round: everything that waits for the ledger, in one round trip, while the loop goes on.
 *
 * Settlements, claims and takes travel together, as the transactions of a database share one commit. While one round is
 * under way the next one gathers; it leaves as soon as that one is over, before its last answers are acted upon, so
 * that Redis and this process work at the same time. With many transfers in flight a round waits a few milliseconds for
 * company; with few it goes at once.
 *
 * What is in the round keeps still: a slot's request until its answer was looked at (in_round), a channel's word until
 * it was told. Whoever has to ask something else meanwhile takes the request out (round_recall()), and its answer is
 * read for nobody: the ledger does what it was asked, and what is asked next is answered `stale` where that matters.
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
    return waits && !slot->in_round && slot->retry_boot_ms <= now;
}

struct waiting {
    int count;
    int64_t since_boot_ms; /* the first of them */
};

static void count_slots(const struct worker *w, int64_t now, struct waiting *waiting)
{
    for (int i = 0; i < w->slot_count; i++) {
        const struct slot *slot = &w->slots[i];
        waiting->count += !slot->renewing && prepare_renews(slot, now);
        if (!wants_round(w, slot, now)) continue;
        waiting->count++;
        if (slot->ready_boot_ms < waiting->since_boot_ms) waiting->since_boot_ms = slot->ready_boot_ms;
    }
}

static struct waiting look(const struct worker *w, int64_t now)
{
    struct waiting waiting = {.since_boot_ms = now};
    if (w->take_count > 0 && !w->takes_in_round)
        waiting = (struct waiting){.count = (int)w->take_count, .since_boot_ms = w->takes_since_ms};
    count_slots(w, now, &waiting);
    for (const struct lane *lane = w->telling; lane != NULL; lane = lane->next_telling)
        waiting.count +=
            word_waits(&lane->pause, now) || word_waits(&lane->block, now) || word_waits(&lane->health, now);
    return waiting;
}

static bool is_due(const struct worker *w, int64_t now)
{
    if (!work_connected(w)) return false;
    if (w->leap.due && now >= w->leap.retry_boot_ms && w->lane_count > 0) return true;
    if (round_pending(w->round) > 0) return true; /* did not fit, or goes again with a script's text */
    const struct waiting waiting = look(w, now);
    int in_flight = transfer_in_flight(w->pool);
    int gather_ms = in_flight / 3 < WORKER_GATHER_MS ? in_flight / 3 : WORKER_GATHER_MS;
    bool gathered = waiting.count >= in_flight || waiting.count >= REQUEST_BATCH_MAX;
    return waiting.count > 0 && (gathered || now - waiting.since_boot_ms >= gather_ms);
}

/* ---- what goes in ---- */

static void add_lanes(struct worker *w)
{
    for (struct lane *lane = w->telling; lane != NULL; lane = lane->next_telling) {
        word_add(&lane->pause, w->round);
        word_add(&lane->block, w->round);
        word_add(&lane->health, w->round);
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
        if (!wants_round(w, slot, now)) continue;
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

static void add_takes(struct worker *w)
{
    if (w->takes_in_round) return;
    if (w->stopping) w->take_count = 0; /* what was not asked for yet stays on the agenda */
    w->takes_in_round = w->take_count > 0;
    for (size_t i = 0; i < w->take_count; i++)
        round_take(w->round, &w->takes[i]);
}

/* ---- what comes back ---- */

/* One alert for the fleet, however many requests were refused: by whoever's word it was that closed the channel. */
static void pause_answered(struct lane *lane, int64_t now)
{
    struct channel_request told;
    if (lane->pause.in_round && lane->pause.request.base.result == REQUEST_UNKNOWN) lane->pause_unsure = true;
    if (!word_told(&lane->pause, &told, now) || told.op != CHANNEL_PAUSE) return;
    if (lane->pause_why && (told.value > 0 || lane->pause_unsure))
        log_event(LOG_LEVEL_ERROR, "channel.paused", LOG_S("channel", lane->channel->name),
                  LOG_S("why", lane->pause_why), LOG_I("status", lane->pause_status));
    lane->pause_unsure = false;
    lane->pause_why = NULL;
    lane->pause_status = 0;
}

static void lanes_answered(struct worker *w)
{
    struct channel_request told;
    int64_t now = clock_boottime_ms();
    for (struct lane **at = &w->telling; *at != NULL;) {
        struct lane *lane = *at;
        pause_answered(lane, now);
        (void)word_told(&lane->block, &told, now);
        if (word_told(&lane->health, &told, now) && told.op == CHANNEL_FAIL) settle_health(w, lane, told.value);
        lane->telling = lane->pause.due || lane->block.due || lane->health.due;
        if (lane->telling)
            at = &lane->next_telling;
        else
            *at = lane->next_telling;
    }
}

static void takes_answered(struct worker *w)
{
    if (!w->takes_in_round) return;
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
    w->takes_in_round = false;
}

void round_heed(struct worker *w)
{
    if (!w->round_heard) return;
    w->round_heard = false;
    for (int i = 0; i < w->slot_count; i++) {
        struct slot *slot = &w->slots[i];
        prepare_renewed(w, slot);
        if (slot->renewing || !slot->in_round) continue; /* a request that is kept is written if the lease covers it */
        const struct request *request = slot->phase == SLOT_CLAIM ? &slot->claim.base : &slot->decide.base;
        if (request->result == REQUEST_PENDING) continue;
        slot->in_round = false;
        if (slot->phase == SLOT_SETTLE)
            settle_answered(w, slot);
        else if (slot->phase == SLOT_FREEZE)
            prepare_frozen(w, slot);
        else
            claimed_answered(w, slot);
    }
}

void round_recall(struct worker *w, struct slot *slot)
{
    if (slot->in_round) round_forget(w->round, slot->phase == SLOT_CLAIM ? &slot->claim.base : &slot->decide.base);
    slot->in_round = false;
}

static void check_refusals(struct worker *w)
{
    if (!link_must_stop(w->link)) return;
    log_event(LOG_LEVEL_FATAL, "ledger.stop",
              LOG_S("why", "the server refuses what landfall needs; the line above says what"));
    worker_stop(w, 2);
}

static void over(struct worker *w, bool answered, const struct errbuf *err)
{
    meters_round(&w->gauges->ledger, answered);
    if (!answered) log_event_limited(LOG_LEVEL_WARN, "ledger.lost", LOG_S("why", err->text));
    leap_answered(&w->leap);
    leap_look(&w->leap, link_clock(w->link), w->ledger.longest_window_ms);
    lanes_answered(w);
    takes_answered(w);
    check_refusals(w);
}

/* ---- a round ---- */

void round_begin(struct worker *w)
{
    struct errbuf err = {{0}};
    int64_t now = clock_boottime_ms();
    if (round_under_way(w->round) || !is_due(w, now)) return;
    if (w->lane_count > 0) leap_add(&w->leap, w->round, w->lanes[0].channel->name);
    add_lanes(w);
    add_slots(w, now);
    add_takes(w);
    if (round_send(w->round, w->link, w->config->redis_round_limit_ms, &err)) return;
    w->round_heard = true;
    round_heed(w);
    over(w, false, &err);
}

void round_hear(struct worker *w)
{
    struct errbuf err = {{0}};
    enum round_news news = round_receive(w->round, w->link, &err);
    if (news == ROUND_NOTHING) return;
    w->round_heard = true;
    if (news == ROUND_LOST) round_heed(w); /* there is no next round that could leave first */
    if (news != ROUND_ANSWERS) over(w, news == ROUND_OVER, &err);
}
