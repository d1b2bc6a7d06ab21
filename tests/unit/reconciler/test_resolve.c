/* SPDX-License-Identifier: MIT */
/* From evidence to decision, and when the account is looked at next. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "reconciler/resolve.h"

#define NOW       INT64_C(1790000000000)
#define COMMIT_BY (NOW - 100000)
#define LAG       60000
#define SETTLED   (COMMIT_BY + LAG)
#define HOUR      INT64_C(3600000)

/* A platform that can be read and has no key. */
static const struct delivery_policy read_policy = {
    .gives_id = true,
    .can_read = true,
    .lease_ms = 60000,
    .late_commit_ms = 30000,
    .margin_ms = 10000,
    .visibility_lag_ms = LAG,
    .clean_misses = 1,
    .max_attempts = 5,
    .backoff_base_ms = 5000,
    .backoff_cap_ms = HOUR,
    .give_up_after_ms = 7 * 24 * HOUR,
};

static struct delivery_policy policy_with(int64_t key_window_ms, bool can_read, bool harmless, int clean_misses)
{
    struct delivery_policy p = read_policy;
    p.key_window_ms = key_window_ms;
    p.can_read = can_read;
    p.harmless = harmless;
    p.clean_misses = clean_misses;
    return p;
}

static struct delivery_row uncertain_row(void)
{
    struct delivery_row row = {
        .state = DS_UNCERTAIN,
        .reason = RS_NO_ANSWER,
        .rev = 4,
        .since_ms = NOW - 90000,
        .approved_at_ms = NOW - 300000,
        .attempt = 2,
        .tries = 2,
        .token = "0123456789abcdef",
        .first_send_ms = NOW - 200000,
        .commit_by_ms = COMMIT_BY,
    };
    doubt_add(&row.doubt, 2, row.token);
    return row;
}

static struct evidence evidence_of(enum delivery_event event)
{
    return (struct evidence){
        .event = event, .attempt = 2, .searched_from_ms = NOW - 1000, .how = "listing", .ext_id = "117", .url = "u"};
}

static const struct resolve_moment now = {NOW, 0, 7};

