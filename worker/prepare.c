/* SPDX-License-Identifier: MIT */
/*
 * prepare: the steps before a write, and the request that is made of what they give.
 *
 * Steps are harmless to repeat, so an attempt that ends among them has done nothing that anybody must look for. What
 * makes them safe is the order: the request that is made with their results goes into the ledger, and only when the
 * ledger has answered that it has it may the write start. So a repeat in doubt sends the same bytes, without steps.
 * While steps run the lease is prolonged; once the write has started never.
 */
#include "worker/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keys/canonical.h"
#include "platforms/program_input.h"
#include "platforms/request.h"
#include "runtime/clock.h"
#include "runtime/crash.h"
#include "runtime/log.h"
#include "worker/gauges.h"

/* Nothing of the write has left. */
static void failed(struct worker *w, struct slot *slot, enum delivery_event kind, const char *why)
{
    memset(&slot->outcome, 0, sizeof slot->outcome);
    slot->outcome.kind = kind;
    snprintf(slot->outcome.detail, sizeof slot->outcome.detail, "%s", why);
    send_advance(w, slot, ATTEMPT_STEP_FAILED);
}

static void broken(struct worker *w, struct slot *slot, const char *why)
{
    log_event_limited(LOG_LEVEL_ERROR, "descriptor.broken", LOG_S("delivery", slot->delivery), LOG_S("why", why));
    failed(w, slot, EV_UNSENDABLE, why);
}

/* ---- steps ---- */

/* Somebody else's server is named by the item: an address that makes no request is the item's mistake. */
static void unasked(struct worker *w, struct slot *slot, const char *why)
{
    if (slot->lane->channel->descriptor->prepare[slot->attempt.step].request.anonymous)
        failed(w, slot, EV_REFUSED, why);
    else
        broken(w, slot, why);
}

static void step_over(struct worker *w, struct slot *slot)
{
    slot->each_at = 0;
    slot->asked = 0;
    send_advance(w, slot, ATTEMPT_STEP_KEPT);
}

static bool start(struct worker *w, struct slot *slot, struct errbuf *err)
{
    struct form form;
    struct http_request request;
    struct channel *c = slot->lane->channel;
    const struct form_fill fill = {&c->credentials, &slot->lane->keeper.session, clock_wall_ms() / 1000, c->descriptor};
    if (!request_render_step(c, slot->attempt.step, slot->each_at, slot->input, &slot->files, &form, err)) return false;
    bool ok = form_fill(&form, &fill, &request, err);
    form_fini(&form);
    if (!ok) return false;
    send_step(w, slot, &request);
    return true;
}

void prepare_step(struct worker *w, struct slot *slot)
{
    struct errbuf err = {{0}};
    bool wanted = false;
    if (clock_boottime_ms() >= slot->deadline_boot_ms)
        send_advance(w, slot, ATTEMPT_TOO_LATE);
    else if (!request_step_wanted(slot->lane->channel, slot->attempt.step, slot->each_at, slot->input, &wanted, &err))
        broken(w, slot, err.text);
    else if (!wanted)
        step_over(w, slot);
    else if (!start(w, slot, &err))
        unasked(w, slot, err.text);
}

/* What the step asks for is still being made: it is asked again, a limited number of times. */
static bool pauses(struct slot *slot, const struct answer *answer)
{
    struct channel *c = slot->lane->channel;
    const struct descriptor_step *step = &c->descriptor->prepare[slot->attempt.step];
    if (slot->asked >= step->again_times || !request_again_step(c, slot->attempt.step, answer, slot->input))
        return false;
    slot->asked++;
    slot->pause_boot_ms = clock_boottime_ms() + step->again_after_ms;
    slot_phase_set(slot, SLOT_PAUSE);
    return true;
}

void prepare_waiting(struct worker *w)
{
    int64_t now = clock_boottime_ms();
    for (int i = 0; i < w->slot_count; i++) {
        struct slot *slot = &w->slots[i];
        if (slot->phase == SLOT_PAUSE && now >= slot->pause_boot_ms) prepare_step(w, slot);
    }
}

void prepare_collect(struct worker *w, struct slot *slot, struct transfer *transfer)
{
    struct errbuf err = {{0}};
    struct channel *c = slot->lane->channel;
    const struct transfer_facts *facts = transfer_facts(transfer);
    const struct answer *answer = transfer_answer(transfer);
    const struct verdict_context context = {
        .input = slot->input, .now_ms = ledger_now(w), .session = channel_has_session(c)};
    bool own = !c->descriptor->prepare[slot->attempt.step].request.anonymous;
    slot->transfer = NULL;
    if (own) slot->transfer_end = facts->complete ? TRANSFER_ANSWERED : TRANSFER_FAILED; /* tells of the platform */
    if (facts->complete && pauses(slot, answer)) return;
    if (facts->complete &&
        request_keep_step(c, slot->attempt.step, slot->each_at, answer, slot->input, &slot->files, &err)) {
        slot->each_at++;
        slot->asked = 0;
        prepare_step(w, slot);
        return;
    }
    verdict_prelude(c, own ? VERDICT_STEP : VERDICT_FETCH, facts, answer, &context, &slot->outcome);
    if (slot->outcome.session_expired) keeper_expired(&slot->lane->keeper, slot->session_count);
    log_event_limited(LOG_LEVEL_WARN, "step.failed", LOG_S("delivery", slot->delivery),
                      LOG_S("step", c->descriptor->prepare[slot->attempt.step].name), LOG_I("status", facts->status),
                      LOG_S("why", facts->complete ? err.text : facts->error));
    send_advance(w, slot, ATTEMPT_STEP_FAILED);
}

