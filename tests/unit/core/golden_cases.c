/* SPDX-License-Identifier: MIT */
#include "golden_cases.h"

#include <string.h>

#define NOW GOLDEN_NOW_MS
#define T   GOLDEN_TOKEN
#define MIN 60000LL

#define DOUBT_NEWEST                                                                                                   \
    {                                                                                                                  \
        .count = 1, .entry = { "2:aaaaaaaa" }                                                                          \
    }
#define DOUBT_OLDER                                                                                                    \
    {                                                                                                                  \
        .count = 1, .entry = { "1:bbbbbbbb" }                                                                          \
    }
#define DOUBT_BOTH                                                                                                     \
    {                                                                                                                  \
        .count = 2, .entry = { "1:bbbbbbbb", "2:aaaaaaaa" }                                                            \
    }

/* Two attempts were made, the first ten minutes ago; the newest could commit until five minutes ago. */
#define TRIED_BUT(tries_, since_, commit_by_)                                                                          \
    .rev = 7, .approved_at_ms = NOW - 20 * MIN, .attempt = 2, .token = T, .first_send_ms = NOW - 10 * MIN,             \
    .tries = (tries_), .since_ms = (since_), .commit_by_ms = (commit_by_)
#define TRIED           TRIED_BUT(2, NOW - 8 * MIN, NOW - 5 * MIN)
#define TRIED_N(n)      TRIED_BUT(n, NOW - 8 * MIN, NOW - 5 * MIN)
#define MAY_COMMIT      TRIED_BUT(2, NOW - 8 * MIN, NOW + MIN)
#define MAY_COMMIT_N(n) TRIED_BUT(n, NOW - 8 * MIN, NOW + MIN)

const struct golden_row golden_rows[] = {
    {"none", {.state = DS_NONE}},
    {"none, scheduled", {.state = DS_NONE, .not_before_ms = NOW + MIN}},
    {"approved",
     {.state = DS_APPROVED, .reason = RS_NEW, .rev = 1, .since_ms = NOW - MIN, .approved_at_ms = NOW - MIN}},
    {"approved, scheduled",
     {.state = DS_APPROVED, .reason = RS_SCHEDULED, .rev = 1, .approved_at_ms = NOW - MIN, .not_before_ms = NOW + MIN}},
    {"approved, expired",
     {.state = DS_APPROVED, .reason = RS_PACED, .rev = 1, .approved_at_ms = NOW - MIN, .not_after_ms = NOW - 1}},
    {"approved, spent", {.state = DS_APPROVED, .reason = RS_RETRY, TRIED_N(5)}},
    {"approved, in doubt", {.state = DS_APPROVED, .reason = RS_REPLAY, TRIED, .doubt = DOUBT_NEWEST}},
    {"approved, in doubt, expired",
     {.state = DS_APPROVED, .reason = RS_REPLAY, TRIED, .doubt = DOUBT_NEWEST, .not_after_ms = NOW - 1}},
    {"approved, in doubt, waived",
     {.state = DS_APPROVED, .reason = RS_OPERATOR, TRIED_N(0), .doubt = DOUBT_NEWEST, .waived = true}},
    {"claimed", {.state = DS_CLAIMED, .reason = RS_SENDING, MAY_COMMIT}},
    {"claimed, last try", {.state = DS_CLAIMED, .reason = RS_SENDING, MAY_COMMIT_N(5)}},
    {"claimed, older in doubt", {.state = DS_CLAIMED, .reason = RS_SENDING, MAY_COMMIT, .doubt = DOUBT_OLDER}},
    {"published", {.state = DS_PUBLISHED, .reason = RS_CONFIRMED, TRIED, .ext_id = "42"}},
    {"rejected", {.state = DS_REJECTED, .reason = RS_REFUSED, TRIED}},
    {"uncertain", {.state = DS_UNCERTAIN, .reason = RS_NO_ANSWER, TRIED, .doubt = DOUBT_NEWEST}},
    {"uncertain, may still commit", {.state = DS_UNCERTAIN, .reason = RS_NO_ANSWER, MAY_COMMIT, .doubt = DOUBT_NEWEST}},
    {"uncertain, one clean miss",
     {.state = DS_UNCERTAIN,
      .reason = RS_NO_ANSWER,
      TRIED,
      .doubt = DOUBT_NEWEST,
      .misses = 1,
      .missed_at_ms = NOW - 3 * MIN}},
    {"uncertain, missed just now",
     {.state = DS_UNCERTAIN,
      .reason = RS_NO_ANSWER,
      TRIED,
      .doubt = DOUBT_NEWEST,
      .misses = 1,
      .missed_at_ms = NOW - 2000}},
    {"uncertain, both in doubt", {.state = DS_UNCERTAIN, .reason = RS_REFUSED_IN_DOUBT, TRIED, .doubt = DOUBT_BOTH}},
    {"uncertain, older in doubt", {.state = DS_UNCERTAIN, .reason = RS_REFUSED_IN_DOUBT, TRIED, .doubt = DOUBT_OLDER}},
    {"uncertain, unsendable", {.state = DS_UNCERTAIN, .reason = RS_UNSENDABLE_IN_DOUBT, TRIED, .doubt = DOUBT_OLDER}},
    {"uncertain, doubt emptied", {.state = DS_UNCERTAIN, .reason = RS_REFUSED_IN_DOUBT, TRIED}},
    {"uncertain, spent",
     {.state = DS_UNCERTAIN,
      .reason = RS_NO_ANSWER,
      TRIED_N(5),
      .doubt = DOUBT_NEWEST,
      .misses = 1,
      .missed_at_ms = NOW - 3 * MIN}},
    {"uncertain, expired",
     {.state = DS_UNCERTAIN,
      .reason = RS_NO_ANSWER,
      TRIED,
      .doubt = DOUBT_NEWEST,
      .misses = 1,
      .missed_at_ms = NOW - 3 * MIN,
      .not_after_ms = NOW - 1}},
    {"uncertain, id known", {.state = DS_UNCERTAIN, .reason = RS_VERIFY, TRIED, .ext_id = "42"}},
    {"uncertain for eight days",
     {.state = DS_UNCERTAIN,
      .reason = RS_NO_ANSWER,
      TRIED_BUT(2, NOW - 8 * 24 * 60 * MIN, NOW - 5 * MIN),
      .doubt = DOUBT_NEWEST}},
    {"held approval", {.state = DS_HELD, .reason = RS_APPROVAL, .rev = 1, .approved_at_ms = NOW - MIN}},
    {"held no_evidence", {.state = DS_HELD, .reason = RS_NO_EVIDENCE, TRIED, .doubt = DOUBT_NEWEST}},
    {"held, may still commit", {.state = DS_HELD, .reason = RS_NO_EVIDENCE, MAY_COMMIT, .doubt = DOUBT_NEWEST}},
};
const int golden_row_count = (int)(sizeof golden_rows / sizeof golden_rows[0]);

