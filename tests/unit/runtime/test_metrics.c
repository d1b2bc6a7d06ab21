/* SPDX-License-Identifier: MIT */
/* The registry and its text: values, escapes, buckets, and the bound on series. */
#include "tests/unit/runtime/test.h"

#include <math.h>
#include "runtime/metrics.h"

static char text[256 * 1024];

static const char *written(const struct metrics *metrics)
{
    struct buf buf;
    buf_init(&buf, sizeof text - 1);
    metrics_write(metrics, &buf);
    assert_false(buf.cut);
    (void)snprintf(text, sizeof text, "%s", buf_text(&buf));
    buf_fini(&buf);
    return text;
}

static void test_text(void **state)
{
    (void)state;
    struct metrics *metrics = metrics_new();
    struct metrics_family *outcomes = metrics_counter(metrics, "landfall_outcomes_total", "Outcomes by source");
    struct metrics_family *flight = metrics_gauge(metrics, "landfall_in_flight", "Transfers in flight");
    metrics_gauge(metrics, "landfall_empty", "Nothing yet");
    metrics_add(outcomes, "channel=\"a/b\"", 1);
    metrics_add(outcomes, "channel=\"a/b\"", 2);
    metrics_add(outcomes, "channel=\"c/d\"", 0);
    metrics_set(flight, "", 7);
    metrics_set(flight, "", 5);
    metrics_add(flight, "", -1.5);
    assert_string_equal(
        written(metrics),
        "# HELP landfall_metrics_dropped_total Updates that would have made a series beyond the limit of this process\n"
        "# TYPE landfall_metrics_dropped_total counter\n"
        "landfall_metrics_dropped_total 0\n"
        "# HELP landfall_outcomes_total Outcomes by source\n"
        "# TYPE landfall_outcomes_total counter\n"
        "landfall_outcomes_total{channel=\"a/b\"} 3\n"
        "landfall_outcomes_total{channel=\"c/d\"} 0\n"
        "# HELP landfall_in_flight Transfers in flight\n"
        "# TYPE landfall_in_flight gauge\n"
        "landfall_in_flight 3.5\n"
        "# HELP landfall_empty Nothing yet\n"
        "# TYPE landfall_empty gauge\n");
    metrics_free(&metrics);
    assert_null(metrics);
}

static void test_histogram(void **state)
{
    (void)state;
    static const double bounds[] = {0.1, 1, 10};
    struct metrics *metrics = metrics_new();
    struct metrics_family *seconds =
        metrics_histogram(metrics, "landfall_attempt_seconds", "How long attempts take", bounds, COUNT(bounds));
    const double values[] = {0.05, 0.1, 0.5, 5, 100};
    for (size_t i = 0; i < COUNT(values); i++)
        metrics_observe(seconds, "channel=\"a/b\"", values[i]);
    metrics_observe(seconds, "", 1);
    const char *page = written(metrics);
    assert_contains(page, "# TYPE landfall_attempt_seconds histogram\n"
                          "landfall_attempt_seconds_bucket{channel=\"a/b\",le=\"0.1\"} 2\n"
                          "landfall_attempt_seconds_bucket{channel=\"a/b\",le=\"1\"} 3\n"
                          "landfall_attempt_seconds_bucket{channel=\"a/b\",le=\"10\"} 4\n"
                          "landfall_attempt_seconds_bucket{channel=\"a/b\",le=\"+Inf\"} 5\n"
                          "landfall_attempt_seconds_sum{channel=\"a/b\"} 105.65\n"
                          "landfall_attempt_seconds_count{channel=\"a/b\"} 5\n"
                          "landfall_attempt_seconds_bucket{le=\"0.1\"} 0\n"
                          "landfall_attempt_seconds_bucket{le=\"1\"} 1\n");
    assert_contains(page, "landfall_attempt_seconds_count 1\n");
    metrics_free(&metrics);
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } numbers[] = {
        {0.1, "0.1"},       {1.0 / 3, "0.33333333333333331"},
        {1e15, "1e+15"},    {123456789012, "123456789012"},
        {INFINITY, "+Inf"}, {-INFINITY, "-Inf"},
        {NAN, "NaN"},
    };
    for (size_t i = 0; i < COUNT(numbers); i++) {
        char line[64];
        struct metrics *metrics = metrics_new();
        metrics_set(metrics_gauge(metrics, "g", "h"), "", numbers[i].value);
        (void)snprintf(line, sizeof line, "\ng %s\n", numbers[i].text);
        assert_contains(written(metrics), line);
        metrics_free(&metrics);
    }
}

