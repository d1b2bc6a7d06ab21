/* SPDX-License-Identifier: MIT */
/* RFC 3339 times; the expected values were taken from "date -u -d TIME +%s". */
#include "tests/unit/keys/test.h"

#include "keys/content.h"

static void test_taken(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"1970-01-01T00:00:00.001Z", 1},
        {"1969-12-31T23:59:59.999Z", -1},
        {"2026-09-01T09:00:00+02:00", 1788246000000},
        {"2026-09-01t07:00:00z", 1788246000000},
        {"2026-09-01T00:00:00-07:00", 1788246000000},
        {"2026-09-01T07:00:00-00:00", 1788246000000},
        {"2026-09-01T07:00:00.2Z", 1788246000200},
        {"2026-09-01T07:00:00.25Z", 1788246000250},
        {"2026-09-01T07:00:00.123999999999999999Z", 1788246000123},
        {"2000-02-29T12:00:00Z", 951825600000},
        {"2024-02-29T23:59:59Z", 1709251199000},
        {"2024-03-01T00:00:00Z", 1709251200000},
        {"2023-12-31T23:59:59-23:59", 1704153539000},
        {"2024-01-01T00:00:00+23:59", 1703980860000},
        {"1900-03-01T00:00:00Z", -2203891200000},
        {"0000-01-01T00:00:00Z", -62167219200000},
        {"0001-01-01T00:00:00Z", -62135596800000},
        {"9999-12-31T23:59:59.999Z", 253402300799999},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t ms;
        char err[KEYS_ERR_BYTES] = "";
        if (!content_time(cases[i].text, &ms, err)) fail_msg("%s", err);
        if (ms != cases[i].ms) fail_msg("%s became %lld", cases[i].text, (long long)ms);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *error;
    } cases[] = {
        {"", "is not an RFC 3339 time"},
        {"tomorrow", "\"tomorrow\" is not an RFC 3339 time"},
        {"2026-09-01", "write it as 2026-09-01T09:00:00+02:00"},
        {"2026-09-01 09:00:00Z", "is not an RFC 3339 time"},
        {"2026-9-1T09:00:00Z", "is not an RFC 3339 time"},
        {"26-09-01T09:00:00Z", "is not an RFC 3339 time"},
        {"+2026-09-01T09:00:00Z", "is not an RFC 3339 time"},
        {"2026-09-01T09:00Z", "is not an RFC 3339 time"},
        {"2026-09-01T9:00:00Z", "is not an RFC 3339 time"},
        {"2026-09-01T09:00:00.Z", "is not an RFC 3339 time"},
        {"20260901T090000Z", "is not an RFC 3339 time"},
        {" 2026-09-01T09:00:00Z", "is not an RFC 3339 time"},
        {"2026-09-01T09:00:00", "has no offset from UTC"},
        {"2026-09-01T09:00:00.5", "has no offset from UTC"},
        {"2026-09-01T09:00:00Z ", "does not end with an offset"},
        {"2026-09-01T09:00:00,5Z", "does not end with an offset"},
        {"2026-09-01T09:00:00+0200", "does not end with an offset"},
        {"2026-09-01T09:00:00+02", "does not end with an offset"},
        {"2026-09-01T09:00:00+2:00", "does not end with an offset"},
        {"2026-09-01T09:00:00+24:00", "does not end with an offset"},
        {"2026-09-01T09:00:00+01:60", "does not end with an offset"},
        {"2026-09-01T09:00:00CET", "does not end with an offset"},
        {"2026-09-01T09:00:00+02:00[Europe/Berlin]", "does not end with an offset"},
        {"2026-09-01T09:00:00\n", "\"2026-09-01T09:00:00\\x0a\""},
        {"2026-00-01T09:00:00Z", "a day that no calendar has"},
        {"2026-13-01T09:00:00Z", "a day that no calendar has"},
        {"2026-09-00T09:00:00Z", "a day that no calendar has"},
        {"2026-09-31T09:00:00Z", "a day that no calendar has"},
        {"2026-02-29T09:00:00Z", "a day that no calendar has"},
        {"2024-02-30T09:00:00Z", "a day that no calendar has"},
        {"2100-02-29T09:00:00Z", "a day that no calendar has"},
        {"2026-09-01T24:00:00Z", "a time that no clock shows"},
        {"2026-09-01T09:60:00Z", "a time that no clock shows"},
        {"2026-09-01T09:00:61Z", "a time that no clock shows"},
        {"2016-12-31T23:59:60Z", "a leap second"},
        {"2017-01-01T00:59:60+01:00", "a leap second"},
        {"2026-09-01T09:00:00\xef\xbc\xba", "\\xef\\xbc\\xba"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t ms;
        char err[KEYS_ERR_BYTES] = "";
        if (content_time(cases[i].text, &ms, err)) fail_msg("%s was taken", cases[i].text);
        assert_clean_text(err);
        assert_contains(err, cases[i].error);
    }
}

/* Every day of 800 years follows the day before it by 86,400 seconds, and none is missing. */
static void test_all_days(void **state)
{
    (void)state;
    int64_t expected = -11676096000000; /* 1600-01-01 */
    size_t days = 0;
    for (int year = 1600; year < 2400; year++) {
        for (int month = 1; month <= 12; month++) {
            for (int day = 1; day <= 31; day++) {
                char text[40];
                char err[KEYS_ERR_BYTES];
                int64_t ms;
                snprintf(text, sizeof(text), "%04d-%02d-%02dT00:00:00Z", year, month, day);
                if (!content_time(text, &ms, err)) continue;
                if (ms != expected) fail_msg("%s became %lld", text, (long long)ms);
                expected += 86400000;
                days++;
            }
        }
    }
    assert_int_equal(days, 2 * 146097); /* two rounds of the Gregorian calendar */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taken),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_all_days),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
