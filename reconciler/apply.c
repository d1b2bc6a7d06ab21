/* SPDX-License-Identifier: MIT */
/*
 * apply: what was found goes to the ledger.
 *
 * Every delivery of the walk is decided about by core/ with the row as it was read, 64 at a time, and the ledger writes
 * it if the row is still that one. If not, the same evidence is decided about again with the row as it is now; an
 * absence then counts only for the attempt that it was searched for. What changes nothing is not sent.
 */
#include "reconciler/reconciler.h"

#include <stdlib.h>
#include <string.h>

#include "platforms/channel.h"
#include "runtime/clock.h"
#include "runtime/crash.h"
#include "runtime/die.h"
#include "runtime/log.h"
#include "runtime/random.h"

#define VANISHED_ALERT  3 /* so many accepted posts in a row that nobody can see are no accident */
#define APPLY_TRIES_MAX 5 /* times a row may have changed under us; then it waits for the next walk */

void apply_begin(struct reconciler *r, struct walk *w)
{
    (void)r;
    w->phase = WALK_RESOLVE;
    w->items = xcalloc(REQUEST_BATCH_MAX, sizeof *w->items);
    w->item_count = 0;
    w->decided = 0;
    w->apply_boot_ms = 0;
    w->resume_boot_ms = 0;
}

static struct resolve_moment moment_of(const struct reconciler *r, const struct walk *w)
{
    return (struct resolve_moment){reconciler_now_ms(r), w->no_absence_before_ms, random_below(UINT32_MAX)};
}

/* ---- what people are told ---- */

static void log_resolved(const struct subject *s, const struct delivery_decision *d)
{
    const struct evidence evidence = subject_evidence(s, 0);
    const struct resolve_ids ids = resolve_ids(&s->row, &evidence);
    const bool person = d->state == DS_HELD || d->state == DS_REJECTED;
    if (d->duplicate)
        log_event(LOG_LEVEL_ERROR, "delivery.duplicate", LOG_S("delivery", s->delivery), LOG_S("kept", ids.kept),
                  LOG_S("other", ids.duplicate));
    if (s->changed && d->state == DS_PUBLISHED)
        log_event(LOG_LEVEL_WARN, "delivery.changed", LOG_S("delivery", s->delivery), LOG_S("ext_id", s->ext_id));
    if (d->alert)
        log_event(LOG_LEVEL_ERROR, "delivery.alert", LOG_S("delivery", s->delivery),
                  LOG_S("why", "it was rejected and exists"));
    log_event(person ? LOG_LEVEL_ERROR : LOG_LEVEL_INFO, "delivery.resolved", LOG_S("delivery", s->delivery),
              LOG_S("state", delivery_state_name(d->state)), LOG_S("reason", delivery_reason_name(d->reason)),
              LOG_S("was", delivery_reason_name(s->row.reason)), LOG_S("evidence", delivery_event_name(s->event)),
              LOG_S("by", s->how), LOG_S("source", d->source != SRC_NONE ? delivery_source_name(d->source) : NULL),
              LOG_I("attempt", s->attempt), LOG_I("misses", d->misses), LOG_S("ext_id", s->ext_id),
              LOG_S("url", s->url));
}

static void tell(struct reconciler *r, const struct walk *w, const struct subject *s, enum delivery_state state,
                 enum delivery_reason reason, int64_t due_ms)
{
    const struct resolved resolved = {w, s, state, reason, due_ms};
    r->resolved_count += state != DS_UNCERTAIN;
    if (r->tell_resolved != NULL) r->tell_resolved(r->tell_context, &resolved);
}

/* ---- the end of one delivery ---- */

/* It stays uncertain: when is it looked at again? row is the row as it is now. */
static void stays(struct reconciler *r, struct walk *w, const struct subject *s, const struct delivery_row *row,
                  int64_t due_ms)
{
    const struct resolve_moment moment = moment_of(r, w);
    if (due_ms == 0) due_ms = moment.now_ms;
    w->left++;
    resolve_outlook_add(&w->outlook, due_ms, resolve_next_moment_ms(row, &w->lane->channel->policy, &moment));
    tell(r, w, s, DS_UNCERTAIN, row->reason, due_ms);
}