static void each_evidence_is_one_decision(void **state)
{
    (void)state;
    const struct delivery_policy key = policy_with(24 * HOUR, true, false, 1);
    const struct delivery_policy blind = policy_with(0, false, false, 1);
    const struct delivery_policy ping = policy_with(0, false, true, 1);
    const struct delivery_policy two = policy_with(0, true, false, 2);
    const struct {
        const char *name;
        const struct delivery_policy *policy;
        enum delivery_event event;
        int64_t searched_from_ms;
        enum delivery_state state;
        enum delivery_reason reason;
        bool writes, rests;
    } cases[] = {
        {"found", &read_policy, EV_FOUND, NOW - 1000, DS_PUBLISHED, RS_CONFIRMED, true, false},
        {"found before the settle window ends", &read_policy, EV_FOUND, COMMIT_BY, DS_PUBLISHED, RS_CONFIRMED, true,
         false},
        {"absent, settled", &read_policy, EV_ABSENT, SETTLED, DS_APPROVED, RS_ABSENT, true, true},
        {"absent, a moment too early", &read_policy, EV_ABSENT, SETTLED - 1, DS_UNCERTAIN, RS_NO_ANSWER, false, false},
        {"absent, the first of two", &two, EV_ABSENT, SETTLED, DS_UNCERTAIN, RS_NO_ANSWER, true, true},
        {"unseen", &read_policy, EV_UNSEEN, NOW - 1000, DS_UNCERTAIN, RS_NO_ANSWER, false, false},
        {"unseen, a key that is honoured", &key, EV_UNSEEN, NOW - 1000, DS_APPROVED, RS_REPLAY, true, false},
        {"unseen, nothing can be read", &blind, EV_UNSEEN, NOW - 1000, DS_HELD, RS_NO_EVIDENCE, true, false},
        {"gone, but no id was ever known", &read_policy, EV_GONE, NOW - 1000, DS_UNCERTAIN, RS_NO_ANSWER, false, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct delivery_row row = uncertain_row();
        struct evidence evidence = evidence_of(cases[i].event);
        evidence.searched_from_ms = cases[i].searched_from_ms;
        const struct delivery_decision d = resolve_decide(&row, &evidence, cases[i].policy, &now);
        const bool rests = resolve_rests_on_absence(&row, &evidence, cases[i].policy, 0);
        if (d.state != cases[i].state || d.reason != cases[i].reason || resolve_writes(&row, &d) != cases[i].writes ||
            rests != cases[i].rests)
            fail_msg("%s: %s %s, writes %d, rests on absence %d", cases[i].name, delivery_state_name(d.state),
                     delivery_reason_name(d.reason), resolve_writes(&row, &d), rests);
    }
    struct delivery_row harmless = uncertain_row();
    harmless.doubt.count = 0;
    const struct evidence unseen = evidence_of(EV_UNSEEN);
    const struct delivery_decision d = resolve_decide(&harmless, &unseen, &ping, &now);
    assert_int_equal(DS_APPROVED, d.state);
    assert_int_equal(RS_RETRY, d.reason);
}

static void an_absence_counts_for_its_attempt_only(void **state)
{
    (void)state;
    struct delivery_row row = uncertain_row();
    const struct evidence absent = evidence_of(EV_ABSENT);
    row.attempt = 3;
    struct delivery_decision d = resolve_decide(&row, &absent, &read_policy, &now);
    assert_false(resolve_writes(&row, &d));
    const struct evidence found = evidence_of(EV_FOUND); /* but a post that was read exists, whoever made it */
    d = resolve_decide(&row, &found, &read_policy, &now);
    assert_int_equal(DS_PUBLISHED, d.state);
}

static void what_was_published_before_is_only_held(void **state)
{
    (void)state;
    struct delivery_row row = uncertain_row();
    snprintf(row.ext_id, sizeof row.ext_id, "117");
    const struct evidence gone = evidence_of(EV_GONE);
    const struct delivery_decision d = resolve_decide(&row, &gone, &read_policy, &now);
    assert_int_equal(DS_HELD, d.state);
    assert_int_equal(RS_GONE, d.reason);
}

static void two_posts_are_an_alarm(void **state)
{
    (void)state;
    const struct delivery_row row = uncertain_row();
    struct evidence found = evidence_of(EV_FOUND);
    assert_false(resolve_decide(&row, &found, &read_policy, &now).duplicate);
    found.duplicate_id = "118";
    const struct delivery_decision d = resolve_decide(&row, &found, &read_policy, &now);
    assert_true(d.duplicate);
    assert_int_equal(DS_PUBLISHED, d.state);
    struct evidence unseen = found; /* an id that stands there without a find says nothing */
    unseen.event = EV_UNSEEN;
    assert_false(resolve_decide(&row, &unseen, &read_policy, &now).duplicate);
}

static void the_id_that_is_known_stays(void **state)
{
    (void)state;
    struct delivery_row row = uncertain_row();
    struct evidence found = evidence_of(EV_FOUND);
    found.duplicate_id = "118";
    struct resolve_ids ids = resolve_ids(&row, &found);
    assert_string_equal("117", ids.kept);
    assert_string_equal("u", ids.url);
    assert_string_equal("118", ids.duplicate);
    snprintf(row.ext_id, sizeof row.ext_id, "118"); /* of the two that were found it is the one that is known */
    ids = resolve_ids(&row, &found);
    assert_string_equal("118", ids.kept);
    assert_null(ids.url);
    assert_string_equal("117", ids.duplicate);
    found.event = EV_UNSEEN;
    assert_null(resolve_ids(&row, &found).kept);
}

static void no_absence_before_holds_everything_back(void **state)
{
    (void)state;
    const struct delivery_row row = uncertain_row();
    const struct evidence absent = evidence_of(EV_ABSENT);
    const struct resolve_moment rewound = {NOW, NOW + HOUR, 7};
    const struct delivery_decision d = resolve_decide(&row, &absent, &read_policy, &rewound);
    assert_int_equal(DS_UNCERTAIN, d.state);
    assert_false(resolve_writes(&row, &d));
    assert_false(resolve_rests_on_absence(&row, &absent, &read_policy, NOW + HOUR));
    assert_true(resolve_next_moment_ms(&row, &read_policy, &rewound) == NOW + HOUR);
}

static void an_absence_needs_marks_that_could_have_shown_it(void **state)
{
    (void)state;
    const struct {
        enum delivery_event walked;
        enum mark_result result;
        enum delivery_event event;
    } cases[] = {
        {EV_ABSENT, MARK_UNSEEN, EV_ABSENT},    {EV_ABSENT, MARK_UNMARKED, EV_UNSEEN},
        {EV_ABSENT, MARK_AMBIGUOUS, EV_UNSEEN}, {EV_ABSENT, MARK_NEAR, EV_UNSEEN},
        {EV_UNSEEN, MARK_UNSEEN, EV_UNSEEN},    {EV_FOUND, MARK_FOUND, EV_FOUND},
        {EV_FOUND, MARK_AMBIGUOUS, EV_UNSEEN},  {EV_UNSEEN, MARK_FOUND, EV_UNSEEN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (resolve_listing_event(cases[i].walked, cases[i].result) != cases[i].event) fail_msg("case %zu", i);
}

static void the_next_moment(void **state)
{
    (void)state;
    const struct delivery_policy key = policy_with(24 * HOUR, true, false, 2);
    const struct delivery_policy blind = policy_with(0, false, false, 1);
    struct delivery_row row = uncertain_row();
    assert_int_equal(0, resolve_next_moment_ms(&row, &key, &now));
    row.commit_by_ms = NOW + 20000;
    assert_true(resolve_next_moment_ms(&row, &key, &now) == NOW + 20000);
    assert_true(resolve_next_moment_ms(&row, &blind, &now) == NOW + 20000);
    assert_true(resolve_next_moment_ms(&row, &read_policy, &now) == NOW + 20000 + LAG);
    row.commit_by_ms = COMMIT_BY;
    row.misses = 1;
    row.missed_at_ms = NOW - 10000;
    assert_true(resolve_next_moment_ms(&row, &key, &now) == NOW - 10000 + LAG);
    row.missed_at_ms = NOW - 2 * LAG;
    assert_int_equal(0, resolve_next_moment_ms(&row, &key, &now));
}

static void the_next_look(void **state)
{
    (void)state;
    struct resolve_outlook outlook = {0};
    assert_int_equal(0, resolve_next_look_ms(&outlook, 0, &read_policy, &now)); /* nothing is left */

    resolve_outlook_add(&outlook, NOW + 3000, 0);
    resolve_outlook_add(&outlook, NOW + 9000, 0);
    assert_true(resolve_next_look_ms(&outlook, 0, &read_policy, &now) == NOW + 3000); /* the earliest due */

    int64_t before = 0; /* looks that change nothing grow apart, up to the cap */
    for (int64_t looks = 1; looks < 100; looks++) {
        const int64_t look = resolve_next_look_ms(&outlook, looks, &read_policy, &now) - NOW;
        assert_true(look <= HOUR);
        assert_true(look >= 3000);
        if (looks > 3 && looks < 10) assert_true(look > before);
        before = look;
    }
    assert_true(before >= HOUR / 2);

    resolve_outlook_add(&outlook, NOW + 9000, NOW + 40000); /* but not past the moment that is waited for */
    assert_true(resolve_next_look_ms(&outlook, 50, &read_policy, &now) == NOW + 40000);
    outlook.not_before_ms = NOW + 90000; /* unless the platform asked to wait */
    assert_true(resolve_next_look_ms(&outlook, 50, &read_policy, &now) == NOW + 90000);

    struct resolve_outlook due_now = {0}; /* never twice within a second, */
    resolve_outlook_add(&due_now, NOW, 0);
    assert_true(resolve_next_look_ms(&due_now, 0, &read_policy, &now) == NOW + RESOLVE_LOOK_MIN_MS);
    resolve_outlook_add(&due_now, NOW, NOW + 200); /* unless a delivery's moment comes then */
    assert_true(resolve_next_look_ms(&due_now, 0, &read_policy, &now) == NOW + 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_evidence_is_one_decision),
        cmocka_unit_test(an_absence_counts_for_its_attempt_only),
        cmocka_unit_test(what_was_published_before_is_only_held),
        cmocka_unit_test(two_posts_are_an_alarm),
        cmocka_unit_test(the_id_that_is_known_stays),
        cmocka_unit_test(no_absence_before_holds_everything_back),
        cmocka_unit_test(an_absence_needs_marks_that_could_have_shown_it),
        cmocka_unit_test(the_next_moment),
        cmocka_unit_test(the_next_look),
    };
    return cmocka_run_group_tests_name("reconciler_resolve", tests, NULL, NULL);
}
