/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "ledger/attempt_report.h"

static const struct delivery_policy policy = {.can_read = true, .gives_id = true, .key_window_ms = 1000};

static struct attempt_report unknown_outcome(void)
{
    return (struct attempt_report){.channel = "blog/main",
                                   .delivery = "blog/main/a",
                                   .input = {.event = EV_UNKNOWN, .attempt = 1, .token = "9f2c01d4"},
                                   .ext_id = "",
                                   .url = "",
                                   .duplicate = "",
                                   .detail = "",
                                   .key = "the-key",
                                   .content_hash = "hash"};
}

/* The ledger was set back to before the claim. What may be out can only be found by the key that it was sent with. */
static void a_row_that_knows_no_attempt_gets_the_key(void **state)
{
    (void)state;
    struct attempt_report report = unknown_outcome();
    struct delivery_decision decision;
    struct decide_request request;
    struct delivery_row row = {.state = DS_APPROVED, .reason = RS_NEW, .rev = 1};
    assert_true(attempt_report_decide(&report, &row, &policy, 5, &decision, &request));
    assert_int_equal(decision.state, DS_UNCERTAIN);
    assert_string_equal(request.key, "the-key");
    assert_null(request.content_hash);
}

static void a_row_that_was_claimed_keeps_its_own(void **state)
{
    (void)state;
    struct attempt_report report = unknown_outcome();
    struct delivery_decision decision;
    struct decide_request request;
    struct delivery_row row = {.state = DS_CLAIMED, .reason = RS_SENDING, .rev = 1, .attempt = 1, .token = "9f2c01d4"};
    assert_true(attempt_report_decide(&report, &row, &policy, 5, &decision, &request));
    assert_null(request.key);
}

static void a_row_that_is_gone_is_made_again(void **state)
{
    (void)state;
    struct attempt_report report = unknown_outcome();
    struct delivery_decision decision;
    struct decide_request request;
    struct delivery_row row = {.state = DS_NONE};
    assert_true(attempt_report_decide(&report, &row, &policy, 5, &decision, &request));
    assert_string_equal(request.key, "the-key");
    assert_string_equal(request.content_hash, "hash");
    assert_int_equal(request.attempt, 1);
}

/* Another server may have been set back since the claim; the one that granted it, come back, may have been, too. */
static void a_decision_holds_for_one_server(void **state)
{
    (void)state;
    struct attempt_report report = unknown_outcome();
    report.run_id = "aaaa";
    assert_false(attempt_report_to(&report, "aaaa"));
    assert_false(attempt_report_to(&report, "")); /* not connected: nothing goes anywhere */
    assert_false(report.input.set_back);
    assert_true(attempt_report_to(&report, "bbbb"));
    assert_true(report.input.set_back);
    assert_false(attempt_report_to(&report, "bbbb")); /* that was decided already */
    assert_false(attempt_report_to(&report, "aaaa"));
    assert_true(report.input.set_back);
    report = unknown_outcome();
    report.run_id = ""; /* a line of a spool that does not say */
    assert_true(attempt_report_to(&report, "aaaa"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_that_knows_no_attempt_gets_the_key),
        cmocka_unit_test(a_row_that_was_claimed_keeps_its_own),
        cmocka_unit_test(a_row_that_is_gone_is_made_again),
        cmocka_unit_test(a_decision_holds_for_one_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
