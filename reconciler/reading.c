/* SPDX-License-Identifier: MIT */
/*
 * reading: the steps of a walk with the platform: login, look-ups, pages of the listing.
 *
 * The strongest evidence is asked for first: posts by their id, then by our key, then one walk over the listing for all
 * that is left. The session is the fleet's (session/keeper.h); where there is none to be had the walk ends. All
 * requests here are reads and logins; what they answer is judged by search, lookup and auth, and whatever is not an
 * answer leaves everything as uncertain as it was.
 */
#include "reconciler/reconciler.h"

#include <stdio.h>
#include <string.h>

#include "core/backoff.h"
#include "platforms/channel.h"
#include "platforms/limits_answer.h"
#include "platforms/lookup.h"
#include "runtime/clock.h"
#include "runtime/crash.h"
#include "runtime/log.h"
#include "runtime/random.h"

#define READING_BACKOFF_MS     500 /* after an answer that brought nothing; doubles */
#define READING_BACKOFF_CAP_MS 10000
#define READING_TRIES_MAX      5  /* such answers in a row */
#define READING_ENDS_MAX       3  /* of sessions in a row */
#define READING_LOGIN_MS       50 /* a login under way is looked at so often */

/* ---- ends ---- */

static const char refused_while_reading[] = "the credential was refused while the account was read";

static void note_why(struct walk *w, const char *why)
{
    snprintf(w->why, sizeof w->why, "%.*s", (int)sizeof w->why - 1, why);
}

void reading_give_up(struct walk *w, enum search_end end, const char *result, const char *why)
{
    search_give_up(w->search, end);
    for (size_t i = 0; i < w->subject_count; i++) {
        struct subject *s = &w->subjects[i];
        while (s->route == SUBJECT_BY_ID || s->route == SUBJECT_BY_KEY)
            subject_no_lookup(s, w->lane->channel);
    }
    w->result = result;
    note_why(w, why);
}

/* One alert, and the channel pauses: nothing goes in or out with a credential that is refused. */
static void credential_refused(struct walk *w, int status, const char *why)
{
    reading_give_up(w, SEARCH_CREDENTIAL, search_end_name(SEARCH_CREDENTIAL), search_end_meaning(SEARCH_CREDENTIAL));
    if (w->channel_paused || w->lane->refusal_told || w->reads_only) return;
    w->lane->refusal_told = true;
    log_event(LOG_LEVEL_ERROR, "channel.paused", LOG_S("channel", w->lane->channel->name), LOG_S("why", why),
              LOG_I("status", status));
    memset(&w->note, 0, sizeof w->note);
    w->note.base.channel = w->lane->channel->name;
    w->note.op = CHANNEL_PAUSE;
    w->note.text = "credential";
    w->note_due = true;
}

static void finish(struct reconciler *r, struct walk *w)
{
    const struct search_result *result = search_result(w->search);
    for (size_t i = 0; i < w->subject_count; i++)
        subject_take_listing(&w->subjects[i], w->search);
    if (result->end != SEARCH_RUNNING && result->end != SEARCH_NO_LISTING && result->end != SEARCH_GIVEN_UP) {
        w->result = search_end_name(result->end);
        if (result->end != SEARCH_COMPLETE)
            note_why(w, result->detail.text[0] != '\0' ? result->detail.text : search_end_meaning(result->end));
    }
    if (result->end == SEARCH_PAGE_FAILED) w->out_of_reach = true;
    if (result->end == SEARCH_COMPLETE) w->lane->refusal_told = false;
    apply_begin(r, w);
}

/* ---- waits ---- */

/* What the platform says to one request holds for the whole fleet. */
static void block_channel(struct walk *w, int64_t until_ms)
{
    if (w->note_due || w->reads_only) return;
    memset(&w->note, 0, sizeof w->note);
    w->note.base.channel = w->lane->channel->name;
    w->note.op = CHANNEL_BLOCK;
    w->note.text = "rate limit";
    w->note.until_ms = until_ms;
    w->note_due = true;
}

/* The platform brought nothing; wait_ms is what it asked for, 0 if nothing. */
static void wait_for_platform(const struct reconciler *r, struct walk *w, int64_t wait_ms)
{
    const bool asked = wait_ms > 0;
    w->tries++;
    if (!asked) wait_ms = backoff_ms(w->tries, READING_BACKOFF_MS, READING_BACKOFF_CAP_MS, random_below(UINT32_MAX));
    const int64_t until_ms = reconciler_now_ms(r) + wait_ms;
    if (asked) block_channel(w, until_ms);
    if (wait_ms > WALK_PATIENCE_MS) {
        w->outlook.not_before_ms = until_ms;
        reading_give_up(w, SEARCH_GIVEN_UP, "wait", "the platform asks to wait");
    }
    w->phase = WALK_WAIT;
    w->resume_boot_ms = clock_boottime_ms() + (wait_ms > WALK_PATIENCE_MS ? 0 : wait_ms);
}

/* ---- the next request ---- */

