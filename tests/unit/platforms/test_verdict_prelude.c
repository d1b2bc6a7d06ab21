/* SPDX-License-Identifier: MIT */
/*
 * Steps before the write: whatever became of them, the write has not left.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "verdict_fixture.h"

static void preludes(void **state)
{
    (void)state;
    static const struct {
        const char *head;
        enum delivery_event step;
    } cases[] = {
        {"HTTP/1.1 200 X", EV_NOT_COMMITTED},
        {"HTTP/1.1 302 X", EV_NOT_COMMITTED},
        {"HTTP/1.1 400 X", EV_REFUSED},
        {"HTTP/1.1 401 X", EV_CREDENTIAL},
        {"HTTP/1.1 403 X", EV_CREDENTIAL},
        {"HTTP/1.1 404 X", EV_REFUSED},
        {"HTTP/1.1 413 X", EV_REFUSED},
        {"HTTP/1.1 429 X\nRetry-After: 30", EV_WAIT},
        {"HTTP/1.1 503 X\nRetry-After: 30", EV_NOT_COMMITTED},
    };
    struct channel channel = {.name = "test/x", .descriptor = with_id};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct verdict_context context = {.now_ms = NOW, .session = true};
        struct transfer_facts facts = {.reached = true, .complete = true};
        struct answer answer;
        struct outcome out;
        answer_of(&answer, cases[i].head, "{}");
        facts.status = answer.status;
        verdict_prelude(&channel, VERDICT_STEP, &facts, &answer, &context, &out);
        assert_int_equal(out.kind, cases[i].step);
        assert_int_equal(out.wait_ms, strstr(cases[i].head, "Retry") ? 30000 : 0);
        assert_int_equal(out.session_expired, answer.status == 401);
        verdict_prelude(&channel, VERDICT_FETCH, &facts, &answer, &context, &out);
        bool about_us = cases[i].step == EV_CREDENTIAL, wait = cases[i].step == EV_WAIT;
        assert_int_equal(out.kind, about_us ? EV_REFUSED : wait ? EV_NOT_COMMITTED : cases[i].step);
        assert_false(out.session_expired);
        facts.complete = false;
        facts.body_cut = true;
        verdict_prelude(&channel, VERDICT_FETCH, &facts, &answer, &context, &out);
        assert_int_equal(out.kind, EV_REFUSED);
        facts.body_cut = false;
        facts.complete = false;
        verdict_prelude(&channel, VERDICT_STEP, &facts, &answer, &context, &out);
        assert_int_equal(out.kind, EV_NOT_COMMITTED);
        facts.reached = false;
        verdict_prelude(&channel, VERDICT_STEP, &facts, &answer, &context, &out);
        assert_int_equal(out.kind, EV_NOT_SENT);
        facts.forbidden = true;
        verdict_prelude(&channel, VERDICT_FETCH, &facts, &answer, &context, &out);
        assert_int_equal(out.kind, EV_REFUSED);
        verdict_prelude(&channel, VERDICT_STEP, &facts, &answer, &context, &out);
        assert_int_equal(out.kind, EV_REFUSED);
        verdict(&channel, &facts, &answer, &context, &out);
        assert_int_equal(out.kind, EV_REFUSED);
        answer_fini(&answer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(preludes)};
    return cmocka_run_group_tests(tests, load_all, free_all);
}
