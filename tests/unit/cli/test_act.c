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
        .row = row, .policy = policy, .defaults = &BLIND, .now_ms = NOW, .lease_ends_ms = NOW + 7000, .unread = true};
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
    const struct act act = {.event = EV_RETRY, .consents = true};
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

/* Approved and published, and then Redis was set back to before that: its row says that nothing was ever sent. */
static void test_what_a_rewound_ledger_holds_may_have_been_sent(void **state)
{
    (void)state;
    static const struct delivery_policy pinned = {.key_window_ms = 3600000, .lease_ms = 60000, .max_attempts = 5};
    static const struct {
        int64_t approved_at_ms;
        const struct delivery_policy *policy;
        const char *says; /* "": nothing is risked */
    } cases[] = {
        {NOW - 1000, &BLIND, "an attempt that the ledger has forgotten may have committed; a second post is possible"},
        {NOW - 1000, NULL, "a second post is possible; its channel is not configured here"},
        {NOW - 3600000, &pinned, "a second post is possible"},
        {NOW - 1000, &pinned, ""}, /* the same key, and the platform still knows it */
        {NOW - 1000, &HARMLESS, ""},
    };
    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        struct act act = {.event = i % 2 ? EV_RETRY : EV_APPROVE};
        struct delivery_row row = a_row(DS_HELD, RS_APPROVAL, "");
        row.attempt = 0;
        row.approved_at_ms = cases[i / 2].approved_at_ms;
        const struct act_facts facts = {
            .row = &row, .policy = cases[i / 2].policy, .defaults = &BLIND, .now_ms = NOW, .forgotten = true};
        struct act_plan p;
        act_plan(&act, &facts, &p);
        assert_contains(p.risk.text, cases[i / 2].says);
        assert_int_equal(p.answer, cases[i / 2].says[0] ? ACT_REFUSED : ACT_DONE);
        act.consents = true;
        act_plan(&act, &facts, &p);
        assert_int_equal(p.answer, ACT_DONE);
        assert_int_equal(p.decision.doubt.count, 0); /* it is told, and not written: nothing is frozen to be repeated */
    }
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
        struct act act = {.event = EV_RETRY, .new_key = cases[i].new_key, .consents = true};
        struct delivery_row row = a_row(DS_HELD, RS_NO_EVIDENCE, cases[i].doubt);
        row.first_send_ms = cases[i].first_send_ms;
        snprintf(row.ext_id, sizeof(row.ext_id), "%s", cases[i].ext_id);
        const struct act_plan p = plan(&act, &row, cases[i].policy);
        assert_int_equal(p.answer, ACT_DONE);
        if (cases[i].says[0])
            assert_contains(p.risk.text, cases[i].says);
        else
            assert_string_equal(p.risk.text, "");
        const bool second_post = cases[i].says[0] && (cases[i].doubt[0] || cases[i].ext_id[0]);
        act.consents = false;
        assert_int_equal(plan(&act, &row, cases[i].policy).answer, second_post ? ACT_REFUSED : ACT_DONE);
    }
}

/* ---- what the platform says */

static struct act_plan plan_read(const struct act *act, const struct delivery_row *row,
                                 const struct delivery_policy *policy, const struct act_reading *reading)
{
    struct act_plan out;
    const struct act_facts facts = {
        .row = row, .policy = policy, .defaults = &BLIND, .now_ms = NOW, .by_id = true, .reading = reading};
    act_plan(act, &facts, &out);
    return out;
}

