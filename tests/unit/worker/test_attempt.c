/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "worker/attempt.h"

static void a_bearer_channel_writes_at_once(void **state)
{
    (void)state;
    struct attempt a;
    struct outcome o = {0};
    attempt_init(&a, false, 0, 0);
    assert_int_equal(ATTEMPT_DO_WRITE, attempt_next(&a, ATTEMPT_BEGIN, &o));
    o.kind = EV_UNKNOWN;
    assert_int_equal(ATTEMPT_DO_SETTLE, attempt_next(&a, ATTEMPT_ANSWERED, &o));
    assert_int_equal(EV_UNKNOWN, o.kind);
}

static void a_session_is_renewed_once(void **state)
{
    (void)state;
    struct attempt a;
    struct outcome o = {0};
    attempt_init(&a, true, 0, 0);
    assert_int_equal(ATTEMPT_DO_LOGIN, attempt_next(&a, ATTEMPT_BEGIN, &o));
    assert_int_equal(ATTEMPT_DO_WRITE, attempt_next(&a, ATTEMPT_SESSION, &o));
    o.kind = EV_CREDENTIAL;
    o.session_expired = true;
    assert_int_equal(ATTEMPT_DO_LOGIN, attempt_next(&a, ATTEMPT_ANSWERED, &o));
    assert_int_equal(ATTEMPT_DO_WRITE, attempt_next(&a, ATTEMPT_SESSION, &o));
    assert_int_equal(ATTEMPT_DO_SETTLE, attempt_next(&a, ATTEMPT_ANSWERED, &o));
    assert_int_equal(EV_CREDENTIAL, o.kind);
}

