/* SPDX-License-Identifier: MIT */
/* One event is one line, whatever stands in its values; text is never a format; secrets never come out. */
#include "tests/unit/runtime/test.h"

#include <limits.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include "runtime/clock.h"
#include "runtime/die.h"
#include "runtime/log.h"
#include "runtime/secret.h"

static struct capture capture;

/* The line without its time, which has 24 characters and a space. */
static const char *logged(enum log_format format, const struct log_field *fields)
{
    log_configure(LOG_LEVEL_INFO, format);
    capture_start(&capture);
    log_fields(LOG_LEVEL_WARN, "test.event", fields);
    const char *line = capture_end(&capture);
    assert_int_equal(count_lines(line), 1);
    return line + (format == LOG_FORMAT_LOGFMT ? 25 : strlen("{\"time\":\"\",") + 24);
}

static const struct {
    const char *value;
    size_t len;
    const char *logfmt, *json;
} values[] = {
    {"plain", LOG_TERMINATED, "plain", "plain"},
    {"mastodon/brand/x", LOG_TERMINATED, "mastodon/brand/x", "mastodon/brand/x"},
    {"", LOG_TERMINATED, "\"\"", ""},
    {"two words", LOG_TERMINATED, "\"two words\"", "two words"},
    {"a=b", LOG_TERMINATED, "\"a=b\"", "a=b"},
    {"say \"hi\"", LOG_TERMINATED, "\"say \\\"hi\\\"\"", "say \\\"hi\\\""},
    {"back\\slash", LOG_TERMINATED, "\"back\\\\slash\"", "back\\\\slash"},
    {"x\r\nlevel=fatal event=forged", LOG_TERMINATED, "\"x\\r\\nlevel=fatal event=forged\"",
     "x\\r\\nlevel=fatal event=forged"},
    {"\x1b[31mred\t", LOG_TERMINATED, "\"\\u001b[31mred\\t\"", "\\u001b[31mred\\t"},
    {"nul\0inside", 10, "\"nul\\u0000inside\"", "nul\\u0000inside"},
    {"50% off %s%s%n%b", LOG_TERMINATED, "\"50% off %s%s%n%b\"", "50% off %s%s%n%b"},
    {"https://ex.test/a%20b", LOG_TERMINATED, "https://ex.test/a%20b", "https://ex.test/a%20b"},
    {"gr\xC3\xBC\xC3\x9F"
     "e",
     LOG_TERMINATED,
     "gr\xC3\xBC\xC3\x9F"
     "e",
     "gr\xC3\xBC\xC3\x9F"
     "e"},
    {"bad\xFF\xC3", LOG_TERMINATED, "bad\xEF\xBF\xBD\xEF\xBF\xBD", "bad\xEF\xBF\xBD\xEF\xBF\xBD"},
    {"\xE2\x80\xAE"
     "abc",
     LOG_TERMINATED, "\"\\u202eabc\"", "\\u202eabc"}, /* right to left override */
    {"\xC2\x9B"
     "31m",
     LOG_TERMINATED, "\"\\u009b31m\"", "\\u009b31m"}, /* a terminal's other escape */
    {"\x7f", LOG_TERMINATED, "\"\\u007f\"", "\\u007f"},
};

static void test_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(values); i++) {
        char expected[256];
        const struct log_field fields[] = {LOG_N("k", values[i].value, values[i].len), LOG_I("n", -5), LOG_END};
        (void)snprintf(expected, sizeof expected, "level=warn event=test.event k=%s n=-5\n", values[i].logfmt);
        assert_string_equal(logged(LOG_FORMAT_LOGFMT, fields), expected);
        (void)snprintf(expected, sizeof expected,
                       "\"level\":\"warn\",\"event\":\"test.event\",\"k\":\"%s\",\"n\":-5}\n", values[i].json);
        assert_string_equal(logged(LOG_FORMAT_JSON, fields), expected);
    }
}

static void test_left_out_and_extreme_fields(void **state)
{
    (void)state;
    const struct log_field fields[] = {LOG_S("none", NULL), LOG_I("least", INT64_MIN), LOG_I("most", INT64_MAX),
                                       LOG_END};
    assert_string_equal(logged(LOG_FORMAT_LOGFMT, fields),
                        "level=warn event=test.event least=-9223372036854775808 most=9223372036854775807\n");
}

static void test_macros_and_levels(void **state)
{
    (void)state;
    log_configure(LOG_LEVEL_WARN, LOG_FORMAT_LOGFMT);
    capture_start(&capture);
    log_event(LOG_LEVEL_INFO, "not.shown", LOG_S("a", "b"));
    log_event(LOG_LEVEL_ERROR, "shown", LOG_END);
    log_event(LOG_LEVEL_FATAL, "shown.too", LOG_S("a", "b"), LOG_I("n", 1));
    const char *text = capture_end(&capture);
    assert_lacks(text, "not.shown");
    assert_contains(text, " level=error event=shown\n");
    assert_contains(text, " level=fatal event=shown.too a=b n=1\n");
    assert_true(log_enabled(LOG_LEVEL_WARN) && !log_enabled(LOG_LEVEL_INFO));
}

