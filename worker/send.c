/* SPDX-License-Identifier: MIT */
/*
 * send: logins, steps and the write request. The only file of the worker that starts a transfer.
 *
 * A write starts only from send_begin() and its followers, which are called for a slot whose claim the ledger has
 * answered with "granted"; only before the moment until which the lease covers it; only with a form whose frozen bytes
 * the ledger has, from that claim or, where steps came before, from their end; and only when as many copies of that are
 * acknowledged as the configuration asks for (send_write() is called again then).
 */
#include "worker/worker.h"

#include <stdio.h>
#include <string.h>

#include "runtime/clock.h"
#include "runtime/crash.h"
#include "runtime/log.h"
#include "worker/gauges.h"

static void at_point(void *context, enum transfer_point point)
{
    (void)context;
    crash_point(point == TRANSFER_BEFORE_FIRST_BYTE ? "before_first_byte" : "after_last_byte");
}

static bool needs_session(const struct slot *slot)
{
    return channel_has_session(slot->lane->channel);
}

/* Nobody can read this platform back, and it honours no key: not even the connection is trusted to be new by chance. */
static bool blind(const struct delivery_policy *policy)
{
    return !policy->harmless && !policy->can_read && policy->key_window_ms == 0;
}

void send_write(struct worker *w, struct slot *slot)
{
    struct errbuf err = {{0}};
    struct http_request request;
    const struct channel *c = slot->lane->channel;
    const struct form_fill fill = {&c->credentials, &slot->lane->keeper.session, clock_wall_ms() / 1000, c->descriptor};
    if (slot->copied == COPIES_AWAITED) {
        slot_phase_set(slot, SLOT_COPIES);
        return;
    }
    if (slot->copied == COPIES_MISSING || clock_boottime_ms() >= slot->deadline_boot_ms) {
        send_advance(w, slot, slot->copied == COPIES_MISSING ? ATTEMPT_NO_COPIES : ATTEMPT_TOO_LATE);
        return;
    }
    if (!form_fill(&slot->form, &fill, &request, &err)) {
        memset(&slot->outcome, 0, sizeof slot->outcome);
        slot->outcome.kind = EV_NOT_SENT;
        snprintf(slot->outcome.detail, sizeof slot->outcome.detail, "%s", err.text);
        send_advance(w, slot, ATTEMPT_ANSWERED);
        return;
    }
    const struct transfer_options options = {
        .limit_ms = c->write_limit_ms,
        .deadline_boot_ms = slot->deadline_boot_ms,
        .write = true,
        .fresh_connection = blind(&c->policy),
        .owner = slot,
        .at_point = at_point,
    };
    slot->started_boot_ms = clock_boottime_ms();
    slot->session_count = slot->lane->keeper.count;
    slot->transfer = transfer_start(w->pool, &request, &options);
    slot_phase_set(slot, SLOT_SENDING);
}

void send_step(struct worker *w, struct slot *slot, struct http_request *request)
{
    const struct channel *c = slot->lane->channel;
    const struct transfer_options options = {
        .limit_ms = c->write_limit_ms,
        .deadline_boot_ms = slot->deadline_boot_ms,
        .write = true,
        .body_max_bytes = (size_t)c->descriptor->prepare[slot->attempt.step].keep_bytes_max,
        .owner = slot,
    };
    slot->session_count = slot->lane->keeper.count;
    slot->transfer = transfer_start(w->pool, request, &options);
    slot_phase_set(slot, SLOT_PREPARE);
}

/* ---- logins ---- */

/* A login creates nothing: whatever became of it, the write was not sent. */
static void fill_trouble(const struct lane *lane, struct outcome *outcome)
{
    static const enum delivery_event events[] = {
        [KEEPER_REFUSED] = EV_CREDENTIAL, [KEEPER_LATER] = EV_WAIT, [KEEPER_FAILED] = EV_NOT_SENT};
    const struct keeper_trouble *trouble = &lane->keeper.trouble;
    memset(outcome, 0, sizeof *outcome);
    outcome->kind = events[trouble->kind];
    outcome->status = trouble->asked || trouble->kind == KEEPER_REFUSED ? trouble->status : 0;
    outcome->wait_ms = trouble->kind == KEEPER_LATER ? trouble->wait_ms : 0;
    snprintf(outcome->detail, sizeof outcome->detail, "%s", trouble->why);
}

static void login_collect(struct lane *lane, struct transfer *transfer)
{
    if (keeper_take(&lane->keeper, transfer_facts(transfer), transfer_answer(transfer)) != KEEPER_TROUBLE) return;
    lane->login_failed = true;
    fill_trouble(lane, &lane->login_outcome);
}

