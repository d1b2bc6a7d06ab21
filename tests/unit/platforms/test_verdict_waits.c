/* SPDX-License-Identifier: MIT */
/*
 * For how long an answer asks to be left alone: one that refuses, and one that was the last of its window.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "verdict_fixture.h"

static struct outcome judge_answer(struct descriptor *descriptor, const char *head, const char *body)
{
    struct channel channel = {.name = "test/x", .descriptor = descriptor};
    const struct verdict_context context = {.now_ms = NOW};
    struct transfer_facts facts = {.reached = true, .complete = true};
    struct answer answer;
    struct outcome out;
    answer_of(&answer, head, body);
    facts.status = answer.status;
    verdict(&channel, &facts, &answer, &context, &out);
    answer_fini(&answer);
    return out;
}

static void waits(void **state)
{
    (void)state;
    static const struct {
        const char *head, *body;
        int64_t wait_ms;
    } cases[] = {
        {"HTTP/1.1 429 X\nRetry-After: 30", "{}", 30000},
        {"HTTP/1.1 429 X\nRetry-After: soon", "{\"retry_after\":2.5}", 2500},
        {"HTTP/1.1 429 X", "{\"retry_after\":\"2.5\"}", 2500},
        {"HTTP/1.1 429 X", "{\"retry_after\":-1}", 0},
        {"HTTP/1.1 429 X", "[]", 0},
        {"HTTP/1.1 429 X", "", 0},
        {"HTTP/1.1 429 X\nRetry-After: Mon, 03 Feb 2031 12:00:30 GMT", "{}", 30000},
        /* our clock is wrong, theirs goes with their date */
        {"HTTP/1.1 429 X\nDate: Mon, 03 Feb 2031 11:58:30 GMT\nRetry-After: Mon, 03 Feb 2031 11:59:00 GMT", "{}",
         30000},
        {"HTTP/1.1 429 X\nDate: rubbish\nRetry-After: Mon, 03 Feb 2031 12:00:30 GMT", "{}", 30000},
        {"HTTP/1.1 460 X\nRetry-After: 5", "{}", 5000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct outcome out = judge_answer(with_id, cases[i].head, cases[i].body);
        assert_int_equal(out.kind, EV_WAIT);
        assert_int_equal(out.wait_ms, cases[i].wait_ms);
    }
    assert_int_equal(judge_answer(with_id, "HTTP/1.1 400 X", "{\"error\":\"Busy\",\"retry_after\":3}").wait_ms, 3000);
}

/* The last one that was let through says so: the channel waits although nothing was refused. */
static void nothing_is_left(void **state)
{
    (void)state;
    static const struct {
        const char *head, *body;
        int64_t spent_ms;
    } cases[] = {
        {"HTTP/1.1 200 X\nX-Left: 0\nRetry-After: 30", "{\"id\":\"7\"}", 30000},
        {"HTTP/1.1 200 X\nX-Left: 0\nRetry-After: Mon, 03 Feb 2031 12:00:30 GMT", "{\"id\":\"7\"}", 30000},
        {"HTTP/1.1 200 X\nX-Left: 0\nX-Iso: 2031-02-03T12:00:30.123456Z", "{\"id\":\"7\"}", 30123},
        {"HTTP/1.1 200 X\nX-Left: 0\nX-Epoch: 1927886430", "{\"id\":\"7\"}", 30000},
        {"HTTP/1.1 200 X\nX-Left: 0\nX-Epoch: 1927886430.75", "{\"id\":\"7\"}", 30750},
        {"HTTP/1.1 200 X\nX-Left: 0\nX-Epoch-Ms: 1927886430250", "{\"id\":\"7\"}", 30250},
        {"HTTP/1.1 200 X\nX-Left-Float: 0.0\nX-Delta: 41.5", "{\"id\":\"7\"}", 41500},
        {"HTTP/1.1 200 X\nX-Left: 0", "{\"id\":\"7\",\"reset_s\":2.5}", 2500},
        {"HTTP/1.1 200 X\nX-Left: 0\nX-Epoch: 1927972800", "{\"id\":\"7\"}", 3600000}, /* clamped */
        {"HTTP/1.1 500 X\nX-Left: 0\nX-Epoch: 1927886430", "{}", 30000}, /* whatever became of the request */
        /* something is left, or nobody says */
        {"HTTP/1.1 200 X\nX-Left: 1\nX-Epoch: 1927886430", "{\"id\":\"7\"}", 0},
        {"HTTP/1.1 200 X\nX-Left-Float: 1.0\nX-Delta: 41.5", "{\"id\":\"7\"}", 0},
        {"HTTP/1.1 200 X\nX-Epoch: 1927886430", "{\"id\":\"7\"}", 0},
        {"HTTP/1.1 200 X\nX-Left: none\nX-Epoch: 1927886430", "{\"id\":\"7\"}", 0},
        {"HTTP/1.1 200 X\nX-Left: -1\nX-Epoch: 1927886430", "{\"id\":\"7\"}", 0},
        {"HTTP/1.1 200 X\nX-Left: \nX-Epoch: 1927886430", "{\"id\":\"7\"}", 0},
        /* past and absurd resets, and a status that does not carry it */
        {"HTTP/1.1 200 X\nX-Left: 0\nX-Epoch: 1927886330", "{\"id\":\"7\"}", 0},
        {"HTTP/1.1 200 X\nX-Left: 0\nX-Epoch: 9927886330", "{\"id\":\"7\"}", 0},
        {"HTTP/1.1 201 X\nX-Left: 0\nX-Epoch: 1927886430", "{\"id\":\"7\"}", 0},
        /* what any other answer says of a wait is none of a success */
        {"HTTP/1.1 200 X\nRetry-After: 30", "{\"id\":\"7\"}", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct outcome out = judge_answer(with_id, cases[i].head, cases[i].body);
        if (out.spent_ms != cases[i].spent_ms) fail_msg("%s: %lld ms", cases[i].head, (long long)out.spent_ms);
        assert_int_equal(out.kind, out.status == 500 ? EV_UNKNOWN : EV_COMMITTED);
    }
    struct outcome refused = judge_answer(with_id, "HTTP/1.1 429 X\nX-Left: 0\nX-Epoch: 1927886430", "{}");
    assert_int_equal(refused.kind, EV_WAIT);
    assert_int_equal(refused.wait_ms, 30000);
    assert_int_equal(refused.spent_ms, 30000);
    assert_int_equal(judge_answer(with_id, "HTTP/1.1 429 X\nX-Left: 3\nX-Epoch: 1927886430", "{}").wait_ms, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits),
        cmocka_unit_test(nothing_is_left),
    };
    return cmocka_run_group_tests(tests, load_all, free_all);
}
