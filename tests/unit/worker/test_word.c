/* SPDX-License-Identifier: MIT */
/* What is said of a channel while the word before it is under way. Round and answers are played. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "worker/word.h"

static struct ledger ledger = {.environment = "test", .worker = "w1"};

static void answer(struct word *word, enum request_result result)
{
    word->request.base.result = result;
}

static void the_first_that_waits_counts(void **state)
{
    (void)state;
    struct word word = {.due = false};
    struct channel_request *first = word_put(&word, "blog/main", CHANNEL_PAUSE, "credential");
    assert_true(word_waits(&word, 1000));
    assert_ptr_equal(word_put(&word, "blog/main", CHANNEL_LIFT, "credential"), first);
    assert_int_equal(first->op, CHANNEL_PAUSE);
    word_drop(&word);
    assert_false(word_waits(&word, 1000));
    assert_int_equal(word_put(&word, "blog/main", CHANNEL_LIFT, "credential")->op, CHANNEL_LIFT);
}

static void what_comes_up_meanwhile_is_told_after_it(void **state)
{
    (void)state;
    struct ledger_round *round = round_new(&ledger);
    struct channel_request told;
    struct word word = {.due = false};
    (void)word_put(&word, "blog/main", CHANNEL_FAIL, NULL);
    word_add(&word, round);
    assert_int_equal(round_pending(round), 1);
    assert_false(word_waits(&word, 1000));
    assert_int_equal(word_put(&word, "blog/main", CHANNEL_RECOVER, NULL)->op, CHANNEL_RECOVER);
    assert_int_equal(word_put(&word, "blog/main", CHANNEL_FAIL, NULL)->op, CHANNEL_RECOVER);
    assert_int_equal(word.request.op, CHANNEL_FAIL); /* what is under way keeps still */
    assert_false(word_told(&word, &told, 1000));     /* no answer yet */
    word_add(&word, round);
    assert_int_equal(round_pending(round), 1); /* nor does it go twice */
    round_forget(round, &word.request.base);   /* the round takes what it sends out of what waits */
    word.request.value = 3;
    answer(&word, REQUEST_ANSWERED);
    assert_true(word_told(&word, &told, 1000));
    assert_true(told.op == CHANNEL_FAIL && told.value == 3);
    assert_true(word_waits(&word, 1000));
    assert_int_equal(word.request.op, CHANNEL_RECOVER);
    word_add(&word, round);
    round_forget(round, &word.request.base);
    answer(&word, REQUEST_ANSWERED);
    assert_true(word_told(&word, &told, 1000));
    assert_false(word.due);
    round_free(&round);
}

static void what_was_not_answered_is_told_again_first(void **state)
{
    (void)state;
    static const enum request_result results[] = {REQUEST_UNKNOWN, REQUEST_REFUSED};
    struct ledger_round *round = round_new(&ledger);
    struct channel_request told;
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
        struct word word = {.due = false};
        (void)word_put(&word, "blog/main", CHANNEL_PAUSE, "credential");
        word_add(&word, round);
        (void)word_put(&word, "blog/main", CHANNEL_LIFT, "credential");
        round_forget(round, &word.request.base);
        answer(&word, results[i]);
        assert_false(word_told(&word, &told, 1000));
        assert_false(word_waits(&word, 1000));
        assert_true(word_waits(&word, 1000 + ERRORS_RETRY_MS));
        assert_int_equal(word.request.op, CHANNEL_PAUSE);
        word_add(&word, round);
        round_forget(round, &word.request.base);
        answer(&word, REQUEST_ANSWERED);
        assert_true(word_told(&word, &told, 1000));
        assert_int_equal(word.request.op, CHANNEL_LIFT);
        assert_true(word_waits(&word, 1000));
    }
    round_free(&round);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_that_waits_counts),
        cmocka_unit_test(what_comes_up_meanwhile_is_told_after_it),
        cmocka_unit_test(what_was_not_answered_is_told_again_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
