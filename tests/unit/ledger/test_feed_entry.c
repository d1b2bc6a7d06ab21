/* SPDX-License-Identifier: MIT */
#include "ledger/answer.h"
#include "ledger/feed_entry.h"
#include "test.h"

#define ENTRY(id, text) "*2\r\n$3\r\n" id "\r\n*4\r\n$7\r\nchannel\r\n$6\r\nblog/a\r\n$4\r\nitem\r\n$1\r\n" text "\r\n"

static void entries_of_a_read(void **state)
{
    (void)state;
    redisReply *r = reply_of("*1\r\n*2\r\n$1\r\nq\r\n*2\r\n" ENTRY("1-0", "x") ENTRY("2-5", "y"));
    struct feed_batch batch = {0};
    assert_int_equal(feed_entries(&batch, feed_stream_list(r), false), 0);
    assert_int_equal(batch.count, 2);
    assert_string_equal(batch.entries[1].id, "2-5");
    assert_int_equal(batch.entries[1].ms, 2);
    assert_false(batch.entries[1].again || batch.entries[1].deleted);
    size_t len;
    assert_string_equal(feed_value(&batch.entries[1], "item", &len), "y");
    assert_int_equal(len, 1);
    assert_null(feed_value(&batch.entries[1], "ite", NULL));
    feed_batch_fini(&batch);
    answer_free(r);
}

static void deleted_entries_in_each_servers_shape(void **state)
{
    (void)state;
    struct feed_batch batch = {0};
    redisReply *own = reply_of("*2\r\n*2\r\n$3\r\n1-0\r\n*-1\r\n" ENTRY("2-0", "x")); /* own history */
    assert_int_equal(feed_entries(&batch, own, true), 0);
    assert_int_equal(batch.count, 2);
    assert_true(batch.entries[0].deleted && batch.entries[0].again && batch.entries[0].field_count == 0);
    feed_batch_fini(&batch);
    redisReply *six = reply_of("*2\r\n$-1\r\n" ENTRY("2-0", "x")); /* XAUTOCLAIM of 6.2 */
    assert_int_equal(feed_entries(&batch, six, true), 0);
    assert_int_equal(batch.count, 1);
    feed_batch_fini(&batch);
    redisReply *seven = reply_of("*2\r\n$3\r\n1-0\r\n$3\r\n2-0\r\n"); /* third element of 7's */
    feed_deleted(&batch, seven);
    assert_int_equal(batch.count, 2);
    assert_true(batch.entries[1].deleted);
    feed_batch_fini(&batch);
    answer_free(own);
    answer_free(six);
    answer_free(seven);
}

static void senseless_shapes_are_dropped(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t senseless, kept;
    } cases[] = {
        {"$3\r\nabc\r\n", 0, 0},
        {"*1\r\n:7\r\n", 1, 0},
        {"*1\r\n*0\r\n", 1, 0},
        {"*1\r\n*2\r\n$3\r\nabc\r\n*0\r\n", 1, 0},
        {"*1\r\n*2\r\n$3\r\n1-x\r\n*0\r\n", 1, 0},
        {"*1\r\n*2\r\n$3\r\n1-0\r\n*0\r\n", 0, 1},
        {"*1\r\n*2\r\n$3\r\n1-0\r\n*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n", 0, 1},
        {"*1\r\n*2\r\n$3\r\n1-0\r\n*2\r\n:1\r\n*0\r\n", 0, 1},
        {"*1\r\n*1\r\n$3\r\n1-0\r\n", 0, 1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        redisReply *r = reply_of(cases[i].text);
        struct feed_batch batch = {0};
        assert_int_equal(feed_entries(&batch, r, false), cases[i].senseless);
        assert_int_equal(batch.count, cases[i].kept);
        feed_batch_fini(&batch);
        assert_null(feed_stream_list(NULL));
        (void)feed_stream_list(r);
        answer_free(r);
    }
}

static void ids(void **state)
{
    (void)state;
    int64_t ms;
    assert_true(feed_id("1795990610859-0", &ms));
    assert_int_equal(ms, 1795990610859);
    assert_true(feed_id("18446744073709551615-18446744073709551615", &ms));
    assert_int_equal(ms, INT64_MAX);
    static const char *const bad[] = {"", "-", "1", "1-", "-1", "1-2-3", "a-1", "123456789012345678901-1"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        if (feed_id(bad[i], &ms)) fail_msg("%s", bad[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_of_a_read),
        cmocka_unit_test(deleted_entries_in_each_servers_shape),
        cmocka_unit_test(senseless_shapes_are_dropped),
        cmocka_unit_test(ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
