/* SPDX-License-Identifier: MIT */
/* The protocol's table: producers, claims, reports of attempts, operators. What the reconciler finds is in evidence.c.
 *
 * One function for each speaker. Each begins with the row as it is and changes what the table says, so what is not
 * named stays. Read with docs/contract.md section 3 beside it; the numbers in the comments are its rows.
 * tests/unit/core/delivery.golden is this file printed. */
#include "core/delivery.h"

#include <string.h>

#include "core/backoff.h"
#include "core/decide.h"

/* A submitted delivery is read from the stream. If nobody has after this time, the agenda brings it: a lost stream
 * loses nothing. */
#define SUBMIT_AGENDA_MS 60000
/* How often a delivery looks for the one before it; claim.lua looks sooner where it knows when something will happen.
 */
#define PREDECESSOR_WAIT_MS 10000

struct delivery_decision decide_keep(const struct situation *s, enum delivery_verdict verdict)
{
    const struct delivery_row *r = s->row;
    struct delivery_decision d = {
        .verdict = verdict,
        .state = r->state,
        .reason = r->reason,
        .doubt = r->doubt,
        .tries = r->tries,
        .generation = r->generation,
        .misses = r->misses,
        .missed_at_ms = r->missed_at_ms,
        .waived = r->waived,
    };
    return d;
}

void decide_approved(struct delivery_decision *d, enum delivery_reason why, enum delivery_place place, int64_t due_ms)
{
    d->state = DS_APPROVED;
    d->reason = why;
    d->place = place;
    d->due_ms = due_ms;
}

void decide_uncertain(struct delivery_decision *d, enum delivery_reason why, int64_t due_ms)
{
    d->state = DS_UNCERTAIN;
    d->reason = why;
    d->place = PLACE_WALK;
    d->due_ms = due_ms;
}

void decide_held(struct delivery_decision *d, enum delivery_reason why)
{
    d->state = DS_HELD;
    d->reason = why;
    d->place = PLACE_NONE;
}

void decide_rejected(struct delivery_decision *d, enum delivery_reason why, enum delivery_source source)
{
    d->state = DS_REJECTED;
    d->reason = why;
    d->place = PLACE_NONE;
    d->source = source;
}

static bool has_id(const char *ext_id)
{
    return ext_id != NULL && ext_id[0] != '\0';
}

struct delivery_decision decide_published(const struct situation *s, enum delivery_source source)
{
    const struct delivery_row *r = s->row;
    struct delivery_decision d = decide_keep(s, VERDICT_CHANGE);
    if (r->state == DS_PUBLISHED) { /* 19 */
        bool other = has_id(s->in->ext_id) && has_id(r->ext_id) && strcmp(s->in->ext_id, r->ext_id) != 0;
        d.duplicate = other || s->in->two_found;
        if (!d.duplicate) d.verdict = VERDICT_ALREADY;
        return d;
    }
    d.state = DS_PUBLISHED;
    d.reason = RS_CONFIRMED;
    d.place = PLACE_NONE;
    d.source = source;
    d.alert = r->state == DS_REJECTED;
    d.duplicate =
        s->in->two_found || (has_id(r->ext_id) && has_id(s->in->ext_id) && strcmp(s->in->ext_id, r->ext_id) != 0);
    d.waived = false;
    /* Under a key, the attempts in doubt and this success are one post; so are a post that was read and the only
     * attempt in doubt. Otherwise another attempt may have made a second post: it stays named. */
    doubt_remove(&d.doubt, s->in->attempt, s->in->token);
    bool one_key =
        s->policy->key_window_ms != 0 && r->generation == 0; /* a later generation may have posts under both */
    if (one_key || (d.doubt.count == 1 && s->in->event != EV_COMMITTED)) d.doubt.count = 0;
    return d;
}

int64_t decide_retry_at(const struct situation *s, int failures)
{
    return s->now_ms + backoff_ms(failures, s->policy->backoff_base_ms, s->policy->backoff_cap_ms, s->in->jitter);
}

bool decide_expired(const struct situation *s)
{
    return s->row->not_after_ms > 0 && s->now_ms > s->row->not_after_ms;
}

