/* SPDX-License-Identifier: MIT */
/* Laws that hold on every line of the table, whatever its decision is. The lines themselves stand in delivery.golden.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "golden_cases.h"

/* What the ledger would make of the row: enough to ask delivery_step() a second time. */
static struct delivery_row apply(const struct golden_line *line)
{
    struct delivery_row r = line->row->row;
    const struct delivery_decision *d = &line->decision;
    if (r.state == DS_NONE && line->input->in.attempt > 0) {
        r.attempt = line->input->in.attempt;
        memcpy(r.token, line->input->in.token, sizeof r.token);
    }
    r.state = d->state;
    r.reason = d->reason;
    r.doubt = d->doubt;
    r.tries = d->tries;
    r.misses = d->misses;
    r.missed_at_ms = d->missed_at_ms;
    r.waived = d->waived;
    if (line->input->in.ext_id != NULL && r.ext_id[0] == '\0' && (d->state == DS_PUBLISHED || d->reason == RS_VERIFY))
        snprintf(r.ext_id, sizeof r.ext_id, "%s", line->input->in.ext_id);
    return r;
}

static bool is_report(enum delivery_event e)
{
    return e >= EV_COMMITTED && e <= EV_DELETED;
}

static void check_send_comes_from_claim_only(const struct golden_line *line, void *ctx)
{
    (void)ctx;
    if (line->decision.send) {
        assert_int_equal(EV_CLAIM, line->input->in.event);
        assert_int_equal(DS_CLAIMED, line->decision.state);
    }
    if (line->decision.verdict == VERDICT_CHANGE && line->decision.state == DS_CLAIMED &&
        line->row->row.state != DS_CLAIMED)
        assert_true(line->decision.send);
}

static void check_nothing_is_forgotten(const struct golden_line *line, void *ctx)
{
    (void)ctx;
    const struct delivery_decision *d = &line->decision;
    if (d->verdict != VERDICT_CHANGE || d->state == line->row->row.state)
        return; /* an unchanged state may leave its place as it is */
    if (d->state == DS_APPROVED || d->state == DS_CLAIMED)
        assert_true(d->place == PLACE_AGENDA || d->place == PLACE_WAITING);
    if (d->state == DS_UNCERTAIN) assert_int_equal(PLACE_WALK, d->place);
    assert_true(d->state != DS_NONE);
}

static void check_doubt_is_not_hidden(const struct golden_line *line, void *ctx)
{
    (void)ctx;
    const struct delivery_decision *d = &line->decision;
    const struct delivery_row *r = &line->row->row;
    bool by_person = line->input->in.event >= EV_RETRY;
    if (d->verdict != VERDICT_CHANGE || by_person) return;
    if (d->doubt.count > 0) { /* settled or held as anything but "no evidence" only where the doubt is gone */
        assert_true(d->state != DS_REJECTED || r->state == DS_REJECTED);
        assert_true(d->state != DS_HELD || d->reason == RS_NO_EVIDENCE || d->reason == RS_GONE);
    }
    if (line->policy->policy.harmless && r->doubt.count == 0) assert_int_equal(0, d->doubt.count);
    if (r->doubt.count > 0 && d->doubt.count == 0) /* a doubt ends by proof: a report, an absence, a post */
        assert_true(is_report(line->input->in.event) || d->doubt_cleared || d->state == DS_PUBLISHED);
}

/* A later attempt may have published it, and have been forgotten: only "committed" and "deleted" say more than
 * "unknown". */
static void check_a_set_back_ledger_ends_nothing(const struct golden_line *line, void *ctx)
{
    (void)ctx;
    const struct delivery_input *in = &line->input->in;
    const struct delivery_decision *d = &line->decision;
    bool negative = in->event >= EV_REFUSED && in->event <= EV_CREDENTIAL;
    bool forgetful = in->set_back || line->row->row.state == DS_NONE;
    if (!negative || !forgetful || line->policy->policy.harmless || d->verdict != VERDICT_CHANGE) return;
    assert_true(doubt_has_forgotten(&d->doubt));
    if (line->row->row.state == DS_NONE) /* and may be under way */
        assert_int_equal(line->policy->policy.lease_ms + line->policy->policy.late_commit_ms, d->commit_cap_ms);
}

static void check_evidence_wins(const struct golden_line *line, void *ctx)
{
    (void)ctx;
    enum delivery_event e = line->input->in.event;
    if (e != EV_COMMITTED && (e != EV_FOUND || line->row->row.state == DS_NONE)) return;
    bool kept = line->decision.state == DS_PUBLISHED || line->decision.reason == RS_VERIFY;
    assert_true(kept);
}

static void check_a_report_counts_once(const struct golden_line *line, void *ctx)
{
    (void)ctx;
    if (!is_report(line->input->in.event) || line->decision.verdict != VERDICT_CHANGE || line->decision.duplicate)
        return;
    struct delivery_row after = apply(line);
    struct delivery_decision again = delivery_step(&after, &line->input->in, &line->policy->policy, GOLDEN_NOW_MS);
    if (line->input->in.event == EV_COMMITTED && again.duplicate)
        return; /* a second id is an alarm each time it is reported */
    if (again.verdict != VERDICT_ALREADY)
        print_message("%s | %s | %s\n", line->row->name, line->input->name, line->policy->name);
    assert_int_equal(VERDICT_ALREADY, again.verdict);
}

