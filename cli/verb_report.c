/* SPDX-License-Identifier: MIT */
/* Reads the stream of outcomes and keeps the newest of each delivery; memory is bounded by the stream's length. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/batches.h"
#include "cli/notes.h"
#include "cli/out.h"
#include "cli/report.h"
#include "ledger/feed.h"
#include "runtime/die.h"

#define PAGE         500
#define DAY_MS       INT64_C(86400000)
#define CURSOR_BYTES 48

typedef void take_entry(struct report *report, const struct feed_entry *entry);

/* ---- reading */

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

static void take_outcome(struct report *report, const struct feed_entry *entry)
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

static void take_refused(struct report *report, const struct feed_entry *entry)
{
    (void)entry;
    report->refused_input++;
}

/* All entries of a stream from since_ms on; *count: how many. */
static bool read_stream(struct report *report, enum names_kind stream, take_entry *take, int64_t *count)
{
    struct cli *cli = report->cli;
    char after[CURSOR_BYTES];
    size_t part = PAGE;
    *count = 0;
    snprintf(after, sizeof(after), "%" PRId64 "-%" PRIu64, report->since_ms > 0 ? report->since_ms - 1 : 0, UINT64_MAX);
    while (part == PAGE) {
        struct feed_batch page;
        if (!reads_stream(&cli->ledger, cli->link, stream, after, PAGE, &page, cli_limit_ms(cli), &cli->err))
            return false;
        part = page.count;
        *count += (int64_t)part;
        for (size_t i = 0; i < part; i++)
            take(report, &page.entries[i]);
        if (part > 0) snprintf(after, sizeof(after), "%s", page.entries[part - 1].id);
        feed_batch_fini(&page);
    }
    return true;
}

/* Where the stream has lost entries and begins inside the span, the span's beginning is missing. So it is where Redis
 * was set back. Where it is not known what it lost, one that is as long as it may be counts as cut. */
static bool look_back(struct report *report, int64_t read)
{
    struct cli *cli = report->cli;
    struct feed_batch first;
    int64_t lost;
    const int64_t rewound_ms = cli->overview.epoch.rewound_at_ms;
    if (!reads_stream_lost(&cli->ledger, cli->link, NAMES_OUTCOMES, &lost, cli_limit_ms(cli), &cli->err) ||
        !reads_stream(&cli->ledger, cli->link, NAMES_OUTCOMES, "0", 1, &first, cli_limit_ms(cli), &cli->err))
        return false;
    bool cut = lost > 0 || (lost < 0 && read >= cli->config->retention_outcomes_entries);
    int64_t first_ms = first.count > 0 ? first.entries[0].ms : report->now_ms;
    if (cut && first_ms > report->since_ms) report->kept_from_ms = first_ms;
    if (rewound_ms > report->since_ms && rewound_ms > report->kept_from_ms) report->kept_from_ms = rewound_ms;
    feed_batch_fini(&first);
    return true;
}

/* ---- counting */

static const char *text_of(const json_t *one, const char *name)
{
    const char *text = json_string_value(json_object_get(one, name));
    return text ? text : "-";
}

static struct report_channel *find_channel(struct report *report, const char *name)
{
    for (size_t i = 0; i < report->channel_count; i++)
        if (strcmp(report->channels[i].name, name) == 0) return &report->channels[i];
    report->channels = xrealloc_array(report->channels, report->channel_count + 1, sizeof(*report->channels));
    struct report_channel *channel = &report->channels[report->channel_count++];
    memset(channel, 0, sizeof(*channel));
    snprintf(channel->name, sizeof(channel->name), "%s", name);
    return channel;
}

static void count_outcomes(struct report *report)
{
    const char *name;
    json_t *one;
    json_object_foreach(report->outcomes, name, one)
    {
        char channel[IDENTITY_CHANNEL_BYTES], key[IDENTITY_NAME_BYTES + 64];
        const char *state = text_of(one, "state");
        int known = delivery_state_from_name(state);
        batches_channel(name, channel);
        snprintf(key, sizeof(key), "%s %s %s", channel, state, text_of(one, "source"));
        out_set(report->counts, key, json_integer(json_integer_value(json_object_get(report->counts, key)) + 1));
        if (known < 0) continue;
        report->of_state[known]++;
        find_channel(report, channel)->outcome[known]++;
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct report_channel *)a)->name, ((const struct report_channel *)b)->name);
}