enum delivery_standing delivery_standing(const struct delivery_row *row, bool harmless, int attempt, const char *token)
{
    bool newest = row->state != DS_NONE && attempt == row->attempt && strcmp(token, row->token) == 0;
    if (newest && row->state == DS_CLAIMED) return STANDING_CURRENT;
    if (doubt_has(&row->doubt, attempt, token) || (harmless && newest && row->state == DS_UNCERTAIN))
        return STANDING_DOUBTFUL;
    if (row->state == DS_NONE || attempt > row->attempt || (attempt == row->attempt && !newest))
        return STANDING_FORGOTTEN;
    return STANDING_CLOSED;
}

bool delivery_replay_allowed(const struct delivery_row *row, const struct delivery_policy *policy, int64_t now_ms)
{
    if (policy->harmless || policy->key_window_ms == DELIVERY_FOREVER) return true;
    int64_t last_commit_ms = now_ms + policy->lease_ms + policy->late_commit_ms + policy->margin_ms;
    return policy->key_window_ms > 0 && row->first_send_ms > 0 &&
           last_commit_ms <= row->first_send_ms + policy->key_window_ms;
}

/* ---- producers ---- */

static struct delivery_decision step_submit(const struct situation *s)
{
    if (s->row->state != DS_NONE) return decide_keep(s, VERDICT_ALREADY);
    struct delivery_decision d = decide_keep(s, VERDICT_CHANGE);
    bool later = s->row->not_before_ms > s->now_ms;
    if (s->in->hold)
        decide_held(&d, RS_APPROVAL);
    else
        decide_approved(&d, later ? RS_SCHEDULED : RS_NEW, PLACE_AGENDA,
                        later ? s->row->not_before_ms : s->now_ms + SUBMIT_AGENDA_MS);
    return d;
}

/* ---- claims: what can be said from the row alone; pace and epoch are added in claim.lua ---- */

static struct delivery_decision held_or_doubted(const struct situation *s, enum delivery_reason held,
                                                enum delivery_reason in_doubt)
{
    struct delivery_decision d = decide_keep(s, VERDICT_CHANGE);
    if (s->row->doubt.count > 0)
        decide_uncertain(&d, in_doubt, 0); /* somebody must still look */
    else
        decide_held(&d, held);
    return d;
}

/* What must not go out any more: its time, its budget or its key's window is over. */
static bool claim_is_over(const struct situation *s, struct delivery_decision *d)
{
    const struct delivery_row *r = s->row;
    const struct delivery_policy *p = s->policy;
    const bool too_old = p->max_age_ms > 0 && r->dated_ms > 0 && s->now_ms - r->dated_ms > p->max_age_ms;
    if (decide_expired(s)) /* 4 */
        *d = held_or_doubted(s, RS_EXPIRED, RS_EXPIRED_IN_DOUBT);
    else if (too_old)
        *d = held_or_doubted(s, RS_BACKFILL, RS_EXPIRED_IN_DOUBT);
    else if (r->tries >= p->max_attempts && !r->waived) /* 4b */
        *d = held_or_doubted(s, RS_SPENT, RS_SPENT_IN_DOUBT);
    else if (r->doubt.count > 0 && !r->waived && !delivery_replay_allowed(r, p, s->now_ms)) /* 4c */
        decide_uncertain(d, RS_WINDOW_CLOSED, 0);
    else
        return false;
    return true;
}

/* What must not go out yet. In doubt, the frozen request was made when the one before it was published. */
static bool claim_waits(const struct situation *s, struct delivery_decision *d)
{
    const bool in_doubt = s->row->doubt.count > 0;
    if (s->row->not_before_ms > s->now_ms) /* 3 */
        decide_approved(d, RS_SCHEDULED, PLACE_AGENDA, s->row->not_before_ms);
    else if (!in_doubt && s->in->predecessor == PREDECESSOR_FAILED) /* 4d */
        decide_held(d, RS_PREDECESSOR);
    else if (!in_doubt && s->in->predecessor == PREDECESSOR_OPEN) /* 3 */
        decide_approved(d, RS_PREDECESSOR, PLACE_AGENDA, s->now_ms + PREDECESSOR_WAIT_MS);
    else
        return false;
    return true;
}