#define NEWEST  .attempt = 2, .token = T
#define OLDER   .attempt = 1, .token = GOLDEN_OLDER_TOKEN
#define FOREIGN .attempt = 2, .token = GOLDEN_FOREIGN
#define SEARCH  .attempt = 2, .searched_from_ms = NOW - 1000

const struct golden_input golden_inputs[] = {
    {"submit", {.event = EV_SUBMIT}},
    {"submit, hold", {.event = EV_SUBMIT, .hold = true}},
    {"claim", {.event = EV_CLAIM, .token = GOLDEN_FOREIGN}},
    {"claim, first one open", {.event = EV_CLAIM, .token = GOLDEN_FOREIGN, .predecessor = PREDECESSOR_OPEN}},
    {"claim, first one failed", {.event = EV_CLAIM, .token = GOLDEN_FOREIGN, .predecessor = PREDECESSOR_FAILED}},
    {"lease_gone", {.event = EV_LEASE_GONE}},
    {"committed", {.event = EV_COMMITTED, NEWEST, .ext_id = "42"}},
    {"committed, other id", {.event = EV_COMMITTED, NEWEST, .ext_id = "43"}},
    {"committed by a forgotten attempt", {.event = EV_COMMITTED, FOREIGN, .ext_id = "42"}},
    {"no_id", {.event = EV_NO_ID, NEWEST}},
    {"refused", {.event = EV_REFUSED, NEWEST}},
    {"refused, set back since", {.event = EV_REFUSED, NEWEST, .set_back = true}},
    {"refused, older", {.event = EV_REFUSED, OLDER}},
    {"refused, older, set back since", {.event = EV_REFUSED, OLDER, .set_back = true}},
    {"refused, forgotten", {.event = EV_REFUSED, FOREIGN}},
    {"not_sent", {.event = EV_NOT_SENT, NEWEST}},
    {"not_sent, older", {.event = EV_NOT_SENT, OLDER}},
    {"not_sent, set back since", {.event = EV_NOT_SENT, NEWEST, .set_back = true}},
    {"unsendable", {.event = EV_UNSENDABLE, NEWEST}},
    {"unsendable, set back since", {.event = EV_UNSENDABLE, NEWEST, .set_back = true}},
    {"not_committed", {.event = EV_NOT_COMMITTED, NEWEST}},
    {"not_committed, set back since", {.event = EV_NOT_COMMITTED, NEWEST, .set_back = true}},
    {"wait", {.event = EV_WAIT, NEWEST, .until_ms = NOW + 30000}},
    {"wait, set back since", {.event = EV_WAIT, NEWEST, .until_ms = NOW + 30000, .set_back = true}},
    {"credential", {.event = EV_CREDENTIAL, NEWEST}},
    {"credential, set back since", {.event = EV_CREDENTIAL, NEWEST, .set_back = true}},
    {"unknown", {.event = EV_UNKNOWN, NEWEST}},
    {"unknown, older", {.event = EV_UNKNOWN, OLDER}},
    {"unknown, forgotten", {.event = EV_UNKNOWN, FOREIGN}},
    {"conflict", {.event = EV_CONFLICT, NEWEST}},
    {"deleted", {.event = EV_DELETED, NEWEST}},
    {"found", {.event = EV_FOUND, SEARCH, .ext_id = "42"}},
    {"found two", {.event = EV_FOUND, SEARCH, .ext_id = "42", .two_found = true}},
    {"absent", {.event = EV_ABSENT, SEARCH}},
    {"absent, searched too early", {.event = EV_ABSENT, .attempt = 2, .searched_from_ms = NOW - 5 * MIN}},
    {"absent, before the ledger may conclude", {.event = EV_ABSENT, SEARCH, .no_absence_before_ms = NOW + MIN}},
    {"absent, searched for an older attempt", {.event = EV_ABSENT, .attempt = 1, .searched_from_ms = NOW - 1000}},
    {"unseen", {.event = EV_UNSEEN, SEARCH}},
    {"gone", {.event = EV_GONE, SEARCH}},
    {"retry", {.event = EV_RETRY}},
    {"retry, new key", {.event = EV_RETRY, .new_key = true}},
    {"approve", {.event = EV_APPROVE}},
    {"confirm", {.event = EV_CONFIRM, .ext_id = "42"}},
    {"cancel", {.event = EV_CANCEL}},
    {"cancel, with the doubt", {.event = EV_CANCEL, .with_doubt = true}},
};
const int golden_input_count = (int)(sizeof golden_inputs / sizeof golden_inputs[0]);

