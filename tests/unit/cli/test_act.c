/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "cli/act.h"

#define NOW INT64_C(1788246000000)

static const struct delivery_policy KEYED = {.gives_id = true,
                                             .can_read = true,
                                             .key_window_ms = 3600000,
                                             .lease_ms = 60000,
                                             .late_commit_ms = 30000,
                                             .margin_ms = 10000,
                                             .max_attempts = 5};
static const struct delivery_policy BLIND = {.gives_id = true, .lease_ms = 60000, .max_attempts = 5};
static const struct delivery_policy HARMLESS = {.harmless = true, .lease_ms = 60000, .max_attempts = 5};

static struct delivery_row a_row(enum delivery_state state, enum delivery_reason reason, const char *doubt)
{
    struct delivery_row row = {.state = state, .reason = reason, .rev = 1, .since_ms = NOW - 5000, .attempt = 2};
    assert_true(doubt_parse(doubt, &row.doubt));
    return row;
}

static struct act_plan plan(const struct act *act, const struct delivery_row *row, const struct delivery_policy *policy)
{
    struct act_plan out;
    const struct act_facts facts = {
        .row = row, .policy = policy, .defaults = &BLIND, .now_ms = NOW, .lease_ends_ms = NOW + 7000};
    act_plan(act, &facts, &out);
    return out;
}

/* Every event on every state has an answer, and whatever is not done says why. */
static void test_every_state_is_answered(void **state)
{
    (void)state;
    static const enum delivery_event events[] = {EV_RETRY, EV_APPROVE, EV_CONFIRM, EV_CANCEL};
    static const enum act_answer expected[COUNT(events)][DS_COUNT] = {
        /* none, approved, claimed, published, rejected, uncertain, held */
        {ACT_MISSING, ACT_ALREADY, ACT_BUSY, ACT_ALREADY, ACT_DONE, ACT_OPEN, ACT_DONE},
        {ACT_MISSING, ACT_ALREADY, ACT_BUSY, ACT_ALREADY, ACT_REFUSED, ACT_OPEN, ACT_DONE},
        {ACT_MISSING, ACT_REFUSED, ACT_BUSY, ACT_REFUSED, ACT_REFUSED, ACT_DONE, ACT_DONE},
        {ACT_MISSING, ACT_DONE, ACT_BUSY, ACT_REFUSED, ACT_ALREADY, ACT_REFUSED, ACT_DONE}};
    for (size_t e = 0; e < COUNT(events); e++) {
        for (int s = 0; s < DS_COUNT; s++) {
            const struct act act = {.event = events[e], .ext_id = events[e] == EV_CONFIRM ? "7" : NULL};
            const struct delivery_row row = a_row((enum delivery_state)s, RS_NONE, "");
            const struct act_plan p = plan(&act, &row, &KEYED);
            assert_int_equal(p.answer, expected[e][s]);
            assert_int_equal(p.text.text[0] == '\0', p.answer == ACT_DONE);
            assert_int_equal(p.until_ms, s == DS_CLAIMED ? NOW + 7000 : 0);
        }
    }
}

static void test_busy_until_it_cannot_commit(void **state)
{
    (void)state;
    const struct act act = {.event = EV_RETRY};
    struct delivery_row row = a_row(DS_HELD, RS_NO_EVIDENCE, "1:aa");
    row.commit_by_ms = NOW + 1;
    struct act_plan p = plan(&act, &row, &KEYED);
    assert_int_equal(p.answer, ACT_BUSY);
    assert_int_equal(p.until_ms, NOW + 1);
    row.commit_by_ms = NOW;
    assert_int_equal(plan(&act, &row, &KEYED).answer, ACT_DONE);
}

static void test_cancel_in_doubt(void **state)
{
    (void)state;
    struct act act = {.event = EV_CANCEL};
    const struct delivery_row row = a_row(DS_APPROVED, RS_REPLAY, "1:aa");
    assert_int_equal(plan(&act, &row, &KEYED).answer, ACT_REFUSED);
    assert_contains(plan(&act, &row, &KEYED).text.text, "attempt 1 may have committed; --in-doubt");
    act.in_doubt = true;
    assert_int_equal(plan(&act, &row, &KEYED).answer, ACT_DONE);
    assert_contains(plan(&act, &row, &KEYED).risk.text, "an alert is raised");
}

