/* SPDX-License-Identifier: MIT */
/*
 * reading: the steps of a walk with the platform: login, look-ups, pages of the listing.
 *
 * The strongest evidence is asked for first: posts by their id, then by our key, then one walk over the listing for all
 * that is left. A login counts against small quotas, so there is one per channel and process, and where it fails the
 * walk ends. All requests here are reads and logins; what they answer is judged by search, lookup and auth, and
 * whatever is not an answer leaves everything as uncertain as it was.
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
#define READING_TRIES_MAX      5 /* such answers in a row */
#define READING_LOGINS_MAX     3 /* in one walk */

/* ---- ends ---- */

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
static void credential_refused(struct walk *w, int status)
{
    reading_give_up(w, SEARCH_CREDENTIAL, search_end_name(SEARCH_CREDENTIAL), search_end_meaning(SEARCH_CREDENTIAL));
    if (w->channel_paused || w->lane->refusal_told || w->reads_only) return;
    w->lane->refusal_told = true;
    log_event(LOG_LEVEL_ERROR, "channel.paused", LOG_S("channel", w->lane->channel->name),
              LOG_S("why", "the credential was refused while the account was read"), LOG_I("status", status));
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
    const struct form_fill fill = {&channel->credentials, &w->lane->session, clock_wall_ms() / 1000,
                                   channel->descriptor};
    if (!form_fill(form, &fill, &request, &err)) {
        log_event_limited(LOG_LEVEL_ERROR, "read.broken", LOG_S("channel", w->lane->channel->name),
                          LOG_S("why", err.text));
        reading_give_up(w, SEARCH_DESCRIPTOR, search_end_name(SEARCH_DESCRIPTOR), err.text);
        return false;
    }
    const struct transfer_options options = {.limit_ms = limit_ms, .body_max_bytes = ANSWER_BODY_MAX_BYTES, .owner = w};
    w->transfer = transfer_start(r->pool, &request, &options);
    w->phase = WALK_SENT;
    http_request_fini(&request);
    return true;
}

static void login(struct reconciler *r, struct walk *w)
{
    struct errbuf err = {{0}};
    struct form form;
    struct channel *channel = w->lane->channel;
    if (++w->logins > READING_LOGINS_MAX) {
        credential_refused(w, 401);
        return;
    }
    if (!auth_login_form(channel, DESCRIPTOR_READ, &form, &err)) {
        log_event_limited(LOG_LEVEL_ERROR, "login.broken", LOG_S("channel", channel->name), LOG_S("why", err.text));
        reading_give_up(w, SEARCH_DESCRIPTOR, search_end_name(SEARCH_DESCRIPTOR), err.text);
        return;
    }
    session_login_begun(&w->lane->session);
    w->asked = WALK_ASKED_LOGIN;
    if (!send_form(r, w, &form, channel->descriptor->login_limit_ms))
        session_login_failed(&w->lane->session, 0, clock_boottime_ms());
    form_fini(&form);
}

/* False: there is no session now, and what has to be done about it has been begun. */
static bool have_session(struct reconciler *r, struct walk *w)
{
    struct session *session = &w->lane->session;
    switch (session_state(w->lane->channel, session, clock_boottime_ms())) {
    case SESSION_NOT_NEEDED:
    case SESSION_READY: return true;
    case SESSION_LOGIN: login(r, w); return false;
    case SESSION_WAIT: break;
    }
    w->out_of_reach = true;
    w->outlook.not_before_ms = reconciler_now_ms(r) + session->not_before_boot_ms - clock_boottime_ms();
    reading_give_up(w, SEARCH_GIVEN_UP, "login_failed", "the last login failed; the next one has to wait");
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

static void take_login(struct reconciler *r, struct walk *w, const struct transfer_facts *facts,
                       const struct answer *answer)
{
    struct errbuf err = {{0}};
    struct channel *channel = w->lane->channel;
    const int64_t now = clock_boottime_ms();
    int64_t wait_ms = 0;
    w->phase = WALK_READ;
    if (facts->complete) {
        wait_ms = limits_answer_ms(channel->descriptor, DESCRIPTOR_READ, answer, clock_wall_ms());
        if (auth_take_session(channel, DESCRIPTOR_READ, answer, wait_ms, now, &w->lane->session, &err)) return;
    } else {
        session_login_failed(&w->lane->session, 0, now);
        errbuf_set(&err, "the login had no answer: %s", facts->error);
    }
    log_event_limited(LOG_LEVEL_WARN, "login.failed", LOG_S("channel", channel->name), LOG_I("status", facts->status),
                      LOG_S("why", err.text));
    if (facts->complete && (facts->status == 401 || facts->status == 403)) {
        credential_refused(w, facts->status);
        return;
    }
    w->out_of_reach = true;
    w->outlook.not_before_ms = reconciler_now_ms(r) + w->lane->session.not_before_boot_ms - now;
    if (wait_ms > 0) block_channel(w, w->outlook.not_before_ms);
    reading_give_up(w, SEARCH_GIVEN_UP, "login_failed", err.text);
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
        session_drop(&w->lane->session);
    } else if (found.kind == LOOKUP_CREDENTIAL) {
        credential_refused(w, facts->status);
    } else {
        w->tries = 0;
        w->logins = 0;
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
        w->logins = 0;
        break;
    case SEARCH_TOOK_AGAIN: wait_for_platform(r, w, search_wait_ms(w->search)); break;
    case SEARCH_TOOK_SESSION: session_drop(&w->lane->session); break;
    case SEARCH_TOOK_END:
        if (search_result(w->search)->end == SEARCH_CREDENTIAL) credential_refused(w, facts->status);
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
    case WALK_ASKED_LOGIN: take_login(r, w, facts, answer); break;
    case WALK_ASKED_ID:
    case WALK_ASKED_KEY: take_lookup(r, w, facts, answer); break;
    case WALK_ASKED_SEARCH: take_page(r, w, facts, answer); break;
    }
}

void reading_collect(struct reconciler *r)
{
    struct transfer *transfer;
    while ((transfer = transfer_next_done(r->pool)) != NULL) {
        struct walk *w = transfer_owner(transfer);
        if (w->transfer == transfer) take(r, w, transfer); /* else its walk is over */
        transfer_free(&transfer);
    }
}