static void test_time_leads(void **state)
{
    (void)state;
    log_configure(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT);
    capture_start(&capture);
    log_event(LOG_LEVEL_INFO, "x", LOG_END);
    const char *text = capture_end(&capture);
    assert_int_equal(text[10], 'T');
    assert_int_equal(text[19], '.');
    assert_string_equal(text + 23, "Z level=info event=x\n");
}

static void test_long_values_are_cut(void **state)
{
    (void)state;
    static char text[1 << 20];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = "\xE2\x82\xAC"[i % 3];
    const struct log_field fields[] = {LOG_N("k", text, sizeof text), LOG_S("after", "seen"), LOG_END};
    const char *line = logged(LOG_FORMAT_LOGFMT, fields);
    assert_true(strlen(line) < LOG_VALUE_MAX_BYTES + 64);
    assert_contains(line, "\xE2\x82\xAC... after=seen\n"); /* between two characters */
}

static void test_many_long_fields_are_still_one_line(void **state)
{
    (void)state;
    char text[LOG_VALUE_MAX_BYTES];
    struct log_field fields[33];
    memset(text, '\1', sizeof text); /* each takes six */
    for (size_t i = 0; i < 32; i++)
        fields[i] = (struct log_field)LOG_N("k", text, sizeof text);
    fields[32] = (struct log_field)LOG_END;
    const char *line = logged(LOG_FORMAT_JSON, fields);
    assert_string_equal(line + strlen(line) - 3, "\"}\n");
}

static void test_secrets_are_masked(void **state)
{
    (void)state;
    static const char canary[] = "CANARY-7f3a";
    static const struct {
        const char *value, *shown;
    } leaks[] = {
        {"Authorization: Bearer CANARY-7f3a", "k=\"Authorization: Bearer ***\""},
        {"CANARY-7f3a", "k=***"},
        {"Q0FOQVJZLTdmM2E=", "k=\"***"}, /* base64 */
        {"dXNlcjpDQU5BUlktN2YzYQ==", "k=\"dXNlcj"},
    };
    struct secret *secret = secret_new(canary, strlen(canary));
    for (size_t i = 0; i < COUNT(leaks); i++) {
        const struct log_field fields[] = {LOG_S("k", leaks[i].value), LOG_END};
        const char *line = logged(LOG_FORMAT_LOGFMT, fields);
        assert_contains(line, leaks[i].shown);
        assert_contains(line, "***");
        assert_lacks(line, "7f3a");
        assert_lacks(line, "N2YzY");
    }
    secret_free(&secret);
}

static void test_a_secret_across_the_cut(void **state)
{
    (void)state;
    struct secret *secret = secret_new("CANARY-7f3a-is-long", 19);
    for (size_t before = LOG_VALUE_MAX_BYTES - 25; before <= LOG_VALUE_MAX_BYTES; before++) {
        char text[LOG_VALUE_MAX_BYTES + 64];
        memset(text, 'x', before);
        (void)snprintf(text + before, sizeof text - before, "CANARY-7f3a-is-long and more");
        const struct log_field fields[] = {LOG_S("k", text), LOG_END};
        assert_lacks(logged(LOG_FORMAT_LOGFMT, fields), "CAN");
    }
    secret_free(&secret);
}

/* What stderr got so far, without an end of it. */
static size_t written_so_far(const struct capture *from)
{
    int bytes = 0;
    assert_int_equal(ioctl(from->read_end, FIONREAD, &bytes), 0);
    return (size_t)bytes;
}

static void test_held_lines_go_together(void **state)
{
    (void)state;
    log_configure(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT);
    capture_start(&capture);
    log_hold();
    log_event(LOG_LEVEL_INFO, "one", LOG_END);
    log_event(LOG_LEVEL_INFO, "two", LOG_I("n", 2));
    assert_int_equal(written_so_far(&capture), 0);
    log_event(LOG_LEVEL_WARN, "three", LOG_END); /* somebody should see it, and what led to it */
    const size_t three = written_so_far(&capture);
    assert_true(three > 0);
    log_event(LOG_LEVEL_INFO, "four", LOG_END);
    assert_int_equal(written_so_far(&capture), three);
    log_flush();
    assert_true(written_so_far(&capture) > three);
    log_event(LOG_LEVEL_INFO, "five", LOG_END);
    log_release();
    log_event(LOG_LEVEL_INFO, "six", LOG_END);
    const size_t six = written_so_far(&capture);
    log_flush();
    assert_int_equal(written_so_far(&capture), six);
    const char *text = capture_end(&capture);
    static const char *const order[] = {"event=one\n",  "event=two n=2\n", "event=three\n",
                                        "event=four\n", "event=five\n",    "event=six\n"};
    for (size_t i = 0; i < COUNT(order); i++) {
        text = strstr(text, order[i]);
        assert_non_null(text);
    }
    assert_int_equal(count_lines(capture.text), COUNT(order));
}

