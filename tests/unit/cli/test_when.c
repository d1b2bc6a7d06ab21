/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "cli/when.h"

static void test_parse(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ok, span;
        int64_t ms;
    } cases[] = {
        {"90s", true, true, 90000},
        {"15m", true, true, 900000},
        {"2h30m", true, true, 9000000},
        {"7d", true, true, 604800000},
        {"0s", true, true, 0},
        {"2026-09-01T09:00:00+02:00", true, false, 1788246000000},
        {"", false, false, 0},
        {"5", false, false, 0},
        {"5x", false, false, 0},
        {"-5m", false, false, 0},
        {"5m ", false, false, 0},
        {"m", false, false, 0},
        {"99999999999s", false, false, 0},
        {"999999999d", false, false, 0},
        {"2026-09-01T09:00:00", false, false, 0},
        {"tomorrow\x1b[2J", false, false, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct when when;
        struct errbuf err = {""};
        bool ok = when_parse(cases[i].text, &when, &err);
        if (ok != cases[i].ok) fail_msg("\"%s\": %d", cases[i].text, ok);
        if (!ok) {
            assert_contains(err.text, "2026-09-01T09:00:00+02:00");
            assert_null(strchr(err.text, '\x1b'));
            continue;
        }
        assert_int_equal(when.span, cases[i].span);
        assert_int_equal(when.ms, cases[i].ms);
    }
}

static void test_text(void **state)
{
    (void)state;
    const int64_t now = 1788246000000;
    char out[WHEN_TEXT_BYTES];
    assert_string_equal(when_text(0, now, out), "-");
    assert_string_equal(when_text(now + 300000, now, out), "in 5 min (2026-09-01T07:05:00.000Z)");
    assert_string_equal(when_text(now - 10800000, now, out), "3 h ago (2026-09-01T04:00:00.000Z)");
    assert_string_equal(when_text(now + 400, now, out), "now (2026-09-01T07:00:00.400Z)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parse), cmocka_unit_test(test_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
