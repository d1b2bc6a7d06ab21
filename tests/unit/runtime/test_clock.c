/* SPDX-License-Identifier: MIT */
/* What a process may believe of the Redis server's time, and how times are written. */
#include "tests/unit/runtime/test.h"

#include "runtime/clock.h"

static void test_nothing_known(void **state)
{
    (void)state;
    struct server_clock clock = {0};
    assert_int_equal(server_clock_now(&clock, 5000), 0);
    assert_true(server_clock_latest(&clock, 5000) == INT64_MAX);
    assert_int_equal(server_clock_leap(&clock, 1, 2, 3), 0);
}

static void test_bounds(void **state)
{
    (void)state;
    struct server_clock clock = {0};
    server_clock_note(&clock, 1000000, 500, 900); /* made between boot times 500 and 900 */
    assert_int_equal(server_clock_now(&clock, 900), 1000000);
    assert_int_equal(server_clock_latest(&clock, 900), 1000400);
    assert_int_equal(server_clock_now(&clock, 1900), 1001000);
    assert_int_equal(server_clock_latest(&clock, 1900), 1001400);
    server_clock_note(&clock, 1002000, 2000, 2010); /* the newest counts */
    assert_int_equal(server_clock_now(&clock, 2010), 1002000);
    assert_int_equal(server_clock_latest(&clock, 2010), 1002010);
}

/* The truth: server time = boot time + offset. Whatever the delays were, the bounds hold and no leap is seen. */
static void test_bounds_hold_for_every_delay(void **state)
{
    (void)state;
    const int64_t offset = 1700000000000;
    for (int64_t there = 0; there <= 4000; there += 250) {
        for (int64_t back = 0; back <= 4000; back += 250) {
            struct server_clock clock = {0};
            server_clock_note(&clock, 1000 + there + offset, 1000, 1000 + there + back);
            int64_t now = 9000;
            assert_true(server_clock_now(&clock, now) <= now + offset);
            assert_true(server_clock_latest(&clock, now) >= now + offset);
            assert_int_equal(server_clock_leap(&clock, 9000 + back + offset, 9000, 9000 + there + back), 0);
        }
    }
}

static void test_leaps(void **state)
{
    (void)state;
    static const struct {
        int64_t server_ms, sent, received;
        int64_t leap;
    } answers[] = {
        /* note: 1000000 between 0 and 100; so at boot time 10000 the server has 1009900 .. 1010000 */
        {1010000, 10000, 10000, 0},     {1040000, 10000, 10000, 0},  /* 30 s ahead of the upper bound: still none */
        {1040001, 10000, 10000, 30001}, {979900, 10000, 10000, 0},   /* 30 s behind the lower bound */
        {979899, 10000, 10000, -30001}, {1050000, 10000, 20000, 0},  /* a slow answer may be later by its delay */
        {1050001, 10000, 20000, 30001}, {0, 10000, 10000, -1009900}, /* a clock set to 1970 */
    };
    struct server_clock clock = {0};
    server_clock_note(&clock, 1000000, 0, 100);
    for (size_t i = 0; i < COUNT(answers); i++) {
        int64_t leap = server_clock_leap(&clock, answers[i].server_ms, answers[i].sent, answers[i].received);
        if (leap != answers[i].leap) fail_msg("answer %zu: %lld", i, (long long)leap);
    }
}

static void test_rfc3339(void **state)
{
    (void)state;
    static const struct {
        int64_t unix_ms;
        const char *text;
    } times[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {-1000, "1969-12-31T23:59:59.000Z"},
        {1796000400123, "2026-11-30T01:00:00.123Z"},
        {951782400000, "2000-02-29T00:00:00.000Z"},
        {253402300799999, "9999-12-31T23:59:59.999Z"},
        {253402300800000, "-"},
        {INT64_MAX, "-"},
        {INT64_MIN, "-"},
    };
    char out[CLOCK_RFC3339_SIZE];
    for (size_t i = 0; i < COUNT(times); i++)
        assert_string_equal(clock_rfc3339(times[i].unix_ms, out), times[i].text);
}

static void test_durations(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        const char *text;
    } spans[] = {
        {0, "0 ms"},
        {350, "350 ms"},
        {1000, "1 s"},
        {1999, "1 s"},
        {59999, "59 s"},
        {60000, "1 min"},
        {125000, "2 min 5 s"},
        {3600000, "1 h"},
        {3661000, "1 h 1 min"},
        {86399999, "23 h 59 min"},
        {604800000, "7 d"},
        {-125000, "-2 min 5 s"},
        {INT64_MAX, "106751991167 d 7 h"},
        {INT64_MIN, "-106751991167 d 7 h"},
    };
    char out[CLOCK_DURATION_SIZE];
    for (size_t i = 0; i < COUNT(spans); i++)
        assert_string_equal(clock_duration(spans[i].ms, out), spans[i].text);
}

static void test_own_clocks(void **state)
{
    (void)state;
    int64_t before = clock_boottime_ms();
    assert_true(before > 0);
    assert_true(clock_boottime_ms() >= before);
    assert_true(clock_wall_ms() > 1577836800000); /* 2020 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_known),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_bounds_hold_for_every_delay),
        cmocka_unit_test(test_leaps),
        cmocka_unit_test(test_rfc3339),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_own_clocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
