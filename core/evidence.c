/* SPDX-License-Identifier: MIT */
/* The table's other half: what reading the platform back does to an uncertain delivery.
 *
 * Evidence that the post exists always wins. Evidence that it does not exist counts only if the search was complete,
 * was made for the row's newest attempt, and began after the last moment at which that attempt could still commit and
 * become visible. */
#include "core/decide.h"

#include "core/backoff.h"

/* A search proves nothing before this moment. */
static int64_t settled_at(const struct situation *s)
{
    int64_t visible_ms = s->row->commit_by_ms + s->policy->visibility_lag_ms;
    return visible_ms > s->in->no_absence_before_ms ? visible_ms : s->in->no_absence_before_ms;
}

/* What is frozen may have turned out to be nothing that can be sent. */
static bool may_replay(const struct situation *s)
{
    return s->row->reason != RS_UNSENDABLE_IN_DOUBT && s->now_ms >= s->row->commit_by_ms &&
           s->row->tries < s->policy->max_attempts && s->row->doubt.count > 0 && !decide_expired(s) &&
           delivery_replay_allowed(s->row, s->policy, s->now_ms);
}

/* Proven not to exist, and wanted: back to the workers, unless a person has to decide. */
static struct delivery_decision hand_back(const struct situation *s, enum delivery_reason why)
{
    struct delivery_decision d = decide_keep(s, VERDICT_CHANGE);
    d.doubt_cleared = s->row->doubt.count > 0;
    d.doubt.count = 0;
    d.misses = 0;
    d.missed_at_ms = 0;
    if (decide_expired(s))
        decide_held(&d, RS_EXPIRED);
    else if (s->row->tries >= s->policy->max_attempts)
        decide_held(&d, RS_SPENT);
    else if (s->policy->hold_absent && why == RS_ABSENT)
        decide_held(&d, RS_ABSENT);
    else
        decide_approved(&d, why, PLACE_AGENDA, why == RS_ABSENT ? 0 : decide_retry_at(s, s->row->tries));
    d.new_generation = d.state == DS_APPROVED && s->policy->stores_failures && s->policy->key_window_ms != 0;
    if (d.new_generation) d.generation++;
    return d;
}

static struct delivery_decision look_again(const struct situation *s, int64_t not_before_ms)
{
    struct delivery_decision d = decide_keep(s, VERDICT_CHANGE);
    int64_t due_ms = decide_retry_at(s, 1);
    decide_uncertain(&d, s->row->reason, not_before_ms > due_ms ? not_before_ms : due_ms);
    return d;
}

/* Nothing was learned. 11, 13, 14 */
static struct delivery_decision step_unseen(const struct situation *s)
{
    const struct delivery_row *r = s->row;
    const bool given_up = s->now_ms - r->since_ms > s->policy->give_up_after_ms;
    struct delivery_decision d = decide_keep(s, VERDICT_CHANGE);
    if (r->ext_id[0] != '\0') { /* it was published once: only a person may send it again */
        if (!given_up) return look_again(s, 0);
        decide_held(&d, RS_NO_EVIDENCE);
        return d;
    }
    if (s->now_ms < r->commit_by_ms) return look_again(s, r->commit_by_ms);
    if (r->doubt.count == 0) return hand_back(s, s->policy->harmless ? RS_RETRY : RS_ABSENT);
    if (may_replay(s)) {
        decide_approved(&d, RS_REPLAY, PLACE_AGENDA, r->tries > 1 ? decide_retry_at(s, r->tries) : 0);
        return d;
    }
    if (given_up || !s->policy->can_read) {
        decide_held(&d, RS_NO_EVIDENCE);
        return d;
    }
    return look_again(s, 0);
}

static struct delivery_decision step_absent(const struct situation *s)
{
    const struct delivery_row *r = s->row;
    if (s->in->searched_from_ms < settled_at(s)) {
        struct delivery_decision d = step_unseen(s);
        if (d.state == DS_UNCERTAIN && d.due_ms < settled_at(s)) d.due_ms = settled_at(s);
        return d;
    }
    struct delivery_decision d = decide_keep(s, VERDICT_CHANGE);
    if (r->ext_id[0] != '\0') { /* 12: a person may have deleted it */
        decide_held(&d, RS_GONE);
        return d;
    }
    bool counts = r->misses == 0 || s->in->searched_from_ms >= r->missed_at_ms + s->policy->visibility_lag_ms;
    int misses = r->misses + (counts ? 1 : 0);
    if (misses >= s->policy->clean_misses) return hand_back(s, RS_ABSENT);
    d = may_replay(s) ? step_unseen(s) : look_again(s, s->in->searched_from_ms + s->policy->visibility_lag_ms);
    d.misses = misses;
    d.missed_at_ms = counts ? s->in->searched_from_ms : r->missed_at_ms;
    return d;
}

struct delivery_decision evidence_step(const struct situation *s)
{
    const struct delivery_row *r = s->row;
    if (s->in->event == EV_FOUND)
        return r->state == DS_NONE ? decide_keep(s, VERDICT_ALREADY)
                                   : decide_published(s, SRC_READ_BACK); /* 10, 18, 19 */
    if (r->state != DS_UNCERTAIN || s->in->attempt != r->attempt) return decide_keep(s, VERDICT_ALREADY);
    if (s->in->event == EV_UNSEEN) return step_unseen(s);
    if (s->in->event == EV_GONE && r->ext_id[0] == '\0') return decide_keep(s, VERDICT_ALREADY);
    return step_absent(s);
}