static void start_login(struct worker *w, struct lane *lane, struct http_request *request)
{
    const struct transfer_options options = {.limit_ms = keeper_limit_ms(&lane->keeper), .owner = lane};
    (void)transfer_start(w->pool, request, &options);
}

static void wait_for_session(struct worker *w, struct slot *slot)
{
    struct http_request request;
    slot_phase_set(slot, SLOT_LOGIN);
    switch (keeper_ask(&slot->lane->keeper, &request)) {
    case KEEPER_READY: send_advance(w, slot, ATTEMPT_SESSION); break;
    case KEEPER_SEND: start_login(w, slot->lane, &request); break;
    case KEEPER_BUSY: break;
    case KEEPER_TROUBLE: /* the channel waits for it, off its slots, or pauses */
        fill_trouble(slot->lane, &slot->outcome);
        send_advance(w, slot, ATTEMPT_LOGIN_FAILED);
        break;
    }
}

void send_waiting(struct worker *w)
{
    int64_t now = clock_boottime_ms();
    for (int i = 0; i < w->slot_count; i++) {
        struct slot *slot = &w->slots[i];
        if (slot->phase != SLOT_LOGIN) continue;
        if (slot->lane->login_failed) {
            slot->outcome = slot->lane->login_outcome;
            send_advance(w, slot, ATTEMPT_LOGIN_FAILED);
        } else if (now >= slot->deadline_boot_ms) {
            send_advance(w, slot, ATTEMPT_TOO_LATE);
        } else {
            wait_for_session(w, slot);
        }
    }
    for (size_t i = 0; i < w->session_lane_count; i++) {
        w->session_lanes[i]->login_failed = false;
        keeper_turn(&w->session_lanes[i]->keeper);
    }
}

/* ---- the attempt ---- */

void send_advance(struct worker *w, struct slot *slot, enum attempt_event event)
{
    switch (attempt_next(&slot->attempt, event, &slot->outcome)) {
    case ATTEMPT_DO_LOGIN: wait_for_session(w, slot); break;
    case ATTEMPT_DO_STEP: prepare_step(w, slot); break;
    case ATTEMPT_DO_FREEZE: prepare_freeze(w, slot); break;
    case ATTEMPT_DO_WRITE: send_write(w, slot); break;
    case ATTEMPT_DO_SETTLE: settle_begin(w, slot); break;
    }
}

void send_begin(struct worker *w, struct slot *slot)
{
    attempt_init(&slot->attempt, needs_session(slot), slot->step, slot->lane->channel->descriptor->prepare_count);
    send_advance(w, slot, ATTEMPT_BEGIN);
}

static void write_collect(struct worker *w, struct slot *slot, struct transfer *transfer)
{
    const struct verdict_context context = {
        .input = slot->input, .now_ms = ledger_now(w), .session = needs_session(slot), .replay = slot->claim.in_doubt};
    const struct transfer_facts *facts = transfer_facts(transfer);
    slot->transfer = NULL;
    slot->transfer_end = facts->complete ? TRANSFER_ANSWERED : TRANSFER_FAILED;
    if (facts->reached) w->tally.writes++;
    gauges_attempt(w->gauges, slot->channel, (double)(clock_boottime_ms() - slot->started_boot_ms) / 1000);
    verdict(slot->lane->channel, facts, transfer_answer(transfer), &context, &slot->outcome);
    if (slot->outcome.session_expired) keeper_expired(&slot->lane->keeper, slot->session_count);
    crash_point("after_answer");
    send_advance(w, slot, ATTEMPT_ANSWERED);
}

void send_give_up(struct worker *w)
{
    for (int i = 0; i < w->slot_count; i++) {
        struct slot *slot = &w->slots[i];
        if (slot->phase == SLOT_SENDING || slot->phase == SLOT_PREPARE)
            transfer_abort(slot->transfer);
        else if (slot->phase == SLOT_LOGIN || slot->phase == SLOT_PAUSE || slot->phase == SLOT_FREEZE ||
                 slot->phase == SLOT_COPIES)
            send_advance(w, slot, ATTEMPT_TOO_LATE);
    }
}

void send_collect(struct worker *w)
{
    struct transfer *transfer;
    while ((transfer = transfer_next_done(w->pool)) != NULL) {
        struct owner *owner = transfer_owner(transfer);
        if (owner->kind == OWNER_LANE)
            login_collect((struct lane *)owner, transfer);
        else if (((struct slot *)owner)->phase == SLOT_PREPARE)
            prepare_collect(w, (struct slot *)owner, transfer);
        else
            write_collect(w, (struct slot *)owner, transfer);
        transfer_free(&transfer);
    }
}
