/* SPDX-License-Identifier: MIT */
/*
 * settle: from the outcome of an attempt to what the ledger writes.
 *
 * The report is never dropped. It is decided about with the row as it is known; if the row has changed meanwhile the
 * ledger answers with it as it is, and the same report is decided about again; if no answer comes the same decision is
 * sent again. The platform is never asked again for an answer that it gave.
 */
#include "worker/spool.h"

#include <stdio.h>
#include <string.h>

#include "core/backoff.h"
#include "runtime/clock.h"
#include "runtime/crash.h"
#include "runtime/log.h"
#include "runtime/random.h"
#include "worker/gauges.h"

#define SETTLE_UNREADABLE_MS 10000 /* somebody's hand is in the row: it is kept until the row can be read */
#define BREAKER_FAILURES     3     /* transport failures in a row that open a channel's breaker */
#define BREAKER_BASE_MS      2000
#define BREAKER_CAP_MS       300000

/* ---- what is told about the channel ---- */

/* Returns what waits to be told now. */
static struct channel_request *tell(struct worker *w, struct lane *lane, struct word *word, enum channel_op op,
                                    const char *text)
{
    struct channel_request *request = word_put(word, lane->channel->name, op, text);
    if (lane->telling) return request;
    lane->telling = true;
    lane->next_telling = w->telling;
    w->telling = lane;
    return request;
}

void settle_pause(struct worker *w, struct lane *lane, const char *why)
{
    (void)tell(w, lane, &lane->pause, CHANNEL_PAUSE, why);
}

void settle_lift(struct worker *w, struct lane *lane, const char *why)
{
    (void)tell(w, lane, &lane->pause, CHANNEL_LIFT, why);
}

/* A platform that cannot be reached is asked by one probe after growing pauses, not by every delivery. */
static void note_health(struct worker *w, struct slot *slot)
{
    struct lane *lane = slot->lane;
    if (slot->transfer_end == TRANSFER_FAILED) {
        lane->healthy = false;
        (void)tell(w, lane, &lane->health, CHANNEL_FAIL, NULL);
    } else if (slot->transfer_end == TRANSFER_ANSWERED && !lane->healthy) {
        lane->healthy = true;
        (void)tell(w, lane, &lane->health, CHANNEL_RECOVER, NULL);
    }
}

void settle_health(struct worker *w, struct lane *lane, int64_t failures)
{
    if (failures < BREAKER_FAILURES) return;
    int64_t wait_ms =
        backoff_ms((int)(failures - BREAKER_FAILURES + 1), BREAKER_BASE_MS, BREAKER_CAP_MS, random_below(UINT32_MAX));
    tell(w, lane, &lane->block, CHANNEL_BLOCK, CHANNEL_BREAKER)->until_ms = ledger_now(w) + wait_ms;
    log_event(LOG_LEVEL_WARN, "channel.breaker", LOG_S("channel", lane->channel->name), LOG_I("failures", failures),
              LOG_I("wait_ms", wait_ms));
}

static void block(struct worker *w, struct lane *lane, const char *why, int64_t until_ms)
{
    struct channel_request *request = tell(w, lane, &lane->block, CHANNEL_BLOCK, why);
    if (request->until_ms < until_ms) request->until_ms = until_ms;
}

static void channel_effects(struct worker *w, struct slot *slot)
{
    struct lane *lane = slot->lane;
    const struct delivery_decision *d = &slot->decision;
    if (d->pause_channel) {
        settle_pause(w, lane, WORKER_PAUSED_BY_CREDENTIAL);
        lane->pause_status = slot->outcome.status;
        lane->pause_why =
            lane->keeper.trouble.kind == KEEPER_REFUSED ? lane->keeper.trouble.why : "the credential was refused";
    }
    if (d->block_until_ms > 0) block(w, lane, slot->outcome.status > 0 ? "rate limit" : "login", d->block_until_ms);
    if (slot->outcome.spent_ms > 0) block(w, lane, "rate limit", ledger_now(w) + slot->outcome.spent_ms);
}

/* ---- deciding ---- */

_Static_assert(CLAIM_TOKEN_BYTES <= sizeof(((struct delivery_input *)0)->token), "a report holds its claim's token");

/* An address that is too long for the row is left out: it is for people. */
static const char *url_of(const struct outcome *o)
{
    return strlen(o->url) < ROW_URL_BYTES ? o->url : "";
}

static void fill_report(struct worker *w, struct slot *slot)
{
    const struct outcome *o = &slot->outcome;
    const struct delivery_policy *p = &slot->lane->channel->policy;
    struct attempt_report *r = &slot->report;
    *r = (struct attempt_report){
        .channel = slot->channel,
        .delivery = slot->delivery,
        .input = {.event = o->kind, .reason = o->reason, .attempt = slot->claim.attempt},
        .ext_id = o->ext_id,
        .url = url_of(o),
        .duplicate = o->duplicate,
        .changed = o->changed,
        .detail = o->detail,
        .status = o->status,
        .run_id = slot->run_id,
        .content_hash = slot->content.hash,
        .key = slot->key,
        .body_hash = slot->body_hash,
        .item = slot->item,
        .item_len = slot->item_len,
        .frozen = slot->frozen,
        .frozen_len = slot->frozen_len,
        .approved_at_ms = slot->approved_at_ms,
    };
    memcpy(r->input.token, slot->token, sizeof slot->token);
    r->input.jitter = random_below(UINT32_MAX);
    int64_t wait_ms = o->wait_ms;
    if (wait_ms == 0 && o->kind == EV_WAIT)
        wait_ms = backoff_ms(slot->claim.attempt, p->backoff_base_ms, p->backoff_cap_ms, r->input.jitter);
    r->input.until_ms = wait_ms > 0 ? ledger_now(w) + wait_ms : 0;
}