static struct delivery_decision step_claim(const struct situation *s)
{
    const struct delivery_row *r = s->row;
    if (r->state != DS_NONE && r->state != DS_APPROVED)
        return decide_keep(s, r->state == DS_CLAIMED ? VERDICT_BUSY : VERDICT_ALREADY);
    struct delivery_decision d = decide_keep(s, VERDICT_CHANGE);
    if (claim_is_over(s, &d) || claim_waits(s, &d)) return d;
    d.state = DS_CLAIMED; /* 2 */
    d.reason = RS_SENDING;
    d.place = PLACE_AGENDA;
    d.due_ms = s->now_ms + s->policy->lease_ms;
    d.tries = r->tries + 1;
    d.misses = 0;
    d.missed_at_ms = 0;
    d.waived = false;
    d.send = true;
    return d;
}

static struct delivery_decision step_lease_gone(const struct situation *s)
{
    if (s->row->state != DS_CLAIMED) return decide_keep(s, VERDICT_ALREADY);
    struct delivery_decision d = decide_keep(s, VERDICT_CHANGE); /* 9 */
    if (!s->policy->harmless) doubt_add(&d.doubt, s->row->attempt, s->row->token);
    decide_uncertain(&d, RS_LEASE_LOST, 0);
    return d;
}

/* ---- reports of an attempt ---- */

static struct delivery_decision report_committed(const struct situation *s, enum delivery_standing standing)
{
    const struct delivery_row *r = s->row;
    bool verified = s->policy->verify && has_id(s->in->ext_id);
    if (verified && r->state == DS_UNCERTAIN && strcmp(r->ext_id, s->in->ext_id) == 0)
        return decide_keep(s, VERDICT_ALREADY);
    if (verified && standing == STANDING_CURRENT) { /* 5b */
        struct delivery_decision d = decide_keep(s, VERDICT_CHANGE);
        decide_uncertain(&d, RS_VERIFY, s->now_ms + s->policy->visibility_lag_ms);
        d.commit_cap_ms = 1; /* it has committed: nothing is to be waited for */
        return d;
    }
    int own = doubt_has(&r->doubt, s->in->attempt, s->in->token);
    bool replay = r->doubt.count > own && s->policy->key_window_ms != 0;
    return decide_published(s, replay ? SRC_REPLAY : SRC_RESPONSE); /* 5, 18, 19 */
}

static int64_t later(int64_t a_ms, int64_t b_ms)
{
    return a_ms > b_ms ? a_ms : b_ms;
}

/* An attempt after the one that reports may have been made, and forgotten by a ledger that was set back since this one
 * was claimed, or that knows nothing of the delivery. 20 */
static bool forgets_a_later_one(const struct situation *s)
{
    return !s->policy->harmless && (s->in->set_back || s->row->state == DS_NONE);
}

/* Until when that later attempt can still commit, where no row says so and perhaps no epoch: it may be under way. */
static int64_t forgotten_commit_cap_ms(const struct situation *s)
{
    return s->row->state == DS_NONE ? s->policy->lease_ms + s->policy->late_commit_ms : 0;
}

static struct delivery_decision report_unknown(const struct situation *s, enum delivery_standing standing)
{
    const struct delivery_row *r = s->row;
    enum delivery_event e = s->in->event;
    struct delivery_decision d = decide_keep(s, VERDICT_CHANGE);
    if (standing == STANDING_CURRENT) { /* 8 */
        enum delivery_reason word = e == EV_CONFLICT ? RS_CONFLICT : e == EV_NO_ID ? RS_NO_ID : RS_NO_ANSWER;
        if (!s->policy->harmless) doubt_add(&d.doubt, r->attempt, r->token);
        decide_uncertain(&d, s->in->reason != RS_NONE ? s->in->reason : word, 0);
        d.commit_cap_ms = s->policy->late_commit_ms;
        return d;
    }
    if (standing != STANDING_FORGOTTEN || (s->policy->harmless && r->state != DS_NONE))
        return decide_keep(s, VERDICT_ALREADY);
    if (!s->policy->harmless) /* 20 */
        doubt_add(&d.doubt, s->in->attempt, s->in->token);
    d.commit_cap_ms = later(s->policy->late_commit_ms, forgotten_commit_cap_ms(s));
    if (r->state != DS_CLAIMED && r->state != DS_PUBLISHED) decide_uncertain(&d, RS_LATE_REPORT, 0);
    return d;
}