/* A pipe takes PIPE_BUF bytes at once, and may mix what is longer with what others write. */
static void test_held_lines_leave_whole(void **state)
{
    (void)state;
    static char value[LOG_VALUE_MAX_BYTES];
    memset(value, 'x', sizeof value - 1);
    log_configure(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT);
    capture_start(&capture);
    log_hold();
    size_t before = 0;
    for (int i = 0; i < 40; i++) {
        log_event(LOG_LEVEL_INFO, "long", LOG_S("k", value + i * 25));
        const size_t now = written_so_far(&capture);
        assert_true(now - before <= PIPE_BUF);
        before = now;
    }
    assert_true(before > 0);
    log_release();
    const char *text = capture_end(&capture);
    assert_int_equal(count_lines(text), 40);
    for (; *text; text = strchr(text, '\n') + 1)
        assert_int_equal(text[10], 'T'); /* every line begins with its time */
}

/* The buffer has room for one line of any length behind what may be held. */
static void test_a_held_line_that_is_too_long_leaves_at_once(void **state)
{
    (void)state;
    static char odd[LOG_VALUE_MAX_BYTES];
    memset(odd, '\x01', sizeof odd - 1);
    log_configure(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT);
    capture_start(&capture);
    log_hold();
    log_event(LOG_LEVEL_INFO, "huge", LOG_S("k", odd));
    assert_true(written_so_far(&capture) > PIPE_BUF);
    log_release();
    assert_int_equal(count_lines(capture_end(&capture)), 1);
}

static void test_a_process_that_dies_tells_what_it_held(void **state)
{
    (void)state;
    int status;
    log_configure(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT);
    capture_start(&capture);
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit none = {0, 0};
        (void)setrlimit(RLIMIT_CORE, &none);
        log_hold();
        log_event(LOG_LEVEL_INFO, "before", LOG_END);
        die("the end");
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    const char *text = capture_end(&capture);
    assert_contains(text, "event=before\nlandfall: the end\n");
}

static void test_the_limit(void **state)
{
    (void)state;
    static const struct {
        int64_t now_ms;
        bool pass;
        int64_t suppressed;
    } steps[] = {
        {5, true, 0},      {6, false, 0},    {10004, false, 0}, {10005, true, 2},
        {10006, false, 0}, {30000, true, 1}, {50000, true, 0},
    };
    struct log_limit limit = {0};
    for (size_t i = 0; i < COUNT(steps); i++) {
        int64_t suppressed = 0;
        assert_int_equal(log_limit_pass(&limit, steps[i].now_ms, &suppressed), steps[i].pass);
        assert_int_equal(suppressed, steps[i].suppressed);
    }
}

static void test_limited_events(void **state)
{
    (void)state;
    log_configure(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT);
    capture_start(&capture);
    for (int i = 0; i < 100; i++) {
        log_event_limited(LOG_LEVEL_WARN, "often.one", LOG_I("i", i));
        log_event_limited(LOG_LEVEL_WARN, "often.two", LOG_I("i", i));
        log_event_limited(LOG_LEVEL_DEBUG, "often.hidden", LOG_I("i", i));
    }
    log_limited_flush(clock_boottime_ms()); /* too early for either */
    const char *text = capture_end(&capture);
    assert_int_equal(count_lines(text), 2);
    assert_contains(text, "event=often.one i=0\n");
    assert_contains(text, "event=often.two i=0\n");

    capture_start(&capture);
    log_limited_flush(clock_boottime_ms() + LOG_LIMITED_INTERVAL_MS);
    log_limited_flush(clock_boottime_ms() + 3 * LOG_LIMITED_INTERVAL_MS); /* nothing is owed any more */
    text = capture_end(&capture);
    assert_int_equal(count_lines(text), 2);
    assert_contains(text, "level=warn event=often.one suppressed=99\n");
    assert_contains(text, "level=warn event=often.two suppressed=99\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_left_out_and_extreme_fields),
        cmocka_unit_test(test_macros_and_levels),
        cmocka_unit_test(test_time_leads),
        cmocka_unit_test(test_long_values_are_cut),
        cmocka_unit_test(test_many_long_fields_are_still_one_line),
        cmocka_unit_test(test_secrets_are_masked),
        cmocka_unit_test(test_a_secret_across_the_cut),
        cmocka_unit_test(test_held_lines_go_together),
        cmocka_unit_test(test_held_lines_leave_whole),
        cmocka_unit_test(test_a_held_line_that_is_too_long_leaves_at_once),
        cmocka_unit_test(test_a_process_that_dies_tells_what_it_held),
        cmocka_unit_test(test_the_limit),
        cmocka_unit_test(test_limited_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