static void done(struct worker *w, struct slot *slot, enum delivery_state state)
{
    tally_note(&w->tally, slot->delivery, state);
    spool_settled(w, slot);
    slot_release(w, slot);
}

static void decide(struct worker *w, struct slot *slot)
{
    round_recall(w, slot); /* a note of the request, at the end of the grace time; a decision for another server */
    if (!attempt_report_decide(&slot->report, &slot->row, &slot->lane->channel->policy, ledger_now(w), &slot->decision,
                               &slot->decide)) { /* it stands there already */
        done(w, slot, slot->row.state);
        return;
    }
    channel_effects(w, slot);
    slot_phase_set(slot, SLOT_SETTLE);
}

void settle_review(struct worker *w, struct slot *slot)
{
    if (slot->phase == SLOT_SETTLE && attempt_report_to(&slot->report, link_run_id(w->link))) decide(w, slot);
}

void settle_begin(struct worker *w, struct slot *slot)
{
    fill_report(w, slot);
    (void)!attempt_report_to(&slot->report, link_run_id(w->link));
    gauges_outcome(w->gauges, slot);
    note_health(w, slot);
    decide(w, slot);
}

/* ---- what the ledger says ---- */

static void log_settled(const struct slot *slot)
{
    const struct delivery_decision *d = &slot->decision;
    const struct outcome *o = &slot->outcome;
    if (d->duplicate)
        log_event(LOG_LEVEL_ERROR, "delivery.duplicate", LOG_S("delivery", slot->delivery),
                  LOG_S("kept", slot->row.ext_id[0] != '\0' ? slot->row.ext_id : o->ext_id),
                  LOG_S("other", slot->decide.duplicate_id));
    if (o->changed)
        log_event(LOG_LEVEL_WARN, "delivery.changed", LOG_S("delivery", slot->delivery), LOG_S("ext_id", o->ext_id));
    if (d->alert)
        log_event(LOG_LEVEL_ERROR, "delivery.alert", LOG_S("delivery", slot->delivery),
                  LOG_S("why", "it was rejected and exists"));
    log_event(d->state == DS_REJECTED || d->state == DS_HELD ? LOG_LEVEL_ERROR : LOG_LEVEL_INFO, "delivery.settled",
              LOG_S("delivery", slot->delivery), LOG_S("state", delivery_state_name(d->state)),
              LOG_S("reason", delivery_reason_name(d->reason)), LOG_I("attempt", slot->claim.attempt),
              LOG_S("outcome", delivery_event_name(o->kind)), LOG_I("status", o->status),
              LOG_S("ext_id", o->ext_id[0] != '\0' ? o->ext_id : NULL),
              LOG_S("why", o->kind != EV_COMMITTED && o->detail[0] != '\0' ? o->detail : NULL));
}

static void stale(struct worker *w, struct slot *slot)
{
    slot->row = slot->decide.current.core;
    w->tally.late_reports++;
    decide(w, slot);
}

/* The platform answered with an id that belongs to another delivery: what it means for this one is unknown. */
static void foreign(struct worker *w, struct slot *slot)
{
    log_event(LOG_LEVEL_ERROR, "delivery.foreign_id", LOG_S("delivery", slot->delivery),
              LOG_S("ext_id", slot->outcome.ext_id), LOG_S("owner", slot->decide.other));
    slot->outcome.kind = EV_CONFLICT;
    slot->outcome.ext_id[0] = '\0';
    slot->outcome.url[0] = '\0';
    attempt_report_foreign(&slot->report);
    decide(w, slot);
}

static void again_later(struct slot *slot, int64_t wait_ms)
{
    slot->not_taken = true;
    slot->retry_boot_ms = clock_boottime_ms() + wait_ms;
    slot_phase_set(slot, SLOT_SETTLE);
}

void settle_answered(struct worker *w, struct slot *slot)
{
    struct decide_request *q = &slot->decide;
    if (q->base.result == REQUEST_PENDING || q->base.result == REQUEST_UNKNOWN) {
        slot->not_taken = true;
        return; /* the same again, with the next round */
    }
    if (q->base.result == REQUEST_REFUSED) {
        log_event_limited(LOG_LEVEL_WARN, "ledger.refused", LOG_S("why", q->base.error));
        meters_error(&w->gauges->ledger, q->base.error);
        again_later(slot, ERRORS_RETRY_MS);
        return;
    }
    crash_point("after_settle");
    switch (q->answer) {
    case DECIDE_OK:
        log_settled(slot);
        if (slot->decision.duplicate) meters_duplicate(&w->gauges->ledger, slot->channel);
        done(w, slot, slot->decision.state);
        break;
    case DECIDE_STALE: stale(w, slot); break;
    case DECIDE_FOREIGN: foreign(w, slot); break;
    case DECIDE_ENVIRONMENT:
        work_foreign(w, q->base.error);
        again_later(slot, SETTLE_UNREADABLE_MS);
        break;
    case DECIDE_EARLY:
    case DECIDE_NO_CONTENT:
    case DECIDE_ERROR:
    case DECIDE_ANSWER_COUNT:
        log_event_limited(LOG_LEVEL_ERROR, "delivery.unreadable", LOG_S("delivery", slot->delivery),
                          LOG_S("why", q->base.error));
        again_later(slot, SETTLE_UNREADABLE_MS);
        break;
    }
}