/* The row stands as the decision says. */
static void decided(struct reconciler *r, struct walk *w, const struct subject *s, const struct delivery_decision *d)
{
    if (d->state == DS_UNCERTAIN) {
        struct delivery_row now = s->row;
        now.misses = d->misses;
        now.missed_at_ms = d->missed_at_ms;
        stays(r, w, s, &now, d->due_ms);
        return;
    }
    w->settled++;
    tell(r, w, s, d->state, d->reason, d->due_ms);
}

/* ---- deciding ---- */

static void fill_request(const struct walk *w, struct apply_item *item)
{
    struct decide_request *q = &item->request;
    const struct subject *s = item->subject;
    const struct delivery_policy *policy = &w->lane->channel->policy;
    const struct evidence evidence = subject_evidence(s, w->searched_from_ms);
    memset(q, 0, sizeof *q);
    q->base.channel = w->lane->channel->name;
    q->base.delivery = s->delivery;
    q->row = &s->row;
    q->decision = &item->decision;
    const struct resolve_ids ids = resolve_ids(&s->row, &evidence);
    q->ext_id = ids.kept;
    q->url = ids.url;
    q->duplicate_id = item->decision.duplicate ? ids.duplicate : NULL;
    q->changed = s->changed && item->decision.state == DS_PUBLISHED;
    if (!resolve_rests_on_absence(&s->row, &evidence, policy, w->no_absence_before_ms)) return;
    q->searched_from_ms = w->searched_from_ms;
    q->searched_attempt = s->attempt;
    q->visibility_lag_ms = policy->visibility_lag_ms;
}

/* True if the item has something for the ledger; else the delivery is done with. */
static bool decide(struct reconciler *r, struct walk *w, struct apply_item *item)
{
    const struct resolve_moment moment = moment_of(r, w);
    struct subject *s = item->subject;
    const struct evidence evidence = subject_evidence(s, w->searched_from_ms);
    item->decision = resolve_decide(&s->row, &evidence, &w->lane->channel->policy, &moment);
    item->done = !resolve_writes(&s->row, &item->decision);
    if (item->done) {
        decided(r, w, s, &item->decision);
        return false;
    }
    fill_request(w, item);
    return true;
}

void apply_dry_run(struct reconciler *r, struct walk *w)
{
    const struct resolve_moment moment = moment_of(r, w);
    for (; w->decided < w->subject_count; w->decided++) {
        const struct subject *s = &w->subjects[w->decided];
        const struct evidence evidence = subject_evidence(s, w->searched_from_ms);
        const struct delivery_decision decision =
            resolve_decide(&s->row, &evidence, &w->lane->channel->policy, &moment);
        decided(r, w, s, &decision);
    }
}

/* Makes room. The round knows where its requests stand, so nothing moves while one of them is in there. */
static void drop_done(struct walk *w)
{
    size_t kept = 0;
    for (size_t i = 0; i < w->item_count; i++)
        if (w->items[i].in_round) return;
    for (size_t i = 0; i < w->item_count; i++) {
        if (w->items[i].done) continue;
        if (kept != i) w->items[kept] = w->items[i];
        w->items[kept].request.decision = &w->items[kept].decision;
        kept++;
    }
    w->item_count = kept;
}

bool apply_fill(struct reconciler *r, struct walk *w)
{
    size_t looked_at = 0; /* what needs no write costs a turn too */
    while (w->item_count < REQUEST_BATCH_MAX && w->decided < w->subject_count && looked_at++ < 4 * REQUEST_BATCH_MAX) {
        struct apply_item *item = &w->items[w->item_count];
        memset(item, 0, sizeof *item);
        item->subject = &w->subjects[w->decided++];
        if (decide(r, w, item)) w->item_count++;
    }
    if (w->item_count == 0) return false;
    crash_point("before_resolve");
    for (size_t i = 0; i < w->item_count; i++) {
        struct apply_item *item = &w->items[i];
        if (!item->in_round) round_resolve(r->round, &item->request);
        item->in_round = true;
    }
    return true;
}

/* ---- what the ledger says ---- */

