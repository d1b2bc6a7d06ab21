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
    attempt_init(&a);
    assert_int_equal(ATTEMPT_DO_WRITE, attempt_next(&a, ATTEMPT_BEGIN, false, &o));
    o.kind = EV_UNKNOWN;
    assert_int_equal(ATTEMPT_DO_SETTLE, attempt_next(&a, ATTEMPT_ANSWERED, false, &o));
    assert_int_equal(EV_UNKNOWN, o.kind);
}

static void a_session_is_renewed_once(void **state)
{
    (void)state;
    struct attempt a;
    struct outcome o = {0};
    attempt_init(&a);
    assert_int_equal(ATTEMPT_DO_LOGIN, attempt_next(&a, ATTEMPT_BEGIN, true, &o));
    assert_int_equal(ATTEMPT_DO_WRITE, attempt_next(&a, ATTEMPT_SESSION, true, &o));
    o.kind = EV_CREDENTIAL;
    o.session_expired = true;
    assert_int_equal(ATTEMPT_DO_LOGIN, attempt_next(&a, ATTEMPT_ANSWERED, true, &o));
    assert_int_equal(ATTEMPT_DO_WRITE, attempt_next(&a, ATTEMPT_SESSION, true, &o));
    assert_int_equal(ATTEMPT_DO_SETTLE, attempt_next(&a, ATTEMPT_ANSWERED, true, &o));
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
        attempt_init(&a);
        assert_int_equal(ATTEMPT_DO_LOGIN, attempt_next(&a, ATTEMPT_BEGIN, true, &o));
        o.kind = cases[i].login;
        assert_int_equal(ATTEMPT_DO_SETTLE, attempt_next(&a, ATTEMPT_LOGIN_FAILED, true, &o));
        assert_int_equal(cases[i].outcome, o.kind);
    }
}

static void a_late_attempt_has_sent_nothing(void **state)
{
    (void)state;
    struct attempt a;
    struct outcome o = {0};
    attempt_init(&a);
    (void)attempt_next(&a, ATTEMPT_BEGIN, true, &o);
    assert_int_equal(ATTEMPT_DO_SETTLE, attempt_next(&a, ATTEMPT_TOO_LATE, true, &o));
    assert_int_equal(EV_NOT_SENT, o.kind);
    assert_string_equal("the lease does not cover a send any more", o.detail);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bearer_channel_writes_at_once),
        cmocka_unit_test(a_session_is_renewed_once),
        cmocka_unit_test(a_failed_login_has_sent_nothing),
        cmocka_unit_test(a_late_attempt_has_sent_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