static void test_what_is_read_before_it_is_sent_again(void **state)
{
    (void)state;
    static const struct {
        enum delivery_event act;
        enum delivery_state state;
        int attempt;
        const char *ext_id;
        bool forgotten;
        const struct delivery_policy *policy;
        bool wants;
    } cases[] = {
        {EV_RETRY, DS_HELD, 2, "", false, &KEYED, true},
        {EV_RETRY, DS_REJECTED, 2, "", false, &KEYED, true},
        {EV_APPROVE, DS_HELD, 2, "", false, &KEYED, true},
        {EV_RETRY, DS_HELD, 0, "", false, &KEYED, false}, /* nothing was ever sent */
        {EV_RETRY, DS_HELD, 0, "", true, &KEYED, true},   /* or it was forgotten */
        {EV_RETRY, DS_HELD, 2, "", false, &BLIND, false},
        {EV_RETRY, DS_HELD, 2, "7", false, &BLIND, true}, /* it was published once: its id can be asked for */
        {EV_RETRY, DS_HELD, 2, "", false, &HARMLESS, false},
        {EV_RETRY, DS_HELD, 2, "", false, NULL, false},
        {EV_RETRY, DS_UNCERTAIN, 2, "", false, &KEYED, false}, /* the reconciler has the word */
        {EV_RETRY, DS_APPROVED, 2, "", false, &KEYED, false},
        {EV_CANCEL, DS_HELD, 2, "", false, &KEYED, false},
        {EV_CONFIRM, DS_HELD, 0, "", false, &BLIND, true},
        {EV_CONFIRM, DS_UNCERTAIN, 2, "", false, &KEYED, true},
        {EV_CONFIRM, DS_PUBLISHED, 2, "7", false, &KEYED, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct act act = {.event = cases[i].act, .ext_id = cases[i].act == EV_CONFIRM ? "7" : NULL};
        struct delivery_row row = a_row(cases[i].state, RS_NONE, "");
        row.attempt = cases[i].attempt;
        snprintf(row.ext_id, sizeof(row.ext_id), "%s", cases[i].ext_id);
        const struct act_facts facts = {.row = &row,
                                        .policy = cases[i].policy,
                                        .defaults = &BLIND,
                                        .now_ms = NOW,
                                        .forgotten = cases[i].forgotten,
                                        .by_id = true};
        if (act_wants_reading(&act, &facts) != cases[i].wants) fail_msg("case %zu", i);
    }
}

static void test_what_was_read_decides_a_retry(void **state)
{
    (void)state;
    const struct act act = {.event = EV_RETRY};
    const struct delivery_row row = a_row(DS_HELD, RS_NO_EVIDENCE, "2:aa");
    struct act_reading reading = {.event = EV_FOUND, .rev = 1, .ext_id = "9", .url = "https://x/9", .why = "why"};
    struct act_plan p = plan_read(&act, &row, &KEYED, &reading);
    assert_int_equal(p.answer, ACT_DONE);
    assert_int_equal(p.decision.state, DS_PUBLISHED);
    assert_int_equal(p.decision.source, SRC_READ_BACK);
    assert_string_equal(p.ext_id, "9");
    assert_string_equal(p.url, "https://x/9");
    assert_null(p.duplicate_id);
    assert_string_equal(p.risk.text, "");
    assert_contains(p.text.text, "the platform has it as 9");

    reading = (struct act_reading){.event = EV_ABSENT, .rev = 1, .settled = true, .why = "why"};
    p = plan_read(&act, &row, &KEYED, &reading);
    assert_int_equal(p.answer, ACT_DONE);
    assert_int_equal(p.decision.state, DS_APPROVED);
    assert_string_equal(p.risk.text, "");

    reading.settled = false;
    reading.settled_at_ms = NOW + 500;
    p = plan_read(&act, &row, &KEYED, &reading);
    assert_int_equal(p.answer, ACT_BUSY);
    assert_int_equal(p.until_ms, NOW + 500);

    reading = (struct act_reading){.event = EV_UNSEEN, .rev = 1, .again_ms = NOW + 900, .why = "a page was cut"};
    p = plan_read(&act, &row, &KEYED, &reading);
    assert_int_equal(p.answer, ACT_UNREAD);
    assert_int_equal(p.until_ms, NOW + 900);
    assert_contains(p.text.text, "a page was cut; --without-reading");

    reading.rev = 7; /* it was read for a row that is not this one any more */
    assert_int_equal(plan_read(&act, &row, &KEYED, &reading).answer, ACT_BUSY);
    assert_int_equal(plan_read(&act, &row, &KEYED, NULL).answer, ACT_UNREAD);
}

/* It was published once, and deleted: sent again, which is said. Under another id it is there: that is the duplicate.
 */
static void test_what_was_read_of_a_post_whose_id_is_known(void **state)
{
    (void)state;
    const struct act act = {.event = EV_RETRY};
    struct delivery_row row = a_row(DS_HELD, RS_GONE, "");
    snprintf(row.ext_id, sizeof(row.ext_id), "7");
    struct act_reading reading = {.event = EV_GONE, .rev = 1, .settled = true, .why = "why"};
    struct act_plan p = plan_read(&act, &row, &KEYED, &reading);
    assert_int_equal(p.answer, ACT_DONE);
    assert_int_equal(p.decision.state, DS_APPROVED);
    assert_contains(p.risk.text, "published once as 7");
    reading = (struct act_reading){.event = EV_FOUND, .rev = 1, .ext_id = "8", .why = "why"};
    p = plan_read(&act, &row, &KEYED, &reading);
    assert_int_equal(p.decision.state, DS_PUBLISHED);
    assert_string_equal(p.ext_id, "7");
    assert_string_equal(p.duplicate_id, "8");
}

static void test_what_was_read_decides_a_confirmation(void **state)
{
    (void)state;
    const struct act act = {.event = EV_CONFIRM, .ext_id = "7"};
    const struct delivery_row row = a_row(DS_HELD, RS_NO_EVIDENCE, "2:aa");
    struct act_reading reading = {.event = EV_FOUND, .rev = 1, .ext_id = "7", .url = "https://x/7", .why = "why"};
    struct act_plan p = plan_read(&act, &row, &KEYED, &reading);
    assert_int_equal(p.answer, ACT_DONE);
    assert_int_equal(p.decision.source, SRC_OPERATOR);
    assert_string_equal(p.url, "https://x/7");
    reading.ext_id = "8";
    assert_int_equal(plan_read(&act, &row, &KEYED, &reading).answer, ACT_REFUSED);
    reading = (struct act_reading){.event = EV_GONE, .rev = 1, .settled = true, .why = "why"};
    assert_int_equal(plan_read(&act, &row, &KEYED, &reading).answer, ACT_REFUSED);
    reading.event = EV_UNSEEN;
    assert_int_equal(plan_read(&act, &row, &KEYED, &reading).answer, ACT_UNREAD);
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
                                       cmocka_unit_test(test_what_a_rewound_ledger_holds_may_have_been_sent),
                                       cmocka_unit_test(test_risk),
                                       cmocka_unit_test(test_what_is_read_before_it_is_sent_again),
                                       cmocka_unit_test(test_what_was_read_decides_a_retry),
                                       cmocka_unit_test(test_what_was_read_of_a_post_whose_id_is_known),
                                       cmocka_unit_test(test_what_was_read_decides_a_confirmation),
                                       cmocka_unit_test(test_many_doubts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
