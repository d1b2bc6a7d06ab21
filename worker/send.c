/* SPDX-License-Identifier: MIT */
/*
 * send: logins, steps and the write request. The only file of the worker that starts a transfer.
 *
 * A write starts only from send_begin() and its followers, which are called for a slot whose claim the ledger has
 * answered with "granted"; only before the moment until which the lease covers it; and only with a form whose frozen
 * bytes the ledger has, from that claim or, where steps came before, from their end.
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
    return slot->lane->channel->descriptor->auth == AUTH_SESSION;
}

/* Nobody can read this platform back, and it honours no key: not even the connection is trusted to be new by chance. */
static bool blind(const struct delivery_policy *policy)
{
    return !policy->harmless && !policy->can_read && policy->key_window_ms == 0;
}

static void start_write(struct worker *w, struct slot *slot)
{
    struct errbuf err = {{0}};
    struct http_request request;
    const struct channel *c = slot->lane->channel;
    const struct form_fill fill = {&c->credentials, &slot->lane->session, clock_wall_ms() / 1000, c->descriptor};
    if (clock_boottime_ms() >= slot->deadline_boot_ms) {
        send_advance(w, slot, ATTEMPT_TOO_LATE);
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
    slot->transfer = transfer_start(w->pool, &request, &options);
    slot_phase_set(slot, SLOT_SENDING);
    http_request_fini(&request);
}

void send_step(struct worker *w, struct slot *slot, const struct http_request *request)
{
    const struct channel *c = slot->lane->channel;
    const struct transfer_options options = {
        .limit_ms = c->write_limit_ms,
        .deadline_boot_ms = slot->deadline_boot_ms,
        .write = true,
        .body_max_bytes = (size_t)c->descriptor->prepare[slot->attempt.step].keep_bytes_max,
        .owner = slot,
    };
    slot->transfer = transfer_start(w->pool, request, &options);
    slot_phase_set(slot, SLOT_PREPARE);
}

/* ---- logins ---- */

static void start_login(struct worker *w, struct lane *lane)
{
    struct errbuf err = {{0}};
    struct form form;
    struct http_request request;
    struct channel *c = lane->channel;
    const struct form_fill fill = {&c->credentials, NULL, clock_wall_ms() / 1000, c->descriptor};
    if (!auth_login_form(c, DESCRIPTOR_WRITE, &form, &err)) {
        session_login_failed(&lane->session, 0, clock_boottime_ms());
        log_event_limited(LOG_LEVEL_ERROR, "login.broken", LOG_S("channel", c->name), LOG_S("why", err.text));
        return;
    }
    if (form_fill(&form, &fill, &request, &err)) {
        const struct transfer_options options = {.limit_ms = c->descriptor->login_limit_ms, .owner = lane};
        session_login_begun(&lane->session);
        (void)transfer_start(w->pool, &request, &options);
        http_request_fini(&request);
    } else {
        session_login_failed(&lane->session, 0, clock_boottime_ms());
        log_event_limited(LOG_LEVEL_ERROR, "login.broken", LOG_S("channel", c->name), LOG_S("why", err.text));
    }
    form_fini(&form);
}

static int64_t login_pause_ms(const struct lane *lane, int64_t now_boot_ms)
{
    int64_t pause_ms = lane->session.not_before_boot_ms - now_boot_ms;
    return pause_ms > 0 ? pause_ms : 1;
}

static void login_collect(struct worker *w, struct lane *lane, struct transfer *transfer)
{
    struct errbuf err = {{0}};
    const struct transfer_facts *facts = transfer_facts(transfer);
    const struct answer *answer = transfer_answer(transfer);
    const struct verdict_context context = {.now_ms = ledger_now(w)};
    int64_t now = clock_boottime_ms();
    verdict_prelude(lane->channel, VERDICT_LOGIN, facts, answer, &context, &lane->login_outcome);
    int64_t wait_ms = lane->login_outcome.wait_ms;
    if (!facts->complete)
        session_login_failed(&lane->session, wait_ms, now);
    else if (auth_take_session(lane->channel, DESCRIPTOR_WRITE, answer, wait_ms, now, &lane->session, &err))
        return;
    lane->login_failed = true;
    if (lane->login_outcome.kind == EV_WAIT) lane->login_outcome.wait_ms = login_pause_ms(lane, now);
    log_event_limited(LOG_LEVEL_WARN, "login.failed", LOG_S("channel", lane->channel->name),
                      LOG_I("status", facts->status), LOG_S("why", facts->complete ? err.text : facts->error));
}

/* The next login may only be tried later. The whole channel waits for it, off its slots. */
static void login_later(struct worker *w, struct slot *slot)
{
    memset(&slot->outcome, 0, sizeof slot->outcome);
    slot->outcome.kind = EV_WAIT;
    slot->outcome.wait_ms = login_pause_ms(slot->lane, clock_boottime_ms());
    snprintf(slot->outcome.detail, sizeof slot->outcome.detail, "the last login failed, the next is tried later");
    send_advance(w, slot, ATTEMPT_LOGIN_FAILED);
}

static void wait_for_session(struct worker *w, struct slot *slot)
{
    const struct session *session = &slot->lane->session;
    slot_phase_set(slot, SLOT_LOGIN);
    switch (session_state(slot->lane->channel, session, clock_boottime_ms())) {
    case SESSION_NOT_NEEDED:
    case SESSION_READY: send_advance(w, slot, ATTEMPT_SESSION); break;
    case SESSION_LOGIN: start_login(w, slot->lane); break;
    case SESSION_WAIT:
        if (!session->login_in_flight && !slot->lane->login_failed) login_later(w, slot);
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
    for (size_t i = 0; i < w->lane_count; i++)
        w->lanes[i].login_failed = false;
}

/* ---- the attempt ---- */

void send_advance(struct worker *w, struct slot *slot, enum attempt_event event)
{
    switch (attempt_next(&slot->attempt, event, &slot->outcome)) {
    case ATTEMPT_DO_LOGIN: wait_for_session(w, slot); break;
    case ATTEMPT_DO_STEP: prepare_step(w, slot); break;
    case ATTEMPT_DO_FREEZE: prepare_freeze(w, slot); break;
    case ATTEMPT_DO_WRITE: start_write(w, slot); break;
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
    if (slot->outcome.session_expired) session_drop(&slot->lane->session);
    crash_point("after_answer");
    send_advance(w, slot, ATTEMPT_ANSWERED);
}

void send_give_up(struct worker *w)
{
    for (int i = 0; i < w->slot_count; i++) {
        struct slot *slot = &w->slots[i];
        if (slot->phase == SLOT_SENDING || slot->phase == SLOT_PREPARE)
            transfer_abort(slot->transfer);
        else if (slot->phase == SLOT_LOGIN || slot->phase == SLOT_FREEZE)
            send_advance(w, slot, ATTEMPT_TOO_LATE);
    }
}

void send_collect(struct worker *w)
{
    struct transfer *transfer;
    while ((transfer = transfer_next_done(w->pool)) != NULL) {
        struct owner *owner = transfer_owner(transfer);
        if (owner->kind == OWNER_LANE)
            login_collect(w, (struct lane *)owner, transfer);
        else if (((struct slot *)owner)->phase == SLOT_PREPARE)
            prepare_collect(w, (struct slot *)owner, transfer);
        else
            write_collect(w, (struct slot *)owner, transfer);
        transfer_free(&transfer);
    }
}