/* ---- the request goes to the ledger ---- */

/* The row stays claimed as it is; beside it stand the request and what it was made of. */
static void fill_note(struct slot *slot)
{
    const struct delivery_row *row = &slot->row;
    struct decide_request *q = &slot->decide;
    slot->decision = (struct delivery_decision){
        .verdict = VERDICT_CHANGE,
        .state = row->state,
        .reason = row->reason,
        .place = PLACE_NONE,
        .doubt = row->doubt,
        .tries = row->tries,
        .generation = row->generation,
        .misses = row->misses,
        .missed_at_ms = row->missed_at_ms,
        .waived = row->waived,
    };
    memset(q, 0, sizeof *q);
    q->base.channel = slot->channel;
    q->base.delivery = slot->delivery;
    q->row = row;
    q->decision = &slot->decision;
    q->prepared = slot->prepared;
    q->prepared_len = slot->prepared_len;
    q->frozen = slot->frozen;
    q->frozen_len = slot->frozen_len;
    q->body_hash = slot->body_hash;
    slot_phase_set(slot, SLOT_FREEZE);
}

void prepare_freeze(struct worker *w, struct slot *slot)
{
    struct errbuf err = {{0}};
    crash_point("after_prepare");
    slot->has_form = request_render(slot->lane->channel, slot->input, &slot->form, &err);
    if (!slot->has_form) {
        broken(w, slot, err.text);
    } else if (!request_freeze(&slot->form, &slot->frozen, &slot->frozen_len, slot->body_hash, &err)) {
        failed(w, slot, EV_REFUSED, err.text);
    } else {
        request_files_fini(&slot->files);
        slot->prepared = canonical_write(program_input_get(slot->input, "prepared"), &slot->prepared_len);
        fill_note(slot);
    }
}

static bool still_ours(const struct slot *slot, const struct delivery_row *row)
{
    return row->state == DS_CLAIMED && row->attempt == slot->claim.attempt && strcmp(row->token, slot->token) == 0;
}

static void kept(struct worker *w, struct slot *slot)
{
    copied_mark(w, slot);
    send_advance(w, slot, ATTEMPT_FROZEN);
}

/* The row has changed: by our own note or renewal, whose answer was lost, or the lease is. */
static void stale(struct worker *w, struct slot *slot)
{
    const struct row *now = &slot->decide.current;
    slot->row = now->core;
    if (!still_ours(slot, &slot->row))
        send_advance(w, slot, ATTEMPT_TOO_LATE);
    else if (strcmp(now->body_hash, slot->body_hash) == 0)
        kept(w, slot);
    else
        fill_note(slot);
}

void prepare_frozen(struct worker *w, struct slot *slot)
{
    struct decide_request *q = &slot->decide;
    if (q->base.result == REQUEST_PENDING || q->base.result == REQUEST_UNKNOWN)
        return; /* the same again, with the next round */
    if (q->base.result == REQUEST_REFUSED) {
        meters_error(&w->gauges->ledger, q->base.error);
        slot->retry_boot_ms = clock_boottime_ms() + ERRORS_RETRY_MS;
    } else if (q->answer == DECIDE_OK) {
        if (slot->row.rev < q->rev) slot->row.rev = q->rev; /* a renewal may have come after it */
        kept(w, slot);
    } else if (q->answer == DECIDE_STALE) {
        stale(w, slot);
    } else {
        failed(w, slot, EV_NOT_SENT, q->base.error);
    }
}

/* ---- the lease ---- */

void prepare_lease(struct worker *w, struct slot *slot, int64_t lease_end_ms)
{
    /* The upper bound of the server's time: the lease may end sooner than we think, never later. */
    int64_t now = clock_boottime_ms();
    int64_t left_ms = lease_end_ms - server_clock_latest(link_clock(w->link), now);
    int64_t slack_ms = left_ms - slot->lane->channel->write_limit_ms;
    slot->deadline_boot_ms = now + slack_ms;
    slot->renew_boot_ms = now + (slack_ms / 2 > ERRORS_RETRY_MS ? slack_ms / 2 : ERRORS_RETRY_MS);
}

bool prepare_renews(const struct slot *slot, int64_t now_boot_ms)
{
    bool runs = slot->phase == SLOT_PREPARE || slot->phase == SLOT_PAUSE || slot->phase == SLOT_FREEZE;
    return runs && now_boot_ms >= slot->renew_boot_ms;
}

void prepare_renew(struct worker *w, struct slot *slot)
{
    if (slot->renewing) return;
    slot->renewing = true;
    slot->renew = (struct renew_request){
        .base = {.channel = slot->channel, .delivery = slot->delivery},
        .token = slot->token,
        .policy = &slot->lane->channel->policy,
    };
    round_renew(w->round, &slot->renew);
}

void prepare_renewed(struct worker *w, struct slot *slot)
{
    const struct renew_request *r = &slot->renew;
    if (!slot->renewing || r->base.result == REQUEST_PENDING) return;
    slot->renewing = false;
    slot->renew_boot_ms = clock_boottime_ms() + ERRORS_RETRY_MS;
    if (r->base.result != REQUEST_ANSWERED || r->answer == RENEW_ERROR) {
        log_event_limited(LOG_LEVEL_WARN, "lease.not_renewed", LOG_S("delivery", slot->delivery),
                          LOG_S("why", r->base.error));
    } else if (r->answer == RENEW_LOST) {
        slot->deadline_boot_ms = 0; /* no step is begun any more, and no write */
    } else {
        slot->row.rev = r->rev;
        slot->row.commit_by_ms = r->commit_by_ms;
        prepare_lease(w, slot, r->until_ms);
    }
}