/* 6b: a person took it down. Only a person may put it up again. */
static struct delivery_decision report_deleted(const struct situation *s, enum delivery_standing standing)
{
    struct delivery_decision d = decide_keep(s, VERDICT_CHANGE);
    bool settled = s->row->state == DS_PUBLISHED || (s->row->state == DS_HELD && s->row->reason == RS_GONE);
    if (standing == STANDING_CLOSED || settled) return decide_keep(s, VERDICT_ALREADY);
    d.doubt.count = 0;
    decide_held(&d, RS_GONE);
    return d;
}

/* It has sent nothing, so a person who has mended what was wrong need not wait for its end. */
static void hold_unsendable(const struct situation *s, struct delivery_decision *d)
{
    decide_held(d, RS_UNSENDABLE);
    if (s->row->state == DS_CLAIMED) d->commit_cap_ms = 1;
}

/* Nothing is in doubt and this attempt did not commit: what now? Rows 6, 7, 7b and 7c. */
static struct delivery_decision not_committed(const struct situation *s, struct delivery_decision d)
{
    enum delivery_reason word = s->in->reason;
    const enum delivery_event e = s->in->event;
    if (e == EV_REFUSED)
        decide_rejected(&d, word != RS_NONE ? word : RS_REFUSED, SRC_RESPONSE);
    else if (e == EV_UNSENDABLE)
        hold_unsendable(s, &d);
    else if (e == EV_NOT_SENT)
        decide_approved(&d, RS_NOT_SENT, PLACE_AGENDA, decide_retry_at(s, s->in->attempt));
    else if (e == EV_WAIT)
        decide_approved(&d, word != RS_NONE ? word : RS_BLOCKED, PLACE_WAITING, s->in->until_ms);
    else if (e == EV_CREDENTIAL)
        decide_approved(&d, RS_CREDENTIAL, PLACE_WAITING, s->now_ms);
    else if (d.tries >= s->policy->max_attempts)
        decide_held(&d, RS_SPENT);
    else
        decide_approved(&d, RS_RETRY, PLACE_AGENDA, later(decide_retry_at(s, d.tries), s->in->until_ms));
    return d;
}

static enum delivery_reason word_in_doubt(enum delivery_event e)
{
    if (e == EV_UNSENDABLE) return RS_UNSENDABLE_IN_DOUBT;
    return e == EV_REFUSED ? RS_REFUSED_IN_DOUBT : RS_NOT_SENT_IN_DOUBT;
}

/* A report can end the delivery's state only if it is of the newest attempt, and nobody has decided otherwise
 * meanwhile. */
static bool decides_the_row(const struct situation *s)
{
    const struct delivery_row *r = s->row;
    bool newest = s->in->attempt == r->attempt && strcmp(s->in->token, r->token) == 0;
    bool open = r->state == DS_CLAIMED || r->state == DS_UNCERTAIN || r->reason == RS_NO_EVIDENCE;
    return r->state == DS_NONE || (newest && open);
}

static bool tells_nothing_new(const struct delivery_row *r, enum delivery_standing standing)
{
    bool forgotten = standing == STANDING_FORGOTTEN && r->state != DS_NONE;
    return standing == STANDING_CLOSED || forgotten || has_id(r->ext_id);
}

static struct delivery_decision report_negative(const struct situation *s, enum delivery_standing standing)
{
    enum delivery_event e = s->in->event;
    if (tells_nothing_new(s->row, standing)) return decide_keep(s, VERDICT_ALREADY);