static void a_failed_login_has_sent_nothing(void **state)
{
    (void)state;
    const struct {
        enum delivery_event login, outcome;
    } cases[] = {
        {EV_UNKNOWN, EV_NOT_SENT}, {EV_NOT_COMMITTED, EV_NOT_SENT},
        {EV_REFUSED, EV_NOT_SENT}, {EV_CREDENTIAL, EV_CREDENTIAL},
        {EV_WAIT, EV_WAIT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct attempt a;
        struct outcome o = {0};
        attempt_init(&a, true, 0, 0);
        assert_int_equal(ATTEMPT_DO_LOGIN, attempt_next(&a, ATTEMPT_BEGIN, &o));
        o.kind = cases[i].login;
        assert_int_equal(ATTEMPT_DO_SETTLE, attempt_next(&a, ATTEMPT_LOGIN_FAILED, &o));
        assert_int_equal(cases[i].outcome, o.kind);
    }
}

static void a_late_attempt_has_sent_nothing(void **state)
{
    (void)state;
    struct attempt a;
    struct outcome o = {0};
    attempt_init(&a, true, 0, 0);
    (void)attempt_next(&a, ATTEMPT_BEGIN, &o);
    assert_int_equal(ATTEMPT_DO_SETTLE, attempt_next(&a, ATTEMPT_TOO_LATE, &o));
    assert_int_equal(EV_NOT_SENT, o.kind);
    assert_string_equal("the lease does not cover a send any more", o.detail);
    attempt_init(&a, false, 0, 0);
    (void)attempt_next(&a, ATTEMPT_BEGIN, &o);
    assert_int_equal(ATTEMPT_DO_SETTLE, attempt_next(&a, ATTEMPT_NO_COPIES, &o));
    assert_int_equal(EV_NOT_SENT, o.kind);
    assert_string_equal("too few copies of the claim were acknowledged (redis.wait_)", o.detail);
}

static void steps_come_in_their_order_and_the_ledger_before_the_write(void **state)
{
    (void)state;
    struct attempt a;
    struct outcome o = {0};
    attempt_init(&a, true, 1, 3);
    assert_int_equal(ATTEMPT_DO_LOGIN, attempt_next(&a, ATTEMPT_BEGIN, &o));
    assert_int_equal(ATTEMPT_DO_STEP, attempt_next(&a, ATTEMPT_SESSION, &o));
    assert_int_equal(1, a.step);
    assert_int_equal(ATTEMPT_DO_STEP, attempt_next(&a, ATTEMPT_STEP_KEPT, &o));
    assert_int_equal(2, a.step);
    assert_int_equal(ATTEMPT_DO_FREEZE, attempt_next(&a, ATTEMPT_STEP_KEPT, &o));
    assert_int_equal(ATTEMPT_DO_WRITE, attempt_next(&a, ATTEMPT_FROZEN, &o));
    o.kind = EV_COMMITTED;
    assert_int_equal(ATTEMPT_DO_SETTLE, attempt_next(&a, ATTEMPT_ANSWERED, &o));
}

static void a_session_that_ends_repeats_the_step_that_it_ended_in(void **state)
{
    (void)state;
    struct attempt a;
    struct outcome o = {0};
    attempt_init(&a, true, 0, 2);
    (void)attempt_next(&a, ATTEMPT_BEGIN, &o);
    (void)attempt_next(&a, ATTEMPT_SESSION, &o);
    (void)attempt_next(&a, ATTEMPT_STEP_KEPT, &o);
    o.kind = EV_CREDENTIAL;
    o.session_expired = true;
    assert_int_equal(ATTEMPT_DO_LOGIN, attempt_next(&a, ATTEMPT_STEP_FAILED, &o));
    assert_int_equal(ATTEMPT_DO_STEP, attempt_next(&a, ATTEMPT_SESSION, &o));
    assert_int_equal(1, a.step);
    assert_int_equal(ATTEMPT_DO_SETTLE, attempt_next(&a, ATTEMPT_STEP_FAILED, &o));
    assert_int_equal(EV_CREDENTIAL, o.kind);
}

static void a_session_that_ends_in_the_write_repeats_no_step(void **state)
{
    (void)state;
    struct attempt a;
    struct outcome o = {0};
    attempt_init(&a, true, 0, 1);
    (void)attempt_next(&a, ATTEMPT_BEGIN, &o);
    (void)attempt_next(&a, ATTEMPT_SESSION, &o);
    (void)attempt_next(&a, ATTEMPT_STEP_KEPT, &o);
    assert_int_equal(ATTEMPT_DO_WRITE, attempt_next(&a, ATTEMPT_FROZEN, &o));
    o.session_expired = true;
    assert_int_equal(ATTEMPT_DO_LOGIN, attempt_next(&a, ATTEMPT_ANSWERED, &o));
    assert_int_equal(ATTEMPT_DO_WRITE, attempt_next(&a, ATTEMPT_SESSION, &o));
}

static void a_failed_step_ends_the_attempt_as_it_says(void **state)
{
    (void)state;
    struct attempt a;
    struct outcome o = {.kind = EV_NOT_COMMITTED};
    attempt_init(&a, false, 0, 2);
    assert_int_equal(ATTEMPT_DO_STEP, attempt_next(&a, ATTEMPT_BEGIN, &o));
    assert_int_equal(ATTEMPT_DO_SETTLE, attempt_next(&a, ATTEMPT_STEP_FAILED, &o));
    assert_int_equal(EV_NOT_COMMITTED, o.kind);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bearer_channel_writes_at_once),
        cmocka_unit_test(a_session_is_renewed_once),
        cmocka_unit_test(a_failed_login_has_sent_nothing),
        cmocka_unit_test(a_late_attempt_has_sent_nothing),
        cmocka_unit_test(steps_come_in_their_order_and_the_ledger_before_the_write),
        cmocka_unit_test(a_session_that_ends_repeats_the_step_that_it_ended_in),
        cmocka_unit_test(a_session_that_ends_in_the_write_repeats_no_step),
        cmocka_unit_test(a_failed_step_ends_the_attempt_as_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