static void test_labels(void **state)
{
    (void)state;
    char out[METRICS_LABELS_SIZE];
    assert_string_equal(metrics_labels(out, "channel", "mastodon/brand", "state", "held", (char *)NULL),
                        "channel=\"mastodon/brand\",state=\"held\"");
    assert_string_equal(metrics_labels(out, "a", "q\"b\\n\nl", (char *)NULL), "a=\"q\\\"b\\\\n\\nl\"");
    assert_string_equal(metrics_labels(out, "a", "\xFFx\xC3", (char *)NULL), "a=\"\xEF\xBF\xBDx\xEF\xBF\xBD\"");
    assert_string_equal(metrics_labels(out, "a", "%s%n", (char *)NULL), "a=\"%s%n\"");
    assert_string_equal(metrics_labels(out, "a", NULL, (char *)NULL), "a=\"\"");
    assert_string_equal(metrics_labels(out, (char *)NULL), "");
}

static void test_long_labels_stay_well_formed(void **state)
{
    (void)state;
    for (size_t shift = 0; shift < 4; shift++) {
        char out[METRICS_LABELS_SIZE];
        char value[2000];
        memset(value, '"', sizeof value - 1);
        memset(value, 'x', shift);
        value[sizeof value - 1] = '\0';
        metrics_labels(out, "a", value, "second", "does not fit", (char *)NULL);
        size_t len = strlen(out);
        assert_true(len < METRICS_LABELS_SIZE && len > METRICS_LABELS_SIZE - 4);
        size_t backslashes = 0;
        assert_int_equal(out[len - 1], '"');
        for (size_t i = 3; i < len - 1; i++)
            backslashes += out[i] == '\\';
        assert_int_equal(backslashes, (len - 4 - shift) / 2); /* each quote inside has its own */
    }
}

/* written() holds less. */
static void whole_page_has(const struct metrics *metrics, const char *part, bool expected)
{
    struct buf page;
    buf_init(&page, METRICS_TEXT_MAX_BYTES);
    metrics_write(metrics, &page);
    if ((strstr(buf_text(&page), part) != NULL) != expected)
        fail_msg("%s%s", expected ? "not there: " : "there: ", part);
    buf_fini(&page);
}

static void test_many_series(void **state)
{
    (void)state;
    char labels[METRICS_LABELS_SIZE];
    char number[32];
    struct metrics *metrics = metrics_new();
    struct metrics_family *family = metrics_counter(metrics, "many_total", "h");
    struct metrics_family *other = metrics_gauge(metrics, "other", "h");
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < METRICS_SERIES_MAX + 10; i++) {
            (void)snprintf(number, sizeof number, "%d", i);
            metrics_add(family, metrics_labels(labels, "n", number, (char *)NULL), 1);
        }
    }
    metrics_set(other, "", 5);
    /* one of the 20,000 is the counter of what was dropped */
    whole_page_has(metrics, "\nmany_total{n=\"19998\"} 2\n", true);
    whole_page_has(metrics, "{n=\"19999\"}", false);
    whole_page_has(metrics, "\nother 5\n", false);
    whole_page_has(metrics, "\nlandfall_metrics_dropped_total 23\n", true);

    metrics_clear(family); /* makes room */
    metrics_set(other, "", 6);
    metrics_add(family, "n=\"0\"", 1);
    whole_page_has(metrics, "\nother 6\n", true);
    whole_page_has(metrics, "\nmany_total{n=\"0\"} 1\n", true);
    whole_page_has(metrics, "{n=\"1\"}", false);
    metrics_free(&metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_histogram),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_long_labels_stay_well_formed),
        cmocka_unit_test(test_many_series),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
