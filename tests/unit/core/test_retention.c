/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "core/retention.h"

#define DAY INT64_C(86400000)
#define NOW (1000 * DAY)

/* A dated item, published 100 days ago, on a channel that holds items older than 30 days back: it may go. */
struct scene {
    struct delivery_row row;
    struct delivery_policy policy;
    struct retention_facts facts;
};

static struct scene good(void)
{
    struct scene s = {
        .row = {.state = DS_PUBLISHED, .since_ms = NOW - 100 * DAY, .dated_ms = NOW - 100 * DAY},
        .policy = {.lease_ms = 60000, .late_commit_ms = 30000, .give_up_after_ms = 7 * DAY, .max_age_ms = 30 * DAY},
        .facts = {.now_ms = NOW, .before_ms = NOW - 90 * DAY, .rejected_keep_ms = 7 * DAY},
    };
    return s;
}

static enum retention of(const struct scene *s)
{
    return retention_of(&s->row, &s->policy, &s->facts);
}

static void test_what_may_go(void **state)
{
    (void)state;
    struct scene s = good();
    assert_int_equal(of(&s), RETENTION_DROP);
    s.row.state = DS_REJECTED;
    assert_int_equal(of(&s), RETENTION_DROP);
    s.policy.key_window_ms = DELIVERY_FOREVER;
    assert_int_equal(of(&s), RETENTION_DROP);
}

static void test_only_what_is_settled(void **state)
{
    (void)state;
    static const enum delivery_state open[] = {DS_NONE, DS_APPROVED, DS_CLAIMED, DS_UNCERTAIN, DS_HELD};
    for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
        struct scene s = good();
        s.row.state = open[i];
        s.facts.without_guard = true;
        assert_int_equal(of(&s), RETENTION_OPEN);
    }
}

static void test_only_what_is_older(void **state)
{
    (void)state;
    struct scene s = good();
    s.facts.before_ms = s.row.since_ms;
    assert_int_equal(of(&s), RETENTION_YOUNG);
    s.facts.before_ms++;
    assert_int_equal(of(&s), RETENTION_DROP);
}

/* Each time of an attempt alone keeps the row until it is over, whatever the caller takes on himself. */
static void test_what_was_sent_may_still_count(void **state)
{
    (void)state;
    const size_t times[] = {
        offsetof(struct delivery_policy, lease_ms),          offsetof(struct delivery_policy, late_commit_ms),
        offsetof(struct delivery_policy, visibility_lag_ms), offsetof(struct delivery_policy, margin_ms),
        offsetof(struct delivery_policy, key_window_ms),     offsetof(struct delivery_policy, give_up_after_ms)};
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        struct scene s = good();
        s.policy = (struct delivery_policy){.max_age_ms = 30 * DAY};
        s.facts.without_guard = true;
        int64_t *time_ms = (int64_t *)(void *)((char *)&s.policy + times[i]);
        *time_ms = 100 * DAY;
        assert_int_equal(of(&s), RETENTION_ATTEMPT);
        *time_ms = 100 * DAY - 1;
        assert_int_equal(of(&s), RETENTION_DROP);
    }
    struct scene s = good();
    s.facts.rejected_keep_ms = 100 * DAY;
    assert_int_equal(of(&s), RETENTION_DROP);
    s.row.state = DS_REJECTED;
    assert_int_equal(of(&s), RETENTION_ATTEMPT);
}

/* The item could come again and would be sent: until its own date is older than what the channel takes. */
static void test_the_age_guard(void **state)
{
    (void)state;
    struct scene s = good();
    s.row.dated_ms = NOW - 30 * DAY;
    assert_int_equal(of(&s), RETENTION_AGE);
    s.row.dated_ms--;
    assert_int_equal(of(&s), RETENTION_DROP);
    s.row.dated_ms = 0;
    assert_int_equal(of(&s), RETENTION_UNGUARDED);
    s = good();
    s.policy.max_age_ms = 0;
    assert_int_equal(of(&s), RETENTION_UNGUARDED);
    s.facts.without_guard = true;
    assert_int_equal(of(&s), RETENTION_DROP);
    s.facts.without_guard = false;
    s.policy.harmless = true;
    assert_int_equal(of(&s), RETENTION_DROP);
}

static void test_what_somebody_waits_for_and_what_nobody_knows(void **state)
{
    (void)state;
    struct scene s = good();
    s.facts.without_guard = true;
    s.facts.awaited = true;
    assert_int_equal(of(&s), RETENTION_AWAITED);
    s.facts.awaited = false;
    assert_int_equal(retention_of(&s.row, NULL, &s.facts), RETENTION_NOT_CONFIGURED);
}

static void test_words(void **state)
{
    (void)state;
    for (int i = 0; i < RETENTION_COUNT; i++) {
        assert_true(retention_name((enum retention)i)[0] != '\0');
        assert_int_equal(retention_why((enum retention)i)[0] == '\0', i == RETENTION_DROP);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_may_go),
        cmocka_unit_test(test_only_what_is_settled),
        cmocka_unit_test(test_only_what_is_older),
        cmocka_unit_test(test_what_was_sent_may_still_count),
        cmocka_unit_test(test_the_age_guard),
        cmocka_unit_test(test_what_somebody_waits_for_and_what_nobody_knows),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