#define COMMON                                                                                                         \
    .lease_ms = MIN, .late_commit_ms = 30000, .margin_ms = 10000, .visibility_lag_ms = MIN, .clean_misses = 2,         \
    .max_attempts = 5, .backoff_base_ms = 10000, .backoff_cap_ms = 60 * MIN, .give_up_after_ms = 7 * 24 * 60 * MIN

const struct golden_policy golden_policies[] = {
    {"read", {COMMON, .can_read = true}},
    {"read, on_absent=hold", {COMMON, .can_read = true, .hold_absent = true}},
    {"key, 1 h", {COMMON, .can_read = true, .key_window_ms = 60 * MIN}},
    {"key, 11 min", {COMMON, .can_read = true, .key_window_ms = 11 * MIN}},
    {"key, stores failures", {COMMON, .can_read = true, .key_window_ms = 11 * MIN, .stores_failures = true}},
    {"upsert, verified", {COMMON, .can_read = true, .key_window_ms = DELIVERY_FOREVER, .verify = true}},
    {"blind", {COMMON}},
    {"ping", {COMMON, .harmless = true}},
};
const int golden_policy_count = (int)(sizeof golden_policies / sizeof golden_policies[0]);

bool golden_exists(const struct golden_row *row, const struct golden_policy *policy)
{
    return !policy->policy.harmless || row->row.doubt.count == 0;
}

void golden_each(void (*each)(const struct golden_line *line, void *ctx), void *ctx)
{
    for (int r = 0; r < golden_row_count; r++) {
        for (int i = 0; i < golden_input_count; i++) {
            for (int p = 0; p < golden_policy_count; p++) {
                if (!golden_exists(&golden_rows[r], &golden_policies[p])) continue;
                struct golden_line line = {&golden_rows[r], &golden_inputs[i], &golden_policies[p], {0}};
                line.decision = delivery_step(&line.row->row, &line.input->in, &line.policy->policy, GOLDEN_NOW_MS);
                each(&line, ctx);
            }
        }
    }
}
