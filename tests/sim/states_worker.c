/* SPDX-License-Identifier: MIT */
/*
 * A worker's steps: a delivery from the queue or the agenda, the claim, the write, the report. What it asks the ledger
 * and what it decides are the real calls; that it sends after "granted" only, and until the lease's end less the
 * write's time limit, is what worker/send.c does.
 *
 * A process that stands still is one whose step is not made while time passes; an answer that is late is the same.
 */
#include "tests/sim/states.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/agenda.h"
#include "ledger/attempt_report.h"
#include "runtime/die.h"

#define ROUND_MS 3000
#define CONTENT  "00000000000000000000000000000000"

/* ---- which steps there are ---- */

/* What an answer may say of a write that was not executed, or that nobody can tell about. */
static void add_answers(struct states_steps *steps, int who)
{
    static const enum delivery_event events[] = {EV_REFUSED, EV_NOT_COMMITTED, EV_WAIT};
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        struct states_step *step = states_add_fault(steps, STEP_TURNED_DOWN, who);
        if (step != NULL) step->event = events[i];
    }
}

/* The platform executes another request with its key. */
static void add_conflict(struct states_steps *steps, int who)
{
    struct states_step *step = states_add(steps, STEP_TURNED_DOWN, who, 10);
    if (step != NULL) step->event = EV_CONFLICT;
}

static void add_sending(const struct state *s, int who, struct states_steps *steps)
{
    const struct states_request *r = &s->platform.request[states_platform_of(s, who)];
    if (r->stage == STATES_COMMITTED) {
        (void)states_add(steps, STEP_HEAR, who, 10);
    } else if (r->stage == STATES_SENT || r->stage == STATES_OVER) {
        add_answers(steps, who);
    }
    if (states.of.keys == STATES_KEYS_AT_START && r->stage == STATES_SENT && states_platform_executes(s, r->key))
        add_conflict(steps, who);
    (void)states_add(steps, STEP_GIVE_UP, who, s->now >= s->worker[who].limit ? 11 : 0);
}

void states_worker_steps(const struct state *s, int who, struct states_steps *steps)
{
    const struct states_worker *w = &s->worker[who];
    const struct states_row *row = states_redis_row(s->redis);
    switch (w->phase) {
    case STATES_IDLE:
        if (row->queued) (void)states_add(steps, STEP_READ_ENTRY, who, 40);
        if (row->next_ms > 0 && row->next_ms <= states_ms(s->now)) (void)states_add(steps, STEP_TAKE, who, 41);
        return;
    case STATES_CLAIMING:
        (void)states_add(steps, STEP_CLAIM, who, 10);
        (void)states_add_fault(steps, STEP_CLAIM_UNHEARD, who);
        break;
    case STATES_GRANTED:
        if (states_ms(s->now) <= w->deadline_ms) {
            (void)states_add(steps, STEP_SEND, who, 10);
            (void)states_add_fault(steps, STEP_SEND_NOTHING, who);
        } else {
            (void)states_add(steps, STEP_SEND_NOTHING, who, 10);
        }
        break;
    case STATES_SENDING: add_sending(s, who, steps); break;
    case STATES_REPORTING:
        (void)states_add(steps, STEP_SETTLE, who, 10);
        (void)states_add_fault(steps, STEP_SETTLE_UNHEARD, who);
        break;
    }
    (void)states_add_fault(steps, STEP_CRASH, who);
}

/* ---- taking ---- */

/* Sixteen digits that nobody has: a number that is free again names another attempt, so that what has been is
 * forgotten. */
static void draw_token(const struct state *s, char out[CLAIM_TOKEN_BYTES])
{
    for (unsigned char number = 1;; number++) {
        snprintf(out, CLAIM_TOKEN_BYTES, "%08u%08u", number, number);
        bool taken = strcmp(states_redis_row(s->redis)->core.token, out) == 0;
        for (int i = 0; i < STATES_WORKERS; i++)
            taken = taken || strcmp(s->worker[i].token, out) == 0;
        if (!taken) return;
    }
}

static void begin_claim(struct state *s, int who, bool from_entry, int64_t approved_at_ms, int generation)
{
    struct states_worker *w = &s->worker[who];
    char token[CLAIM_TOKEN_BYTES];
    draw_token(s, token);
    *w = (struct states_worker){
        .phase = STATES_CLAIMING, .from_entry = from_entry, .approved_at_ms = approved_at_ms, .generation = generation};
    memcpy(w->token, token, sizeof token);
}

