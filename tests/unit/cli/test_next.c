/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "cli/next.h"

#define NOW INT64_C(1788246000000)

/* Facts that a case changes, and the sentences as one text. */
struct scene {
    struct reads_delivery delivery;
    struct delivery_policy policy;
    struct reads_channel channel;
    struct reads_epoch epoch;
};

static void scene_init(struct scene *s, enum delivery_state state, enum delivery_reason reason)
{
    memset(s, 0, sizeof(*s));
    s->delivery.readable = true;
    s->delivery.row.core.state = state;
    s->delivery.row.core.reason = reason;
    s->delivery.row.core.since_ms = NOW - 1000;
    s->policy = (struct delivery_policy){.can_read = true,
                                         .key_window_ms = 3600000,
                                         .lease_ms = 60000,
                                         .late_commit_ms = 30000,
                                         .margin_ms = 10000,
                                         .visibility_lag_ms = 60000,
                                         .clean_misses = 2,
                                         .max_attempts = 5,
                                         .give_up_after_ms = 86400000};
}

static char *explain(const struct scene *s, bool configured)
{
    const struct next_facts facts = {.delivery = &s->delivery,
                                     .policy = configured ? &s->policy : NULL,
                                     .channel = &s->channel,
                                     .epoch = &s->epoch,
                                     .now_ms = NOW};
    json_t *lines = next_explain(&facts);
    assert_true(json_array_size(lines) > 0);
    char *text = json_dumps(lines, 0);
    json_decref(lines);
    return text;
}

static void expect(const struct scene *s, const char *says, const char * not )
{
    char *text = explain(s, true);
    assert_contains(text, says);
    if (not &&strstr(text, not )) fail_msg("%s contains %s", text, not );
    free(text);
}

/* Whoever adds a reason adds what it means. */
static void test_every_reason_has_words(void **state)
{
    (void)state;
    for (int i = RS_NONE + 1; i < RS_COUNT; i++)
        if (strlen(next_why((enum delivery_reason)i)) < 10)
            fail_msg("\"%s\" has no words in cli/next.c", delivery_reason_name((enum delivery_reason)i));
    for (int i = DS_NONE; i < DS_COUNT; i++) {
        struct scene s;
        scene_init(&s, (enum delivery_state)i, RS_NEW);
        free(explain(&s, true));
        free(explain(&s, false));
    }
}

static void test_approved(void **state)
{
    (void)state;
    struct scene s;
    scene_init(&s, DS_APPROVED, RS_RETRY);
    s.delivery.agenda_ms = NOW + 300000;
    expect(&s, "a worker takes it in 5 min", "handed back");
    s.delivery.row.turn_ms = NOW + 300000;
    expect(&s, "it was handed back after doubt: such go out one by one", "same request");
    s.delivery.row.core.doubt.count = 1;
    expect(&s, "the same request with the same key", NULL);
    s.delivery.waiting_ms = NOW - 5000;
    s.channel.next_at_ms = NOW + 75000;
    expect(&s, "waiting list, due now", NULL);
    expect(&s, "may send next in 1 min 15 s", NULL);
    s.channel.blocked_until_ms = NOW + 60000;
    expect(&s, "may send again in 1 min", "send next");
    s.channel.paused = true;
    s.channel.paused_at_ms = NOW - 60000;
    expect(&s, "was paused 1 min ago", "send again");
}

static void test_claimed(void **state)
{
    (void)state;
    struct scene s;
    scene_init(&s, DS_CLAIMED, RS_SENDING);
    expect(&s, "its lease is gone", NULL);
    snprintf(s.delivery.lease_holder, sizeof(s.delivery.lease_holder), "w-1");
    s.delivery.lease_left_ms = 30000;
    expect(&s, "its lease ends in 30 s", NULL);
    s.delivery.lease_left_ms = -1;
    expect(&s, "its lease has no end", "uncertain");
}

static void test_uncertain(void **state)
{
    (void)state;
    struct scene s;
    scene_init(&s, DS_UNCERTAIN, RS_NO_ANSWER);
    s.channel.walk_due_ms = NOW - 5000;
    s.delivery.row.core.first_send_ms = NOW - 60000;
    s.delivery.row.core.commit_by_ms = NOW + 60000;
    s.delivery.row.core.misses = 1;
    expect(&s, "looks again now", NULL);
    expect(&s, "absent at the earliest by a search that begins in 2 min (", NULL); /* commit_by and the lag */
    expect(&s, "clean searches: 1 of 2", NULL);
    expect(&s, "the same request may be sent again in 1 min (", NULL);
    s.epoch.no_absence_before_ms = NOW + 600000;
    expect(&s, "begins in 10 min", NULL);
    s.delivery.row.core.first_send_ms = NOW - 3600000;
    expect(&s, "held for a person in 23 h 59 min", "may be sent again"); /* the window is over */
    s.policy.can_read = false;
    expect(&s, "cannot be read", "absent at the earliest");
    s.policy.harmless = true;
    expect(&s, "a repeat does no harm", "cannot be read");
    char *text = explain(&s, false);
    assert_contains(text, "not configured here");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_reason_has_words), cmocka_unit_test(test_approved),
                                       cmocka_unit_test(test_claimed), cmocka_unit_test(test_uncertain)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
