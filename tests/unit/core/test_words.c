/* SPDX-License-Identifier: MIT */
/* Names, doubt lists, backoff. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/backoff.h"
#include "core/doubt.h"
#include "core/reason.h"

static void every_name_leads_back(void **state)
{
    (void)state;
    for (int i = 0; i < DS_COUNT; i++)
        assert_int_equal(i, delivery_state_from_name(delivery_state_name((enum delivery_state)i)));
    for (int i = 0; i < EV_COUNT; i++)
        assert_int_equal(i, delivery_event_from_name(delivery_event_name((enum delivery_event)i)));
    for (int i = 0; i < RS_COUNT; i++)
        assert_int_equal(i, delivery_reason_from_name(delivery_reason_name((enum delivery_reason)i)));
    for (int i = 0; i < SRC_COUNT; i++)
        assert_int_equal(i, delivery_source_from_name(delivery_source_name((enum delivery_source)i)));
    assert_int_equal(-1, delivery_state_from_name("Published"));
    assert_int_equal(-1, delivery_state_from_name(NULL));
    assert_string_equal("?", delivery_reason_name((enum delivery_reason)9999));
}

static void doubt_text_goes_there_and_back(void **state)
{
    (void)state;
    struct doubt d;
    char text[DOUBT_TEXT_MAX];
    assert_true(doubt_parse("1:9f2c01d4 3:77e0a1b2 rewound", &d));
    assert_int_equal(3, d.count);
    doubt_format(&d, text);
    assert_string_equal("1:9f2c01d4 3:77e0a1b2 rewound", text);
    assert_true(doubt_has(&d, 3, "77e0a1b2ffffffff"));
    assert_false(doubt_has(&d, 3, "9f2c01d4ffffffff"));
    doubt_add(&d, 3, "77e0a1b2ffffffff");
    assert_int_equal(3, d.count);
    doubt_remove(&d, 1, "9f2c01d4");
    doubt_remove(&d, 1, "9f2c01d4");
    doubt_format(&d, text);
    assert_string_equal("3:77e0a1b2 rewound", text);
    assert_true(doubt_has_forgotten(&d));
    doubt_add_forgotten(&d);
    assert_int_equal(2, d.count);
    assert_true(doubt_parse("3:77e0a1b2", &d));
    assert_false(doubt_has_forgotten(&d));
    doubt_add_forgotten(&d);
    doubt_format(&d, text);
    assert_string_equal("3:77e0a1b2 rewound", text);
}

static void doubt_refuses_what_is_no_list(void **state)
{
    (void)state;
    struct doubt d;
    const char *bad[] = {" ", "1:a ", " 1:a", "1:a  2:b", "0123456789012345678901234567890123456789"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(doubt_parse(bad[i], &d));
    char many[4 * (DOUBT_ENTRIES_MAX + 1)];
    many[0] = '\0';
    for (int i = 0; i <= DOUBT_ENTRIES_MAX; i++)
        memcpy(many + 2 * i, i == DOUBT_ENTRIES_MAX ? "x" : "x ", i == DOUBT_ENTRIES_MAX ? 2 : 3);
    assert_false(doubt_parse(many, &d));
    assert_true(doubt_parse("", &d));
    assert_true(doubt_parse(NULL, &d));
    assert_int_equal(0, d.count);
}

static void backoff_is_bounded_and_spread(void **state)
{
    (void)state;
    const uint32_t jitters[] = {0, 1, 12345, UINT32_MAX / 2, UINT32_MAX};
    for (int failures = -1; failures < 100; failures++) {
        for (size_t j = 0; j < sizeof jitters / sizeof jitters[0]; j++) {
            int64_t wait = backoff_ms(failures, 1000, 60000, jitters[j]);
            assert_in_range((uintmax_t)wait, 500, 60000);
        }
    }
    assert_int_equal(500, backoff_ms(1, 1000, 60000, 0));
    assert_int_equal(1000, backoff_ms(2, 1000, 60000, 0));
    assert_int_equal(30000, backoff_ms(50, 1000, 60000, 0)); /* capped first, spread afterwards */
    assert_int_equal(60000, backoff_ms(50, 1000, 60000, 30000));
    assert_int_equal(1, backoff_ms(1, 0, 0, 7));
    assert_true(backoff_ms(200, INT64_MAX / 2, INT64_MAX, UINT32_MAX) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_leads_back),
        cmocka_unit_test(doubt_text_goes_there_and_back),
        cmocka_unit_test(doubt_refuses_what_is_no_list),
        cmocka_unit_test(backoff_is_bounded_and_spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