static struct subject *next_lookup(struct walk *w, enum subject_route route)
{
    for (size_t *at = &w->lookup_at[route]; *at < w->subject_count; (*at)++)
        if (w->subjects[*at].route == route) return &w->subjects[*at];
    return NULL;
}

static bool wants_listing(const struct walk *w)
{
    for (size_t i = 0; i < w->subject_count; i++)
        if (w->subjects[i].route == SUBJECT_LISTING) return true;
    return false;
}

static bool lookup_form(struct walk *w, struct subject *s, enum lookup_by by, struct form *form)
{
    struct channel *channel = w->lane->channel;
    struct errbuf err = {{0}};
    json_t *input = subject_input(s, channel);
    json_object_set(input, "prepared", (json_t *)search_prepared(w->search));
    const bool ok = lookup_request(channel, by, input, form, &err);
    json_decref(input);
    w->subject = s;
    w->asked = by == LOOKUP_BY_ID ? WALK_ASKED_ID : WALK_ASKED_KEY;
    if (ok) return true;
    log_event_limited(LOG_LEVEL_ERROR, "descriptor.broken", LOG_S("channel", channel->name), LOG_S("why", err.text));
    subject_no_lookup(s, channel);
    return false;
}

/* reads.prepare has to be done before the first look-up by key. */
static bool is_prepared(const struct walk *w)
{
    return json_object_size(search_prepared(w->search)) >= w->lane->channel->descriptor->read_prepare_count;
}

static bool search_form(struct walk *w, struct form *form)
{
    w->asked = WALK_ASKED_SEARCH;
    return search_next_request(w->search, form);
}

/* False: there is nothing (more) to ask. */
static bool next_form(struct walk *w, struct form *form)
{
    struct subject *s;
    while ((s = next_lookup(w, SUBJECT_BY_ID)) != NULL)
        if (lookup_form(w, s, LOOKUP_BY_ID, form)) return true;
    while ((s = next_lookup(w, SUBJECT_BY_KEY)) != NULL) {
        if (!is_prepared(w) && search_form(w, form)) return true;
        if (!is_prepared(w))
            subject_no_lookup(s, w->lane->channel);
        else if (lookup_form(w, s, LOOKUP_BY_KEY, form))
            return true;
    }
    return wants_listing(w) && search_form(w, form);
}

static bool send_form(struct reconciler *r, struct walk *w, const struct form *form, int64_t limit_ms)
{
    struct errbuf err = {{0}};
    struct http_request request;
    const struct channel *channel = w->lane->channel;
    const struct form_fill fill = {&channel->credentials, &w->lane->keeper.session, clock_wall_ms() / 1000,
                                   channel->descriptor};
    if (!form_fill(form, &fill, &request, &err)) {
        log_event_limited(LOG_LEVEL_ERROR, "read.broken", LOG_S("channel", w->lane->channel->name),
                          LOG_S("why", err.text));
        reading_give_up(w, SEARCH_DESCRIPTOR, search_end_name(SEARCH_DESCRIPTOR), err.text);
        return false;
    }
    const struct transfer_options options = {.limit_ms = limit_ms, .body_max_bytes = ANSWER_BODY_MAX_BYTES, .owner = w};
    w->session_count = w->lane->keeper.count;
    w->transfer = transfer_start(r->pool, &request, &options);
    w->phase = WALK_SENT;
    return true;
}

static void wait_for_login(struct walk *w)
{
    w->phase = WALK_WAIT;
    w->resume_boot_ms = clock_boottime_ms() + READING_LOGIN_MS;
}

static void start_login(struct reconciler *r, struct walk *w, struct http_request *request)
{
    const struct transfer_options options = {
        .limit_ms = keeper_limit_ms(&w->lane->keeper), .body_max_bytes = ANSWER_BODY_MAX_BYTES, .owner = NULL};
    w->lane->login = transfer_start(r->pool, request, &options);
    wait_for_login(w);
}

/* There is none to be had for now. */
static void no_session(struct reconciler *r, struct walk *w)
{
    const struct keeper_trouble *trouble = &w->lane->keeper.trouble;
    if (trouble->kind == KEEPER_REFUSED) {
        credential_refused(w, trouble->status, trouble->why);
        return;
    }
    w->out_of_reach = true;
    w->outlook.not_before_ms = reconciler_now_ms(r) + trouble->wait_ms;
    if (trouble->asked) block_channel(w, w->outlook.not_before_ms);
    reading_give_up(w, SEARCH_GIVEN_UP, "login_failed", trouble->why);
}

/* False: there is no session now, and what has to be done about it has been begun. */
static bool have_session(struct reconciler *r, struct walk *w)
{
    struct http_request request;
    if (w->ends > READING_ENDS_MAX) {
        credential_refused(w, 401, refused_while_reading);
        return false;
    }
    switch (keeper_ask(&w->lane->keeper, &request)) {
    case KEEPER_READY: return true;
    case KEEPER_SEND: start_login(r, w, &request); break;
    case KEEPER_BUSY: wait_for_login(w); break;
    case KEEPER_TROUBLE: no_session(r, w); break;
    }
    return false;
}

