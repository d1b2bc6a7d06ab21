/* SPDX-License-Identifier: MIT */
#include "reconciler/resolve.h"

#include <string.h>

#include "core/backoff.h"

enum delivery_event resolve_listing_event(enum delivery_event walked, enum mark_result result)
{
    if (walked == EV_FOUND && result == MARK_FOUND) return EV_FOUND;
    if (walked == EV_ABSENT && result == MARK_UNSEEN) return EV_ABSENT;
    return EV_UNSEEN;
}

struct delivery_decision resolve_decide(const struct delivery_row *row, const struct evidence *evidence,
                                        const struct delivery_policy *policy, const struct resolve_moment *moment)
{
    const struct delivery_input in = {
        .event = evidence->event,
        .attempt = evidence->attempt,
        .ext_id = evidence->event == EV_FOUND ? evidence->ext_id : NULL,
        .two_found = evidence->event == EV_FOUND && evidence->duplicate_id != NULL,
        .searched_from_ms = evidence->searched_from_ms,
        .no_absence_before_ms = moment->no_absence_before_ms,
        .jitter = moment->jitter,
    };
    return delivery_step(row, &in, policy, moment->now_ms);
}

int64_t resolve_settled_at_ms(const struct delivery_row *row, const struct delivery_policy *policy,
                              int64_t no_absence_before_ms)
{
    const int64_t visible_ms = row->commit_by_ms + policy->visibility_lag_ms;
    return visible_ms > no_absence_before_ms ? visible_ms : no_absence_before_ms;
}

bool resolve_rests_on_absence(const struct delivery_row *row, const struct evidence *evidence,
                              const struct delivery_policy *policy, int64_t no_absence_before_ms)
{
    return (evidence->event == EV_ABSENT || evidence->event == EV_GONE) && row->state == DS_UNCERTAIN &&
           evidence->searched_from_ms >= resolve_settled_at_ms(row, policy, no_absence_before_ms);
}

bool resolve_writes(const struct delivery_row *row, const struct delivery_decision *decision)
{
    if (decision->verdict != VERDICT_CHANGE) return false;
    return decision->state != row->state || decision->reason != row->reason || decision->misses != row->misses ||
           decision->missed_at_ms != row->missed_at_ms || decision->doubt.count != row->doubt.count ||
           decision->duplicate || decision->new_generation;
}

struct resolve_ids resolve_ids(const struct delivery_row *row, const struct evidence *evidence)
{
    const bool other = row->ext_id[0] != '\0' && evidence->ext_id != NULL && strcmp(row->ext_id, evidence->ext_id) != 0;
    if (evidence->event != EV_FOUND) return (struct resolve_ids){NULL, NULL, NULL};
    if (other) return (struct resolve_ids){row->ext_id, NULL, evidence->ext_id};
    return (struct resolve_ids){evidence->ext_id, evidence->url, evidence->duplicate_id};
}

/* The earlier of two moments that are still to come; 0 is none. */
static int64_t earlier(int64_t a_ms, int64_t b_ms, int64_t now_ms)
{
    if (b_ms <= now_ms) return a_ms;
    return a_ms == 0 || b_ms < a_ms ? b_ms : a_ms;
}

int64_t resolve_next_moment_ms(const struct delivery_row *row, const struct delivery_policy *policy,
                               const struct resolve_moment *moment)
{
    const int64_t now_ms = moment->now_ms;
    const bool replays = policy->harmless || policy->key_window_ms != 0;
    int64_t next_ms = 0;
    if (row->ext_id[0] == '\0' && (replays || !policy->can_read)) next_ms = earlier(next_ms, row->commit_by_ms, now_ms);
    if (policy->can_read) {
        next_ms = earlier(next_ms, resolve_settled_at_ms(row, policy, moment->no_absence_before_ms), now_ms);
        if (row->misses > 0) next_ms = earlier(next_ms, row->missed_at_ms + policy->visibility_lag_ms, now_ms);
    }
    return next_ms;
}

void resolve_outlook_add(struct resolve_outlook *outlook, int64_t due_ms, int64_t moment_ms)
{
    if (outlook->due_ms == 0 || due_ms < outlook->due_ms) outlook->due_ms = due_ms;
    if (moment_ms != 0 && (outlook->moment_ms == 0 || moment_ms < outlook->moment_ms)) outlook->moment_ms = moment_ms;
}

int64_t resolve_next_look_ms(const struct resolve_outlook *outlook, int64_t looks, const struct delivery_policy *policy,
                             const struct resolve_moment *moment)
{
    const int64_t now_ms = moment->now_ms;
    const int failures = looks > 60 ? 60 : (int)looks;
    int64_t look_ms = outlook->due_ms;
    if (look_ms == 0) return 0;
    if (failures > 0) {
        const int64_t backed_off_ms =
            now_ms + backoff_ms(failures, policy->backoff_base_ms, policy->backoff_cap_ms, moment->jitter);
        if (look_ms < backed_off_ms) look_ms = backed_off_ms;
    }
    if (look_ms < now_ms + RESOLVE_LOOK_MIN_MS) look_ms = now_ms + RESOLVE_LOOK_MIN_MS;
    if (outlook->moment_ms > now_ms && outlook->moment_ms < look_ms) look_ms = outlook->moment_ms;
    return look_ms > outlook->not_before_ms ? look_ms : outlook->not_before_ms;
}