    struct delivery_decision d = decide_keep(s, VERDICT_CHANGE);
    doubt_remove(&d.doubt, s->in->attempt, s->in->token);
    if (forgets_a_later_one(s)) {
        doubt_add_forgotten(&d.doubt);
        d.commit_cap_ms = forgotten_commit_cap_ms(s);
    }
    if (!decides_the_row(s)) { /* only the doubt is less; emptied, the next look hands the row back */
        if (d.state == DS_UNCERTAIN && d.doubt.count == 0) d.place = PLACE_WALK;
        return d;
    }
    if (e != EV_REFUSED && e != EV_NOT_COMMITTED && d.tries > 0)
        d.tries--; /* attempts count write requests that a platform executed or refused */
    d.pause_channel = e == EV_CREDENTIAL;
    d.block_until_ms = e == EV_WAIT ? s->in->until_ms : 0;
    if (d.doubt.count == 0) return not_committed(s, d);
    decide_uncertain(&d, word_in_doubt(e), 0);
    return d;
}

/* ---- operators ---- */

static struct delivery_decision step_retry(const struct situation *s)
{
    const struct delivery_row *r = s->row;
    bool ours = r->state == DS_HELD || (r->state == DS_REJECTED && s->in->event == EV_RETRY);
    if (!ours) return decide_keep(s, r->state == DS_CLAIMED ? VERDICT_BUSY : VERDICT_ALREADY);
    if (s->now_ms < r->commit_by_ms) return decide_keep(s, VERDICT_BUSY);
    struct delivery_decision d = decide_keep(s, VERDICT_CHANGE); /* 15 */
    decide_approved(&d, RS_OPERATOR, PLACE_AGENDA, 0);
    d.source = SRC_OPERATOR;
    d.tries = 0;
    d.waived = true;
    d.drop_times = true;
    d.new_generation = s->in->new_key;
    if (s->in->new_key) d.generation++;
    return d;
}

static struct delivery_decision step_confirm(const struct situation *s)
{
    if (s->row->state != DS_HELD && s->row->state != DS_UNCERTAIN)
        return decide_keep(s, s->row->state == DS_CLAIMED ? VERDICT_BUSY : VERDICT_ALREADY);
    return decide_published(s, SRC_OPERATOR); /* 16 */
}

static struct delivery_decision step_cancel(const struct situation *s)
{
    const struct delivery_row *r = s->row;
    bool doubted = r->state == DS_UNCERTAIN || r->doubt.count > 0;
    if (r->state == DS_CLAIMED) return decide_keep(s, VERDICT_BUSY);
    if (r->state == DS_PUBLISHED || r->state == DS_REJECTED || (doubted && !s->in->with_doubt))
        return decide_keep(s, VERDICT_ALREADY);
    struct delivery_decision d = decide_keep(s, VERDICT_CHANGE); /* 17 */
    decide_rejected(&d, RS_OPERATOR, SRC_OPERATOR);
    return d;
}

/* ---- the table ---- */

struct delivery_decision delivery_step(const struct delivery_row *row, const struct delivery_input *in,
                                       const struct delivery_policy *policy, int64_t now_ms)
{
    const struct situation s = {row, in, policy, now_ms};
    const enum delivery_standing standing = delivery_standing(row, policy->harmless, in->attempt, in->token);
    switch (in->event) {
    case EV_SUBMIT: return step_submit(&s);
    case EV_CLAIM: return step_claim(&s);
    case EV_LEASE_GONE: return step_lease_gone(&s);
    case EV_COMMITTED: return report_committed(&s, standing);
    case EV_NO_ID:
    case EV_UNKNOWN:
    case EV_CONFLICT: return report_unknown(&s, standing);
    case EV_DELETED: return report_deleted(&s, standing);
    case EV_REFUSED:
    case EV_NOT_SENT:
    case EV_UNSENDABLE:
    case EV_NOT_COMMITTED:
    case EV_WAIT:
    case EV_CREDENTIAL: return report_negative(&s, standing);
    case EV_FOUND:
    case EV_ABSENT:
    case EV_UNSEEN:
    case EV_GONE: return evidence_step(&s);
    case EV_RETRY:
    case EV_APPROVE: return step_retry(&s);
    case EV_CONFIRM: return step_confirm(&s);
    case EV_CANCEL: return step_cancel(&s);
    case EV_COUNT: break;
    }
    return decide_keep(&s, VERDICT_ALREADY);
}
