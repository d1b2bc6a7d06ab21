/* SPDX-License-Identifier: MIT */
/*
 * Waits in every form that servers send, the broken ones included. The group runs in several time zones and must not
 * notice.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <time.h>

#include "platforms/limits.h"

#define NOW INT64_C(1927886400000) /* 2031-02-03T12:00:00Z */

static void every_form(void **state)
{
    (void)state;
    static const struct {
        enum limits_form form;
        const char *value;
        int64_t wait_ms;
    } cases[] = {
        /* Retry-After: seconds */
        {LIMITS_SECONDS_OR_DATE, "30", 30000},
        {LIMITS_SECONDS_OR_DATE, " 30 ", 30000},
        {LIMITS_SECONDS_OR_DATE, "1.25", 1250},
        {LIMITS_SECONDS_OR_DATE, "0.2", 1000},
        {LIMITS_SECONDS_OR_DATE, "3600", 3600000},
        {LIMITS_SECONDS_OR_DATE, "86400", 3600000},
        {LIMITS_SECONDS_OR_DATE, "0", 0},
        {LIMITS_SECONDS_OR_DATE, "-5", 0},
        {LIMITS_SECONDS_OR_DATE, "+5", 0},
        {LIMITS_SECONDS_OR_DATE, "soon", 0},
        {LIMITS_SECONDS_OR_DATE, "5 soon", 0},
        {LIMITS_SECONDS_OR_DATE, "5,10", 0},
        {LIMITS_SECONDS_OR_DATE, "0x10", 0},
        {LIMITS_SECONDS_OR_DATE, "1e3", 0},
        {LIMITS_SECONDS_OR_DATE, "NaN", 0},
        {LIMITS_SECONDS_OR_DATE, "", 0},
        {LIMITS_SECONDS_OR_DATE, " ", 0},
        {LIMITS_SECONDS_OR_DATE, ".", 0},
        {LIMITS_SECONDS_OR_DATE, NULL, 0},
        {LIMITS_SECONDS_OR_DATE, "99999999999", 0},
        {LIMITS_SECONDS_OR_DATE, "99999999999999999999999999", 0},
        {LIMITS_SECONDS_OR_DATE, "1927886430", 0}, /* an epoch where a span is due */
        /* Retry-After: dates */
        {LIMITS_SECONDS_OR_DATE, "Mon, 03 Feb 2031 12:00:30 GMT", 30000},
        {LIMITS_SECONDS_OR_DATE, "Monday, 03-Feb-31 12:00:30 GMT", 30000},
        {LIMITS_SECONDS_OR_DATE, "Mon Feb  3 12:00:30 2031", 30000},
        {LIMITS_SECONDS_OR_DATE, "Mon, 03 Feb 2031 11:59:30 GMT", 0},
        {LIMITS_SECONDS_OR_DATE, "Mon, 03 Feb 2031 12:00:00 GMT", 0},
        {LIMITS_SECONDS_OR_DATE, "Wed, 21 Oct 2015 07:28:00 GMT", 0},
        {LIMITS_SECONDS_OR_DATE, "Sunday, 06-Nov-94 08:49:37 GMT", 0},
        {LIMITS_SECONDS_OR_DATE, "Sun Nov  6 08:49:37 1994", 0},
        {LIMITS_SECONDS_OR_DATE, "Tue, 04 Feb 2031 12:00:00 GMT", 3600000},
        {LIMITS_SECONDS_OR_DATE, "Mon, 03 Feb 2131 12:00:30 GMT", 0}, /* absurd */
        {LIMITS_SECONDS_OR_DATE, "Mon, 03 Feb 2031 12:00:30 PST", 0},
        {LIMITS_SECONDS_OR_DATE, "Mon, 03 Feb 2031 12:00:30", 0},
        {LIMITS_SECONDS_OR_DATE, "Mon, 30 Feb 2031 12:00:30 GMT", 0},
        {LIMITS_SECONDS_OR_DATE, "Mon, 03 Feb 2031 24:00:30 GMT", 0},
        {LIMITS_SECONDS_OR_DATE, "Mon, 03 Foo 2031 12:00:30 GMT", 0},
        {LIMITS_SECONDS_OR_DATE, "Mon, 03 Feb 2031 12:00:30 GMTx", 0},
        {LIMITS_SECONDS_OR_DATE, "Mon, 03 Feb 20310 12:00:30 GMT", 0},
        /* moments, under whichever name */
        {LIMITS_ISO8601, "2031-02-03T12:00:06.789Z", 6789},
        {LIMITS_ISO8601, "2031-02-03T14:00:06+02:00", 6000},
        {LIMITS_ISO8601, "2031-02-03T12:00:30.000000Z", 30000},
        {LIMITS_ISO8601, "2031-02-03T11:00:00Z", 0},
        {LIMITS_ISO8601, "2031-02-03T12:00:06", 0}, /* no offset: nobody knows where */
        {LIMITS_ISO8601, "1927886430", 30000},
        {LIMITS_ISO8601, "Mon, 03 Feb 2031 12:00:30 GMT", 30000},
        {LIMITS_EPOCH_S, "1927886430", 30000},
        {LIMITS_EPOCH_S, "1927886430.5", 30500},
        {LIMITS_EPOCH_S, "1927886430123", 30123}, /* milliseconds after all */
        {LIMITS_EPOCH_S, "2031-02-03T12:00:30Z", 30000},
        {LIMITS_EPOCH_S, "1500000000", 0},
        {LIMITS_EPOCH_S, "30", 30000},
        {LIMITS_EPOCH_S, "0", 0},
        {LIMITS_EPOCH_S, "-1", 0},
        {LIMITS_EPOCH_MS, "1927886430123", 30123},
        {LIMITS_EPOCH_MS, "1927886430", 30000},
        {LIMITS_EPOCH_MS, "1500000000000", 0},
        {LIMITS_EPOCH_MS, "30", 30000},
        {LIMITS_EPOCH_MS, "x", 0},
        /* spans */
        {LIMITS_DELTA_S, "2.5", 2500},
        {LIMITS_DELTA_S, "0.0004", 0},
        {LIMITS_DELTA_S, "1927886430", 0},
        {LIMITS_DELTA_S, "Mon, 03 Feb 2031 12:00:30 GMT", 0},
        {LIMITS_BODY, "12", 12000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t got = limits_wait_ms(cases[i].form, cases[i].value, NOW);
        if (got != cases[i].wait_ms)
            print_error("case %zu \"%s\": %lld\n", i, cases[i].value ? cases[i].value : "(none)", (long long)got);
        assert_int_equal(got, cases[i].wait_ms);
    }
}

static void http_dates(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        {"Sun, 06 Nov 1994 08:49:37 GMT", INT64_C(784111777000)},
        {"Sunday, 06-Nov-94 08:49:37 GMT", INT64_C(784111777000)},
        {"Sun Nov  6 08:49:37 1994", INT64_C(784111777000)},
        {"Thu, 29 Feb 2024 00:00:00 GMT", INT64_C(1709164800000)},
        {"Fri, 31 Dec 1999 23:59:60 GMT", INT64_C(946684800000)},
        {"Thu, 01 Jan 1970 00:00:00 GMT", 0},
        {"Saturday, 01-Jan-81 00:00:00 GMT", INT64_C(3502915200000)}, /* 50 years ahead of 2031: still this century */
        {"Friday, 01-Jan-82 00:00:00 GMT", INT64_C(378691200000)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t ms = -1;
        assert_true(limits_http_date(cases[i].text, NOW, &ms));
        if (ms != cases[i].ms) print_error("%s: %lld\n", cases[i].text, (long long)ms);
        assert_int_equal(ms, cases[i].ms);
    }
    int64_t ms;
    assert_false(limits_http_date("", NOW, &ms));
    assert_false(limits_http_date("Thu, 29 Feb 2023 00:00:00 GMT", NOW, &ms));
    assert_false(limits_http_date("Sun", NOW, &ms));
    assert_false(limits_http_date("Sun, ", NOW, &ms));
    assert_false(limits_http_date("Sun Nov", NOW, &ms));
}

static void seconds_in_a_body(void **state)
{
    (void)state;
    assert_int_equal(limits_clamp_seconds(0.5), 1000);
    assert_int_equal(limits_clamp_seconds(1.337), 1337);
    assert_int_equal(limits_clamp_seconds(7200), 3600000);
    assert_int_equal(limits_clamp_seconds(0), 0);
    assert_int_equal(limits_clamp_seconds(-1), 0);
    assert_int_equal(limits_clamp_seconds(1e300), 0);
    assert_int_equal(limits_clamp_seconds(strtod("nan", NULL)), 0);
    assert_int_equal(limits_clamp_seconds(strtod("inf", NULL)), 0);
}

static void the_time_zone_does_not_matter(void **state)
{
    static const char *const zones[] = {"America/Los_Angeles", "Asia/Kolkata", "XXX-14"};
    for (size_t i = 0; i < 3; i++) {
        setenv("TZ", zones[i], 1);
        tzset();
        every_form(state);
        http_dates(state);
    }
    unsetenv("TZ");
    tzset();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form),
        cmocka_unit_test(http_dates),
        cmocka_unit_test(seconds_in_a_body),
        cmocka_unit_test(the_time_zone_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
