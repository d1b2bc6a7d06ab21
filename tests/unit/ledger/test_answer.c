/* SPDX-License-Identifier: MIT */
#include "ledger/answer.h"
#include "test.h"

static void every_function_takes_every_reply(void **state)
{
    (void)state;
    static const char *const texts[] = {"$-1\r\n", "*-1\r\n",     "*0\r\n",     ":7\r\n",
                                        "+OK\r\n", "-ERR no\r\n", "$0\r\n\r\n", "*1\r\n*1\r\n$-1\r\n"};
    for (size_t i = 0; i <= COUNT(texts); i++) {
        redisReply *r = i < COUNT(texts) ? reply_of(texts[i]) : NULL;
        size_t len;
        int64_t number;
        char small[4];
        struct request_text kept = {NULL, 0};
        enum delivery_state known;
        int attempt;
        struct row row;
        struct errbuf err;
        (void)answer_count(r);
        (void)answer_at(r, 0);
        (void)answer_at(r, SIZE_MAX);
        (void)answer_is_array(r);
        (void)answer_is_nil(r);
        (void)answer_error(r);
        assert_non_null(answer_text(r, &len));
        (void)answer_number(r, &number);
        (void)answer_copy(r, small, sizeof small);
        answer_words(r, small, sizeof small);
        answer_keep(r, &kept);
        answer_drop(&kept);
        (void)answer_state(r, &known);
        (void)answer_reason(r);
        (void)answer_field(r, 0, "x");
        (void)answer_row(r, 0, r, &row, &err);
        (void)answer_lease(r, small, sizeof small, &attempt, small, sizeof small);
        answer_free(r);
    }
}

static void numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ok;
        int64_t number;
    } cases[] = {
        {":7\r\n", true, 7},
        {"$13\r\n1795990610859\r\n", true, 1795990610859},
        {"$2\r\n-1\r\n", true, -1},
        {"$22\r\n1.7959906108590000e+12\r\n", true, 1795990610859},
        {"$3\r\n1.5\r\n", true, 1},
        {"$3\r\ninf\r\n", false, 0},
        {"$4\r\n-inf\r\n", false, 0},
        {"$3\r\nnan\r\n", false, 0},
        {"$2\r\n 1\r\n", false, 0},
        {"$2\r\n1x\r\n", false, 0},
        {"$0\r\n\r\n", false, 0},
        {"$3\r\n1\0002\r\n", false, 0},
        {"$20\r\n99999999999999999999\r\n", false, 0},
        {"$5\r\n1e300\r\n", false, 0},
        {"$4\r\n0x10\r\n", false, 0},
        {"$-1\r\n", false, 0},
        {"-ERR 7\r\n", false, 0},
        {"$1\r\n0\r\n", true, 0},
        {"$3\r\n007\r\n", true, 7},
        {"$2\r\n+7\r\n", true, 7},
        {"$18\r\n999999999999999999\r\n", true, 999999999999999999},
        {"$19\r\n1000000000000000000\r\n", true, 1000000000000000000},
        {"$19\r\n9223372036854775807\r\n", true, INT64_MAX},
        {"$20\r\n-9223372036854775808\r\n", true, INT64_MIN},
        {"$19\r\n9223372036854775808\r\n", false, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t len = i == 11 ? 9 : strlen(cases[i].text);
        redisReply *r = reply_of_bytes(cases[i].text, len);
        int64_t number = 0;
        bool ok = answer_number(r, &number);
        if (ok != cases[i].ok || (ok && number != cases[i].number)) fail_msg("case %zu: %s", i, cases[i].text);
        answer_free(r);
    }
}

static void copies_fit_or_are_refused(void **state)
{
    (void)state;
    char out[4];
    redisReply *r = reply_of("$3\r\nabc\r\n");
    assert_true(answer_copy(r, out, sizeof out));
    assert_string_equal(out, "abc");
    answer_free(r);
    r = reply_of("$4\r\nabcd\r\n");
    assert_false(answer_copy(r, out, sizeof out));
    assert_string_equal(out, "");
    answer_words(r, out, sizeof out);
    assert_string_equal(out, "abc");
    answer_free(r);
    r = reply_of_bytes("$3\r\na\0b\r\n", 9);
    assert_false(answer_copy(r, out, sizeof out));
    struct request_text kept = {NULL, 0};
    answer_keep(r, &kept);
    assert_int_equal(kept.len, 3);
    assert_memory_equal(kept.bytes, "a\0b", 4);
    answer_drop(&kept);
    answer_free(r);
}

static void a_lease(void **state)
{
    (void)state;
    char worker[8], token[20];
    int attempt;
    redisReply *r = reply_of("$11\r\nw1 2 abcdef\r\n");
    assert_true(answer_lease(r, worker, sizeof worker, &attempt, token, sizeof token));
    assert_string_equal(worker, "w1");
    assert_int_equal(attempt, 2);
    assert_string_equal(token, "abcdef");
    answer_free(r);
    static const char *const bad[] = {"$2\r\nw1\r\n",
                                      "$4\r\nw1 2\r\n",
                                      "$6\r\nw1 x y\r\n",
                                      "$9\r\nw1 -2 abc\r\n",
                                      "$25\r\nlongerthanthebuffer 2 abc\r\n",
                                      "$29\r\nw1 2 abcdefabcdefabcdefabcdef\r\n"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        r = reply_of(bad[i]);
        if (answer_lease(r, worker, sizeof worker, &attempt, token, sizeof token)) fail_msg("%s", bad[i]);
        answer_free(r);
    }
}

static void rows_come_in_two_parts(void **state)
{
    (void)state;
    redisReply *row = reply_of("*5\r\n$5\r\nstale\r\n$5\r\nstate\r\n$4\r\nheld\r\n$3\r\nrev\r\n$1\r\n3\r\n");
    redisReply *more = reply_of("*2\r\n$6\r\next_id\r\n$2\r\n42\r\n");
    redisReply *none = reply_of("*1\r\n$5\r\nstale\r\n");
    struct row out;
    struct errbuf err;
    assert_true(answer_row(row, 1, more, &out, &err));
    assert_int_equal(out.core.state, DS_HELD);
    assert_string_equal(out.core.ext_id, "42");
    assert_true(answer_row(none, 1, more, &out, &err));
    assert_int_equal(out.core.state, DS_NONE);
    assert_string_equal(out.core.ext_id, "");
    answer_free(row);
    answer_free(more);
    answer_free(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_takes_every_reply), cmocka_unit_test(numbers),
        cmocka_unit_test(copies_fit_or_are_refused),        cmocka_unit_test(a_lease),
        cmocka_unit_test(rows_come_in_two_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