static void test_cancel_of_what_a_rewound_ledger_may_have_forgotten(void **state)
{
    (void)state;
    struct act act = {.event = EV_CANCEL};
    struct act_plan p;
    const struct delivery_row row = a_row(DS_APPROVED, RS_NEW, "");
    const struct act_facts facts = {
        .row = &row, .policy = &KEYED, .defaults = &BLIND, .now_ms = NOW, .forgotten = true};
    act_plan(&act, &facts, &p);
    assert_int_equal(p.answer, ACT_REFUSED);
    assert_contains(p.text.text, "an attempt that the ledger has forgotten may have committed; --in-doubt");
    act.in_doubt = true;
    act_plan(&act, &facts, &p);
    assert_int_equal(p.answer, ACT_DONE);
    assert_string_equal(p.decision.doubt.entry[0], "rewound");
}

static void test_risk(void **state)
{
    (void)state;
    static const struct {
        const char *doubt, *ext_id;
        int64_t first_send_ms;
        bool new_key;
        const struct delivery_policy *policy;
        const char *says; /* "": nothing is risked */
    } cases[] = {
        {"", "", 0, false, &KEYED, ""},
        {"2:aa", "", NOW - 1000, false, &KEYED, ""}, /* the platform still knows the key */
        {"2:aa", "", NOW - 3600000, false, &KEYED, "attempt 2 may have committed; a second post is possible"},
        {"2:aa", "", NOW - 1000, true, &KEYED, "under a new key the platform cannot know it again"},
        {"1:aa 2:bb", "", 0, false, &BLIND, "attempts 1 and 2 may have committed; a second post is possible, for this"},
        {"rewound", "", 0, false, &BLIND, "an attempt that the ledger has forgotten may have committed"},
        {"1:aa rewound", "", 0, false, &BLIND, "attempts 1 and one that the ledger has forgotten may have committed"},
        {"", "", 0, false, &BLIND, "this channel can neither be read nor replayed"},
        {"2:aa", "", 0, false, NULL, "not configured here"},
        {"", "77", 0, false, &KEYED, "published once as 77"},
        {"", "77", 0, false, &HARMLESS, ""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct act act = {.event = EV_RETRY, .new_key = cases[i].new_key};
        struct delivery_row row = a_row(DS_HELD, RS_NO_EVIDENCE, cases[i].doubt);
        row.first_send_ms = cases[i].first_send_ms;
        snprintf(row.ext_id, sizeof(row.ext_id), "%s", cases[i].ext_id);
        const struct act_plan p = plan(&act, &row, cases[i].policy);
        assert_int_equal(p.answer, ACT_DONE);
        if (cases[i].says[0])
            assert_contains(p.risk.text, cases[i].says);
        else
            assert_string_equal(p.risk.text, "");
    }
}

/* A row with as many doubtful attempts as there may be is still one sentence. */
static void test_many_doubts(void **state)
{
    (void)state;
    const struct act act = {.event = EV_RETRY};
    struct delivery_row row = a_row(DS_HELD, RS_NO_EVIDENCE, "");
    for (int i = 0; i < DOUBT_ENTRIES_MAX; i++)
        doubt_add(&row.doubt, 1000000000 + i, "0123456789abcdef");
    assert_contains(plan(&act, &row, &BLIND).risk.text, "may have committed; a second post is possible");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_state_is_answered),
                                       cmocka_unit_test(test_busy_until_it_cannot_commit),
                                       cmocka_unit_test(test_cancel_in_doubt),
                                       cmocka_unit_test(test_cancel_of_what_a_rewound_ledger_may_have_forgotten),
                                       cmocka_unit_test(test_risk),
                                       cmocka_unit_test(test_many_doubts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