/* How it stands now, where the outcomes cannot say. */
static bool read_now(struct report *report)
{
    struct cli *cli = report->cli;
    struct reads_channel *channels = NULL;
    size_t count = 0;
    if (!reads_channels(&cli->ledger, cli->link, cli->options.value[FLAG_CHANNEL_ID], &channels, &count,
                        cli_limit_ms(cli), &cli->err))
        return false;
    for (size_t i = 0; i < count; i++) {
        memcpy(find_channel(report, channels[i].channel)->now, channels[i].counts, sizeof(channels[i].counts));
        report->uncertain += channels[i].counts[DS_UNCERTAIN];
    }
    reads_channels_free(&channels);
    if (report->channel_count > 0) qsort(report->channels, report->channel_count, sizeof(*report->channels), by_name);
    return true;
}

static bool add_notes(struct report *report)
{
    struct cli *cli = report->cli;
    struct notes_processes processes = {0};
    char from[WHEN_TEXT_BYTES];
    if (report->kept_from_ms)
        out_add_format(report->notes, "outcomes before %s are not all kept: this report can be believed from then on",
                       when_text(report->kept_from_ms, report->now_ms, from));
    if (report->refused_input)
        out_add_format(report->notes,
                       "%" PRId64 " entries of the queue were no deliveries; the stream refused has them",
                       report->refused_input);
    if (cli->overview.queue_length)
        out_add_format(report->notes, "%" PRId64 " entries of the queue are not read or not settled yet",
                       cli->overview.queue_length);
    bool ok = notes_processes(cli, &processes);
    if (ok) notes_add_missing(cli, &processes, report->notes);
    notes_processes_fini(&processes);
    return ok;
}

static bool read_all(struct report *report)
{
    int64_t read, refused;
    if (!read_stream(report, NAMES_OUTCOMES, take_outcome, &read) || !look_back(report, read)) return false;
    if (!read_stream(report, NAMES_REFUSED, take_refused, &refused)) return false;
    count_outcomes(report);
    return read_now(report) && add_notes(report);
}

/* ---- the end */

static enum cli_exit finish(struct report *report, const char *format)
{
    const struct cli *cli = report->cli;
    enum cli_exit code = report->of_state[DS_HELD] > 0 || report->uncertain > 0 ? EXIT_OPEN : EXIT_FINE;
    if (report->of_state[DS_REJECTED] > 0) code = cli_worse(code, EXIT_REJECTED);
    if (report->of_state[DS_PUBLISHED] < cli->options.number[FLAG_EXPECT_ID]) code = cli_worse(code, EXIT_MISSING);
    if (cli->json || strcmp(format, "json") == 0) return out_json(report_document(report)) ? code : EXIT_USAGE;
    if (strcmp(format, "github") == 0)
        report_print_github(report);
    else
        report_print_text(report);
    return code;
}

static bool check_arguments(const struct cli *cli, const char *format, struct errbuf *err)
{
    const char *channel = cli->options.value[FLAG_CHANNEL_ID];
    if (strcmp(format, "text") != 0 && strcmp(format, "json") != 0 && strcmp(format, "github") != 0)
        return errbuf_set(err, "--format: text, json or github");
    return !channel || cli_check_partition(cli, channel, err);
}

enum cli_exit verb_report(struct cli *cli)
{
    const struct when *since = &cli->options.when[FLAG_SINCE_ID];
    const char *format = options_has(&cli->options, FLAG_FORMAT_ID) ? cli->options.value[FLAG_FORMAT_ID] : "text";
    struct report report = {.cli = cli};
    if (!cli_load(cli)) return EXIT_USAGE;
    if (!check_arguments(cli, format, &cli->err)) return cli_fail(cli, EXIT_USAGE);
    enum cli_exit code = cli_connect(cli);
    if (code == EXIT_FINE) code = cli_require_channel(cli, cli->options.value[FLAG_CHANNEL_ID]);
    if (code != EXIT_FINE) return code;
    int64_t span_ms = since->span ? since->ms : DAY_MS;
    bool moment = options_has(&cli->options, FLAG_SINCE_ID) && !since->span;
    report.now_ms = cli_now_ms(cli);
    report.since_ms = moment ? since->ms : report.now_ms - span_ms;
    report.outcomes = json_object();
    report.counts = json_object();
    report.notes = json_array();
    code = read_all(&report) ? finish(&report, format) : cli_fail(cli, EXIT_AWAY);
    json_decref(report.outcomes);
    json_decref(report.counts);
    json_decref(report.notes);
    free(report.channels);
    return code;
}
