/* SPDX-License-Identifier: MIT */
#include "platforms/rehearse.h"

#include <string.h>

#include "core/backoff.h"

struct delivery_row rehearse_row(const struct delivery_policy *policy, enum delivery_state state, bool again)
{
    struct delivery_row row = {.state = state,
                               .reason = state == DS_CLAIMED ? RS_SENDING : RS_NO_ANSWER,
                               .since_ms = REHEARSE_SEND_MS,
                               .approved_at_ms = REHEARSE_SEND_MS - 1000,
                               .attempt = again ? 2 : 1,
                               .tries = again ? 2 : 1,
                               .first_send_ms = again ? REHEARSE_SEND_MS - REHEARSE_AGAIN_MS : REHEARSE_SEND_MS,
                               .commit_by_ms = REHEARSE_SEND_MS + policy->lease_ms + policy->late_commit_ms};
    memcpy(row.token, REHEARSE_TOKEN, sizeof(REHEARSE_TOKEN));
    if (again && !policy->harmless) doubt_add(&row.doubt, 1, "old");
    if (state == DS_UNCERTAIN && !policy->harmless) doubt_add(&row.doubt, row.attempt, REHEARSE_TOKEN);
    return row;
}

struct delivery_decision rehearse_report(const struct channel *channel, const struct outcome *outcome, bool again)
{
    const struct delivery_policy *policy = &channel->policy;
    const struct delivery_row row = rehearse_row(policy, DS_CLAIMED, again);
    struct delivery_input in = {.event = outcome->kind,
                                .reason = outcome->reason,
                                .attempt = row.attempt,
                                .ext_id = outcome->ext_id,
                                .two_found = outcome->duplicate[0] != '\0',
                                .until_ms = outcome->wait_ms > 0 ? REHEARSE_NOW_MS + outcome->wait_ms : 0};
    memcpy(in.token, REHEARSE_TOKEN, sizeof(REHEARSE_TOKEN));
    if (outcome->kind == EV_WAIT && outcome->wait_ms == 0) /* as the worker does */
        in.until_ms = REHEARSE_NOW_MS + backoff_ms(row.attempt, policy->backoff_base_ms, policy->backoff_cap_ms, 0);
    return delivery_step(&row, &in, policy, REHEARSE_NOW_MS);
}

int rehearse_success_status(const struct descriptor *d)
{
    for (size_t i = 0; i < d->rule_count; i++)
        if (d->rules[i].outcome == OUTCOME_COMMITTED && d->rules[i].statuses.count > 0)
            return d->rules[i].statuses.status[0];
    return 200;
}

struct delivery_decision rehearse_look(const struct delivery_policy *policy, const struct rehearse_look *look)
{
    struct delivery_row row = rehearse_row(policy, DS_UNCERTAIN, false);
    if (look->known_id) memcpy(row.ext_id, "7", 2);
    if (look->last_miss && policy->clean_misses > 1) {
        row.misses = policy->clean_misses - 1;
        row.missed_at_ms = look->now_ms - policy->visibility_lag_ms - 1000;
    }
    const struct delivery_input in = {.event = look->event,
                                      .attempt = row.attempt,
                                      .ext_id = look->event == EV_FOUND ? "7" : NULL,
                                      .two_found = look->two,
                                      .searched_from_ms = look->now_ms};
    return delivery_step(&row, &in, policy, look->now_ms);
}