void reading_step(struct reconciler *r, struct walk *w)
{
    struct form form;
    w->phase = WALK_READ;
    if (!next_form(w, &form)) {
        finish(r, w);
        return;
    }
    if (!form_needs(&form, "session.") || have_session(r, w)) (void)send_form(r, w, &form, WALK_READ_LIMIT_MS);
    form_fini(&form);
}

/* ---- answers ---- */

static void session_ended(struct walk *w)
{
    w->ends++;
    keeper_expired(&w->lane->keeper, w->session_count);
}

static void take_lookup(struct reconciler *r, struct walk *w, const struct transfer_facts *facts,
                        const struct answer *answer)
{
    struct channel *channel = w->lane->channel;
    const bool by_key = w->asked == WALK_ASKED_KEY;
    struct lookup found;
    json_t *input = subject_input(w->subject, channel);
    json_object_set(input, "prepared", (json_t *)search_prepared(w->search));
    lookup_take_answer(channel, by_key ? LOOKUP_BY_KEY : LOOKUP_BY_ID, input, facts, answer, clock_wall_ms(), &found);
    json_decref(input);
    gauges_page(&r->gauges, channel->name);
    const bool failed = found.kind == LOOKUP_WAIT || (found.kind == LOOKUP_UNSEEN && !facts->complete);
    if (failed && w->tries + 1 < READING_TRIES_MAX) {
        wait_for_platform(r, w, found.wait_ms);
    } else if (failed) {
        w->out_of_reach = true;
        reading_give_up(w, SEARCH_PAGE_FAILED, search_end_name(SEARCH_PAGE_FAILED), found.detail.text);
    } else if (found.kind == LOOKUP_SESSION) {
        session_ended(w);
    } else if (found.kind == LOOKUP_CREDENTIAL) {
        credential_refused(w, facts->status, refused_while_reading);
    } else {
        w->tries = 0;
        w->ends = 0;
        w->result = "looked_up";
        subject_take_lookup(w->subject, channel, by_key, &found);
    }
    crash_point("after_page");
}

static void take_page(struct reconciler *r, struct walk *w, const struct transfer_facts *facts,
                      const struct answer *answer)
{
    const int pages = search_result(w->search)->pages;
    const enum search_took took = search_take_answer(w->search, facts, answer, clock_wall_ms());
    if (search_result(w->search)->pages > pages) {
        gauges_page(&r->gauges, w->lane->channel->name);
        crash_point("after_page");
    }
    switch (took) {
    case SEARCH_TOOK_ON:
        w->tries = 0;
        w->ends = 0;
        break;
    case SEARCH_TOOK_AGAIN: wait_for_platform(r, w, search_wait_ms(w->search)); break;
    case SEARCH_TOOK_SESSION: session_ended(w); break;
    case SEARCH_TOOK_END:
        if (search_result(w->search)->end == SEARCH_CREDENTIAL)
            credential_refused(w, facts->status, refused_while_reading);
        break;
    }
}

static void take(struct reconciler *r, struct walk *w, struct transfer *transfer)
{
    const struct transfer_facts *facts = transfer_facts(transfer);
    const struct answer *answer = transfer_answer(transfer);
    w->transfer = NULL;
    w->phase = WALK_READ;
    switch (w->asked) {
    case WALK_ASKED_ID:
    case WALK_ASKED_KEY: take_lookup(r, w, facts, answer); break;
    case WALK_ASKED_SEARCH: take_page(r, w, facts, answer); break;
    }
}

static struct lane *lane_of_login(struct reconciler *r, const struct transfer *transfer)
{
    for (size_t i = 0; i < r->lane_count; i++)
        if (r->lanes[i].login == transfer) return &r->lanes[i];
    return NULL;
}

bool reading_logs_in(const struct reconciler *r)
{
    for (size_t i = 0; i < r->lane_count; i++)
        if (r->lanes[i].login != NULL) return true;
    return false;
}

/* The lane's walk, if there is one, goes on, or is told what the trouble is. */
static void take_login(struct reconciler *r, struct lane *lane, struct transfer *transfer)
{
    lane->login = NULL;
    const bool trouble =
        keeper_take(&lane->keeper, transfer_facts(transfer), transfer_answer(transfer)) == KEEPER_TROUBLE;
    for (size_t i = 0; i < RECONCILER_WALKS_MAX; i++) {
        struct walk *w = &r->walks[i];
        if (w->lane != lane || w->phase != WALK_WAIT) continue;
        w->phase = WALK_READ;
        w->resume_boot_ms = 0;
        if (trouble) no_session(r, w);
    }
}

void reading_collect(struct reconciler *r)
{
    struct transfer *transfer;
    for (size_t i = 0; i < r->lane_count; i++)
        keeper_turn(&r->lanes[i].keeper);
    while ((transfer = transfer_next_done(r->pool)) != NULL) {
        struct walk *w = transfer_owner(transfer);
        struct lane *lane = lane_of_login(r, transfer);
        if (lane != NULL)
            take_login(r, lane, transfer);
        else if (w->transfer == transfer)
            take(r, w, transfer); /* else its walk is over */
        transfer_free(&transfer);
    }
}