static int one(const char *channel, void *arg)
{
    (void)channel;
    (void)arg;
    return 1;
}

static void take(struct state *s, int who)
{
    struct errbuf err = {{0}};
    struct agenda_due due;
    const struct take_channel channel = {.name = STATES_CHANNEL,
                                         .room = 1,
                                         .late_commit_ms = states.of.policy.late_commit_ms,
                                         .harmless = states.of.policy.harmless,
                                         .burst = 1};
    states_redis_enter(s);
    if (!agenda_read(&states_ledger, states_link, states_ms(s->now), 1, one, NULL, &due, ROUND_MS, &err))
        die("states: %s", err.text);
    for (size_t i = 0; i < due.count; i++) {
        const struct agenda_item *item = &due.item[i];
        struct take_request request = {
            .base = {.channel = STATES_CHANNEL, .delivery = item->delivery[0] != '\0' ? item->delivery : NULL},
            .channel = &channel,
            .waiting = item->waiting,
            .score_ms = item->score_ms};
        round_take(states_round, &request);
        states_redis_round();
        if (request.base.result != REQUEST_ANSWERED || request.answer == TAKE_ERROR)
            die("states: take: %s", request.base.error);
        if (request.answer == TAKE_WORK) begin_claim(s, who, false, request.approved_at_ms, request.generation);
        take_fini(&request);
    }
    states_redis_leave(s);
}

/* ---- the claim ---- */

static void key_of(int generation, char out[KEY_BYTES])
{
    snprintf(out, KEY_BYTES, "key-%d", generation);
}

static void granted(struct state *s, int who, const struct claim_request *q)
{
    struct states_worker *w = &s->worker[who];
    bool frozen = q->in_doubt && q->answer_frozen.bytes != NULL;
    w->phase = STATES_GRANTED;
    w->attempt = q->attempt;
    w->row = q->row;
    w->deadline_ms = q->lease_end_ms - states.write_limit * states.unit_ms;
    w->key = frozen ? (int)strtol(q->answer_key + strlen("key-"), NULL, 10) : w->generation;
}

static void answered(struct state *s, int who, const struct claim_request *q)
{
    struct states_worker *w = &s->worker[who];
    switch (q->answer) {
    case CLAIM_GRANTED: granted(s, who, q); break;
    case CLAIM_RERENDER: begin_claim(s, who, w->from_entry, q->approved_at_wanted_ms, q->generation_wanted); break;
    case CLAIM_ALREADY:
    case CLAIM_BUSY:
    case CLAIM_WAIT:
    case CLAIM_UNCERTAIN:
    case CLAIM_HELD: *w = (struct states_worker){.phase = STATES_IDLE}; break;
    case CLAIM_CONFLICT:
    case CLAIM_LATE:
    case CLAIM_NO_CONTENT:
    case CLAIM_ENVIRONMENT:
    case CLAIM_ERROR:
    case CLAIM_ANSWER_COUNT: states_fail("a claim is answered with %d: %s", q->answer, q->base.error); break;
    }
}

static void claim(struct state *s, int who, bool heard)
{
    struct states_worker *w = &s->worker[who];
    char entry[32], key[KEY_BYTES], frozen[32];
    bool has_key = states.of.keys != STATES_NO_KEYS;
    snprintf(entry, sizeof entry, "%lld-0", (long long)states_ms(0));
    key_of(w->generation, key);
    snprintf(frozen, sizeof frozen, "frozen-%d", w->generation);
    struct claim_request q = {.base = {.channel = STATES_CHANNEL, .delivery = STATES_DELIVERY},
                              .entry = w->from_entry ? entry : NULL,
                              .token = w->token,
                              .content_hash = CONTENT,
                              .approved_at_ms = w->approved_at_ms,
                              .generation = w->generation,
                              .key = has_key ? key : NULL,
                              .body_hash = CONTENT,
                              .frozen = frozen,
                              .frozen_len = strlen(frozen),
                              .policy = &states.of.policy,
                              .burst = 1};
    states_redis_enter(s);
    round_claim(states_round, &q);
    states_redis_round();
    if (q.base.result != REQUEST_ANSWERED) die("states: claim: %s", q.base.error);
    if (heard) answered(s, who, &q);
    claim_fini(&q);
    states_redis_leave(s);
}