static void check_no_second_send_before_commit_by(const struct golden_line *line, void *ctx)
{
    (void)ctx;
    const struct delivery_row *r = &line->row->row;
    enum delivery_event e = line->input->in.event;
    bool evidence_or_person = e == EV_ABSENT || e == EV_UNSEEN || e == EV_GONE || e >= EV_RETRY;
    bool open = r->state == DS_UNCERTAIN || r->state == DS_HELD;
    if (evidence_or_person && open && r->commit_by_ms > GOLDEN_NOW_MS && line->decision.verdict == VERDICT_CHANGE)
        assert_int_not_equal(DS_APPROVED, line->decision.state);
}

static void run(void (*check)(const struct golden_line *, void *))
{
    golden_each(check, NULL);
}

static void send_comes_from_claim_only(void **state)
{
    (void)state;
    run(check_send_comes_from_claim_only);
}

static void nothing_is_forgotten(void **state)
{
    (void)state;
    run(check_nothing_is_forgotten);
}

static void doubt_is_not_hidden(void **state)
{
    (void)state;
    run(check_doubt_is_not_hidden);
}

static void a_set_back_ledger_ends_nothing(void **state)
{
    (void)state;
    run(check_a_set_back_ledger_ends_nothing);
}

static void evidence_wins(void **state)
{
    (void)state;
    run(check_evidence_wins);
}

static void a_report_counts_once(void **state)
{
    (void)state;
    run(check_a_report_counts_once);
}

static void no_second_send_before_commit_by(void **state)
{
    (void)state;
    run(check_no_second_send_before_commit_by);
}

static void replay_window_ends_with_the_last_commit(void **state)
{
    (void)state;
    struct delivery_policy p = {
        .key_window_ms = 3600000, .lease_ms = 60000, .late_commit_ms = 30000, .margin_ms = 10000};
    struct delivery_row r = {.state = DS_APPROVED, .first_send_ms = 1000};
    assert_true(delivery_replay_allowed(&r, &p, 1000 + 3600000 - 100000));
    assert_false(delivery_replay_allowed(&r, &p, 1000 + 3600000 - 100000 + 1));
    r.first_send_ms = 0; /* a send that the ledger has forgotten: nobody knows when its window began */
    assert_false(delivery_replay_allowed(&r, &p, 1000));
    p.key_window_ms = DELIVERY_FOREVER;
    assert_true(delivery_replay_allowed(&r, &p, INT64_MAX / 2));
    p.key_window_ms = 0;
    assert_false(delivery_replay_allowed(&r, &p, 1000));
}

static void a_reused_number_is_not_the_same_attempt(void **state)
{
    (void)state;
    struct delivery_row r = {.state = DS_CLAIMED, .attempt = 3, .token = GOLDEN_TOKEN};
    doubt_add(&r.doubt, 2, GOLDEN_OLDER_TOKEN);
    assert_int_equal(STANDING_CURRENT, delivery_standing(&r, false, 3, GOLDEN_TOKEN));
    assert_int_equal(STANDING_FORGOTTEN, delivery_standing(&r, false, 3, GOLDEN_FOREIGN));
    assert_int_equal(STANDING_DOUBTFUL, delivery_standing(&r, false, 2, GOLDEN_OLDER_TOKEN));
    assert_int_equal(STANDING_CLOSED, delivery_standing(&r, false, 2, GOLDEN_FOREIGN));
    assert_int_equal(STANDING_FORGOTTEN, delivery_standing(&r, false, 4, GOLDEN_TOKEN));
}

static void a_success_under_a_new_key_says_nothing_about_the_old_one(void **state)
{
    (void)state;
    struct delivery_policy p = {.key_window_ms = 3600000, .max_attempts = 5};
    struct delivery_row r = {.state = DS_CLAIMED, .attempt = 2, .token = GOLDEN_TOKEN};
    struct delivery_input in = {.event = EV_COMMITTED, .attempt = 2, .token = GOLDEN_TOKEN, .ext_id = "42"};
    doubt_add(&r.doubt, 1, GOLDEN_OLDER_TOKEN);
    assert_int_equal(0, delivery_step(&r, &in, &p, GOLDEN_NOW_MS).doubt.count);
    r.generation = 1; /* an operator started a new key: the old attempt may have made a post of its own */
    assert_int_equal(1, delivery_step(&r, &in, &p, GOLDEN_NOW_MS).doubt.count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(send_comes_from_claim_only),
        cmocka_unit_test(nothing_is_forgotten),
        cmocka_unit_test(a_set_back_ledger_ends_nothing),
        cmocka_unit_test(doubt_is_not_hidden),
        cmocka_unit_test(evidence_wins),
        cmocka_unit_test(a_report_counts_once),
        cmocka_unit_test(no_second_send_before_commit_by),
        cmocka_unit_test(replay_window_ends_with_the_last_commit),
        cmocka_unit_test(a_reused_number_is_not_the_same_attempt),
        cmocka_unit_test(a_success_under_a_new_key_says_nothing_about_the_old_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
