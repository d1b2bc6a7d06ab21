/* SPDX-License-Identifier: MIT */
/* Reads the stream of outcomes and keeps the newest of each delivery; memory is bounded by the stream's length. */
#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/out.h"
#include "ledger/feed.h"

#define PAGE         500
#define DAY_MS       INT64_C(86400000)
#define CURSOR_BYTES 48

struct report {
    struct cli *cli;
    int64_t since_ms;
    json_t *outcomes; /* delivery -> the entry's fields; in the order of the newest outcomes */
    json_t *counts;   /* "channel state source" -> n */
    int64_t of_state[DS_COUNT];
};

static json_t *field(const struct feed_entry *entry, const char *name)
{
    size_t len = 0;
    const char *value = feed_value(entry, name, &len);
    return value && len > 0 ? out_bytes(value, len) : json_null();
}

static bool of_channel(const char *delivery, const char *channel)
{
    size_t len = channel ? strlen(channel) : 0;
    return !channel || (strncmp(delivery, channel, len) == 0 && delivery[len] == '/');
}

static void take(struct report *report, const struct feed_entry *entry)
{
    static const char *const texts[] = {"state", "reason", "source", "ext_id", "url", "attempt"};
    json_t *delivery = field(entry, "delivery");
    const char *name = json_string_value(delivery);
    if (name && of_channel(name, report->cli->options.value[FLAG_CHANNEL_ID])) {
        json_t *one = json_object();
        out_set(one, "delivery", json_incref(delivery));
        for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
            out_set(one, texts[i], field(entry, texts[i]));
        out_set(one, "at_ms", json_integer(entry->ms));
        json_object_del(report->outcomes, name);
        out_set(report->outcomes, name, one);
    }
    json_decref(delivery);
}

static bool read_all(struct report *report)
{
    struct cli *cli = report->cli;
    char after[CURSOR_BYTES];
    size_t count = PAGE;
    snprintf(after, sizeof(after), "%" PRId64 "-%" PRIu64, report->since_ms > 0 ? report->since_ms - 1 : 0, UINT64_MAX);
    while (count == PAGE) {
        struct feed_batch page;
        if (!reads_stream(&cli->ledger, cli->link, NAMES_OUTCOMES, after, PAGE, &page, cli_limit_ms(cli), &cli->err))
            return false;
        count = page.count;
        for (size_t i = 0; i < count; i++)
            take(report, &page.entries[i]);
        if (count > 0) snprintf(after, sizeof(after), "%s", page.entries[count - 1].id);
        feed_batch_fini(&page);
    }
    return true;
}

static const char *text_of(const json_t *one, const char *name)
{
    const char *text = json_string_value(json_object_get(one, name));
    return text ? text : "-";
}

static void count(struct report *report)
{
    const char *name;
    json_t *one;
    json_object_foreach(report->outcomes, name, one)
    {
        char key[IDENTITY_NAME_BYTES + 64];
        const char *state = text_of(one, "state");
        const char *slash = strchr(name, '/');
        size_t channel_len = slash ? (size_t)(slash - name) + 1 + strcspn(slash + 1, "/") : strlen(name);
        int known = delivery_state_from_name(state);
        if (known >= 0) report->of_state[known]++;
        snprintf(key, sizeof(key), "%.*s %s %s", (int)channel_len, name, state, text_of(one, "source"));
        out_set(report->counts, key, json_integer(json_integer_value(json_object_get(report->counts, key)) + 1));
    }
}

static json_t *document(const struct report *report)
{
    const char *name;
    json_t *value;
    json_t *counts = json_array(), *deliveries = json_array(), *all = json_object();
    json_object_foreach(report->counts, name, value)
    {
        const char *state = strchr(name, ' ') + 1, *source = strchr(state, ' ') + 1;
        json_t *one = json_object();
        out_set(one, "channel", out_bytes(name, (size_t)(state - 1 - name)));
        out_set(one, "state", out_bytes(state, (size_t)(source - 1 - state)));
        out_set(one, "source", strcmp(source, "-") == 0 ? json_null() : out_string(source));
        out_set(one, "n", json_incref(value));
        out_add(counts, one);
    }
    json_object_foreach(report->outcomes, name, value)
    {
        out_add(deliveries, json_incref(value));
    }
    out_set(all, "since_ms", json_integer(report->since_ms));
    out_set(all, "published", json_integer(report->of_state[DS_PUBLISHED]));
    out_set(all, "counts", counts);
    out_set(all, "deliveries", deliveries);
    return all;
}

static void print(const struct report *report)
{
    const char *name;
    json_t *value;
    char at[WHEN_TEXT_BYTES];
    int64_t now_ms = cli_now_ms(report->cli);
    json_object_foreach(report->outcomes, name, value)
    {
        out_line(stdout, "%-9s %s  %s %s  %s  %s", text_of(value, "state"), name, text_of(value, "reason"),
                 text_of(value, "source"), text_of(value, "url"),
                 when_text(json_integer_value(json_object_get(value, "at_ms")), now_ms, at));
    }
    json_object_foreach(report->counts, name, value)
    {
        out_line(stdout, "%6" JSON_INTEGER_FORMAT " %s", json_integer_value(value), name);
    }
    out_line(stdout, "from %s on: %" PRId64 " published, %" PRId64 " rejected, %" PRId64 " held",
             when_text(report->since_ms, now_ms, at), report->of_state[DS_PUBLISHED], report->of_state[DS_REJECTED],
             report->of_state[DS_HELD]);
}

static enum cli_exit finish(struct report *report)
{
    const struct cli *cli = report->cli;
    enum cli_exit code = report->of_state[DS_HELD] > 0 ? EXIT_OPEN : EXIT_FINE;
    int64_t expected = cli->options.number[FLAG_EXPECT_ID];
    if (report->of_state[DS_REJECTED] > 0) code = cli_worse(code, EXIT_REJECTED);
    if (report->of_state[DS_PUBLISHED] < expected) code = cli_worse(code, EXIT_MISSING);
    if (cli->json) return out_json(document(report)) ? code : EXIT_USAGE;
    print(report);
    if (report->of_state[DS_PUBLISHED] < expected)
        out_line(stdout, "expected %" PRId64 " published: %" PRId64 " are missing", expected,
                 expected - report->of_state[DS_PUBLISHED]);
    return code;
}

enum cli_exit verb_report(struct cli *cli)
{
    const struct when *since = &cli->options.when[FLAG_SINCE_ID];
    const char *channel = cli->options.value[FLAG_CHANNEL_ID];
    struct report report = {.cli = cli};
    if (!cli_load(cli)) return EXIT_USAGE;
    if (channel && !cli_check_partition(cli, channel, &cli->err)) return cli_fail(cli, EXIT_USAGE);
    enum cli_exit code = cli_connect(cli);
    if (code != EXIT_FINE) return code;
    int64_t span_ms = since->span ? since->ms : DAY_MS;
    bool moment = options_has(&cli->options, FLAG_SINCE_ID) && !since->span;
    report.since_ms = moment ? since->ms : cli_now_ms(cli) - span_ms;
    report.outcomes = json_object();
    report.counts = json_object();
    if (read_all(&report)) {
        count(&report);
        code = finish(&report);
    } else {
        code = cli_fail(cli, EXIT_AWAY);
    }
    json_decref(report.outcomes);
    json_decref(report.counts);
    return code;
}