/* ---- the report ---- */

static void begin_report(struct state *s, int who, enum delivery_event event, int post)
{
    struct states_worker *w = &s->worker[who];
    w->phase = STATES_REPORTING;
    w->event = event;
    w->post = post;
    w->decided_ms = states_ms(s->now);
}

/* With the row as it is known; what is decided again comes out the same. False: there is nothing to tell. */
static bool decide(const struct state *s, int who, char id[16], struct attempt_report *report,
                   struct delivery_decision *decision, struct decide_request *request)
{
    const struct states_worker *w = &s->worker[who];
    bool names = w->event == EV_COMMITTED && states.of.policy.gives_id;
    id[0] = '\0';
    if (names) snprintf(id, 16, "p%d", w->post);
    *report = (struct attempt_report){
        .channel = STATES_CHANNEL,
        .delivery = STATES_DELIVERY,
        .input = {.event = w->event,
                  .attempt = w->attempt,
                  .until_ms = w->event == EV_WAIT ? w->decided_ms + states.unit_ms : 0},
        .ext_id = id,
        .url = "",
        .duplicate = "",
        .detail = "",
    };
    memcpy(report->input.token, w->token, sizeof w->token);
    return attempt_report_decide(report, &w->row, &states.of.policy, w->decided_ms, decision, request);
}

struct delivery_decision states_worker_decision(const struct state *s, int who)
{
    char id[16];
    struct attempt_report report;
    struct delivery_decision decision;
    struct decide_request request;
    (void)!decide(s, who, id, &report, &decision, &request);
    return decision;
}

static void end_if_told(struct state *s, int who)
{
    if (states_worker_decision(s, who).verdict != VERDICT_CHANGE)
        s->worker[who] = (struct states_worker){.phase = STATES_IDLE};
}

static void settle(struct state *s, int who, bool heard)
{
    struct states_worker *w = &s->worker[who];
    char id[16];
    struct attempt_report report;
    struct delivery_decision decision;
    struct decide_request request;
    if (!decide(s, who, id, &report, &decision, &request)) die("states: a report without a decision");
    states_redis_enter(s);
    round_settle(states_round, &request);
    states_redis_round();
    if (request.base.result != REQUEST_ANSWERED) die("states: settle: %s", request.base.error);
    states_redis_leave(s);
    if (!heard) return;
    if (request.answer == DECIDE_OK) {
        *w = (struct states_worker){.phase = STATES_IDLE};
    } else if (request.answer == DECIDE_STALE) {
        w->row = request.current.core;
        w->decided_ms = states_ms(s->now);
        end_if_told(s, who);
    } else {
        states_fail("a settlement is answered with %d: %s", request.answer, request.base.error);
    }
}

/* ---- steps ---- */

static void over(struct state *s, int who, enum delivery_event event, int post)
{
    if (event == EV_UNKNOWN)
        states_platform_forget(s, who, true);
    else
        states_platform_answered(s, who);
    begin_report(s, who, event, post);
    end_if_told(s, who);
}

void states_worker_make(struct state *s, const struct states_step *step)
{
    const int who = step->who;
    struct states_worker *w = &s->worker[who];
    switch ((int)step->kind) {
    case STEP_READ_ENTRY: begin_claim(s, who, true, states_ms(0), 0); break;
    case STEP_TAKE: take(s, who); break;
    case STEP_CLAIM: claim(s, who, true); break;
    case STEP_CLAIM_UNHEARD: claim(s, who, false); break;
    case STEP_SEND:
        w->phase = STATES_SENDING;
        w->limit = s->now + states.write_limit;
        states_platform_take(s, who);
        break;
    case STEP_SEND_NOTHING: over(s, who, EV_NOT_SENT, 0); break;
    case STEP_HEAR: over(s, who, EV_COMMITTED, s->platform.request[states_platform_of(s, who)].post); break;
    case STEP_TURNED_DOWN: over(s, who, step->event, 0); break;
    case STEP_GIVE_UP: over(s, who, EV_UNKNOWN, 0); break;
    case STEP_SETTLE: settle(s, who, true); break;
    case STEP_SETTLE_UNHEARD: settle(s, who, false); break;
    case STEP_CRASH:
        states_platform_forget(s, who, false);
        *w = (struct states_worker){.phase = STATES_IDLE};
        break;
    default: die("states: no step of a worker");
    }
}