/* A platform that says yes and throws away what it took looks like success everywhere else. */
static void count_vanished(struct lane *lane, const struct subject *s, const struct delivery_decision *d)
{
    if (s->row.reason != RS_VERIFY || d->state == DS_UNCERTAIN) return;
    lane->vanished = d->reason == RS_GONE ? lane->vanished + 1 : 0;
    if (lane->vanished >= VANISHED_ALERT)
        log_event_limited(
            LOG_LEVEL_ERROR, "channel.vanishing", LOG_S("channel", lane->channel->name),
            LOG_I("in_a_row", lane->vanished), LOG_S("newest", s->delivery),
            LOG_S("why", "the platform accepts posts and does not show them: pause the channel and ask it"));
}

static void written(struct reconciler *r, struct walk *w, struct apply_item *item)
{
    const struct delivery_decision *d = &item->decision;
    w->changed = true;
    count_vanished(w->lane, item->subject, d);
    if (d->state != DS_UNCERTAIN || d->duplicate) log_resolved(item->subject, d);
    if (d->duplicate) meters_duplicate(&r->gauges.ledger, w->lane->channel->name);
    gauges_outcome(&r->gauges, w->lane->channel->name, delivery_state_name(d->state),
                   d->source != SRC_NONE ? delivery_source_name(d->source) : item->subject->how);
    decided(r, w, item->subject, d);
    item->done = true;
}

/* The row is another one now: the same evidence, and what it means for this one. */
static void stale(struct reconciler *r, struct walk *w, struct apply_item *item)
{
    item->subject->row = item->request.current.core;
    if (++item->tries < APPLY_TRIES_MAX) {
        (void)decide(r, w, item);
        return;
    }
    item->done = true;
    stays(r, w, item->subject, &item->subject->row, 0);
}

/* The post that was found is known as another delivery's: it says nothing about this one, and somebody must look. */
static void foreign(struct reconciler *r, struct walk *w, struct apply_item *item)
{
    struct subject *s = item->subject;
    log_event(LOG_LEVEL_ERROR, "delivery.foreign_id", LOG_S("delivery", s->delivery), LOG_S("ext_id", s->ext_id),
              LOG_S("owner", item->request.other));
    s->event = EV_UNSEEN;
    s->how = "none";
    (void)decide(r, w, item);
}

/* It stays as it is; due_ms says when it is looked at again. */
static void unchanged(struct reconciler *r, struct walk *w, struct apply_item *item, int64_t due_ms)
{
    item->done = true;
    stays(r, w, item->subject, &item->subject->row, due_ms);
}

static void item_answered(struct reconciler *r, struct walk *w, struct apply_item *item)
{
    const struct decide_request *q = &item->request;
    switch (q->answer) {
    case DECIDE_OK: written(r, w, item); break;
    case DECIDE_STALE: stale(r, w, item); break;
    case DECIDE_FOREIGN: foreign(r, w, item); break;
    case DECIDE_EARLY: unchanged(r, w, item, q->until_ms); break;
    case DECIDE_ENVIRONMENT:
        log_event_limited(LOG_LEVEL_FATAL, "ledger.environment", LOG_S("why", q->base.error));
        reconciler_stop(r, 1);
        unchanged(r, w, item, 0);
        break;
    case DECIDE_NO_CONTENT:
    case DECIDE_ERROR:
    case DECIDE_ANSWER_COUNT:
        log_event_limited(
            LOG_LEVEL_ERROR, "delivery.unreadable", LOG_S("delivery", item->subject->delivery),
            LOG_S("why", q->answer == DECIDE_NO_CONTENT ? "its content is gone: submit it again" : q->base.error));
        unchanged(r, w, item, reconciler_now_ms(r) + w->lane->channel->policy.backoff_cap_ms);
        break;
    }
}

void apply_answered(struct reconciler *r, struct walk *w)
{
    bool any = false;
    for (size_t i = 0; i < w->item_count; i++) {
        struct apply_item *item = &w->items[i];
        const enum request_result result = item->request.base.result;
        if (!item->in_round || result == REQUEST_PENDING) continue; /* PENDING: it did not fit and goes with the next */
        item->in_round = false;
        if (result == REQUEST_ANSWERED) {
            if (!any) crash_point("after_resolve");
            any = true;
            item_answered(r, w, item);
        } else if (result == REQUEST_REFUSED) {
            w->apply_boot_ms = clock_boottime_ms() + ERRORS_RETRY_MS;
            meters_error(&r->gauges.ledger, item->request.base.error);
            log_event_limited(LOG_LEVEL_WARN, "ledger.refused", LOG_S("why", item->request.base.error));
        }
    }
    drop_done(w);
}
