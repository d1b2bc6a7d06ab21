/* SPDX-License-Identifier: MIT */
#include "cli/report.h"

#include <inttypes.h>
#include <string.h>

#include "cli/notes.h"
#include "cli/out.h"

#define MARKDOWN_ROWS_MAX 500 /* the summary of a job holds 1 MiB */

int64_t report_selected(const struct report_channel *c)
{
    return c->outcome[DS_PUBLISHED] + c->outcome[DS_REJECTED] + c->outcome[DS_HELD] + c->now[DS_APPROVED] +
           c->now[DS_CLAIMED] + c->now[DS_UNCERTAIN];
}

static const char *text_of(const json_t *one, const char *name)
{
    const char *text = json_string_value(json_object_get(one, name));
    return text ? text : "-";
}

static int64_t missing(const struct report *report)
{
    int64_t less = report->cli->options.number[FLAG_EXPECT_ID] - report->of_state[DS_PUBLISHED];
    return less > 0 ? less : 0;
}

/* ---- for programs */

static json_t *counts_json(const struct report *report)
{
    const char *name;
    json_t *value, *counts = json_array();
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
    return counts;
}

static json_t *channels_json(const struct report *report)
{
    json_t *list = json_array();
    for (size_t i = 0; i < report->channel_count; i++) {
        const struct report_channel *c = &report->channels[i];
        json_t *one = json_object();
        out_set(one, "channel", out_string(c->name));
        out_set(one, "selected", json_integer(report_selected(c)));
        out_set(one, "published", json_integer(c->outcome[DS_PUBLISHED]));
        out_set(one, "rejected", json_integer(c->outcome[DS_REJECTED]));
        out_set(one, "held", json_integer(c->outcome[DS_HELD]));
        out_set(one, "waiting_now", json_integer(c->now[DS_APPROVED]));
        out_set(one, "claimed_now", json_integer(c->now[DS_CLAIMED]));
        out_set(one, "uncertain_now", json_integer(c->now[DS_UNCERTAIN]));
        out_set(one, "held_now", json_integer(c->now[DS_HELD]));
        out_set(one, "skipped", json_null()); /* a repeat leaves no trace in the ledger; workers count them */
        out_add(list, one);
    }
    return list;
}

json_t *report_document(const struct report *report)
{
    const char *name;
    json_t *value, *deliveries = json_array(), *all = json_object();
    json_object_foreach(report->outcomes, name, value)
    {
        out_add(deliveries, json_incref(value));
    }
    out_set(all, "since_ms", json_integer(report->since_ms));
    out_set(all, "complete", json_boolean(report->kept_from_ms == 0));
    out_set(all, "kept_from_ms", out_time(report->kept_from_ms));
    out_set(all, "published", json_integer(report->of_state[DS_PUBLISHED]));
    out_set(all, "missing", json_integer(missing(report)));
    out_set(all, "refused_input", json_integer(report->refused_input));
    out_set(all, "channels", channels_json(report));
    out_set(all, "counts", counts_json(report));
    out_set(all, "deliveries", deliveries);
    out_set(all, "notes", json_incref(report->notes));
    return all;
}

/* ---- for people */

static void print_channels(const struct report *report)
{
    if (report->channel_count == 0) return;
    out_line(stdout, "%-30s %9s %9s %8s %6s | now: %9s %8s %9s", "channel", "selected", "published", "rejected", "held",
             "waiting", "claimed", "uncertain");
    for (size_t i = 0; i < report->channel_count; i++) {
        const struct report_channel *c = &report->channels[i];
        out_line(stdout,
                 "%-30s %9" PRId64 " %9" PRId64 " %8" PRId64 " %6" PRId64 " | now: %9" PRId64 " %8" PRId64 " %9" PRId64,
                 c->name, report_selected(c), c->outcome[DS_PUBLISHED], c->outcome[DS_REJECTED], c->outcome[DS_HELD],
                 c->now[DS_APPROVED], c->now[DS_CLAIMED], c->now[DS_UNCERTAIN]);
    }
}

void report_print_text(const struct report *report)
{
    const char *name;
    json_t *value;
    char at[WHEN_TEXT_BYTES];
    json_object_foreach(report->outcomes, name, value)
    {
        out_line(stdout, "%-9s %s  %s %s  %s  %s", text_of(value, "state"), name, text_of(value, "reason"),
                 text_of(value, "source"), text_of(value, "url"),
                 when_text(json_integer_value(json_object_get(value, "at_ms")), report->now_ms, at));
    }
    json_object_foreach(report->counts, name, value)
    {
        out_line(stdout, "%6" JSON_INTEGER_FORMAT " %s", json_integer_value(value), name);
    }
    print_channels(report);
    out_line(stdout, "from %s on: %" PRId64 " published, %" PRId64 " rejected, %" PRId64 " held",
             when_text(report->since_ms, report->now_ms, at), report->of_state[DS_PUBLISHED],
             report->of_state[DS_REJECTED], report->of_state[DS_HELD]);
    if (missing(report) > 0)
        out_line(stdout, "expected %" PRId64 " published: %" PRId64 " are missing",
                 report->cli->options.number[FLAG_EXPECT_ID], missing(report));
    notes_print(report->notes);
}

/* ---- Markdown. Whatever came from outside stands between backticks, or is an address that Markdown takes as it is. */

static void code_span(struct buf *out, const char *text)
{
    buf_append_text(out, "`");
    for (; *text; text++) {
        if (*text == '|')
            buf_append_text(out, "\\|");
        else
            buf_append(out, *text == '`' ? "'" : text, 1);
    }
    buf_append_text(out, "`");
}

static void post_link(struct buf *out, const json_t *one)
{
    const char *url = text_of(one, "url");
    bool plain = url[strcspn(url, " <>|`\\\"\t\r\n")] == '\0';
    if (plain && (strncmp(url, "https://", 8) == 0 || strncmp(url, "http://", 7) == 0))
        buf_append_format(out, "<%s>", url);
    else
        code_span(out, text_of(one, "ext_id"));
}

static void print_rows(const struct report *report, bool published)
{
    const char *name;
    json_t *one;
    int64_t rows = 0;
    json_object_foreach(report->outcomes, name, one)
    {
        struct buf line;
        if ((strcmp(text_of(one, "state"), "published") == 0) != published) continue;
        if (rows == 0)
            puts(published ? "\n### Published\n\n| delivery | source | post |\n|---|---|---|"
                           : "\n### Not published\n\n| delivery | state | reason |\n|---|---|---|");
        if (++rows > MARKDOWN_ROWS_MAX) continue;
        buf_init(&line, (size_t)16 << 10);
        buf_append_text(&line, "| ");
        code_span(&line, name);
        buf_append_text(&line, " | ");
        code_span(&line, text_of(one, published ? "source" : "state"));
        buf_append_text(&line, " | ");
        if (published)
            post_link(&line, one);
        else
            code_span(&line, text_of(one, "reason"));
        out_line(stdout, "%s |", buf_text(&line));
        buf_fini(&line);
    }
    if (rows > MARKDOWN_ROWS_MAX) out_line(stdout, "\nand %" PRId64 " more", rows - MARKDOWN_ROWS_MAX);
}

void report_print_github(const struct report *report)
{
    char since[CLOCK_RFC3339_SIZE];
    puts("## landfall\n");
    out_line(stdout,
             "From %s on: **%" PRId64 " published**, %" PRId64 " rejected, %" PRId64 " held; %" PRId64
             " uncertain now.",
             clock_rfc3339(report->since_ms, since), report->of_state[DS_PUBLISHED], report->of_state[DS_REJECTED],
             report->of_state[DS_HELD], report->uncertain);
    if (missing(report) > 0)
        out_line(stdout, "**%" PRId64 " of %" PRId64 " expected are missing.**", missing(report),
                 report->cli->options.number[FLAG_EXPECT_ID]);
    puts("\n| channel | selected | published | rejected | held | waiting now | claimed now | uncertain now |\n"
         "|---|---:|---:|---:|---:|---:|---:|---:|");
    for (size_t i = 0; i < report->channel_count; i++) {
        const struct report_channel *c = &report->channels[i];
        out_line(stdout,
                 "| `%s` | %" PRId64 " | %" PRId64 " | %" PRId64 " | %" PRId64 " | %" PRId64 " | %" PRId64 " | %" PRId64
                 " |",
                 c->name, report_selected(c), c->outcome[DS_PUBLISHED], c->outcome[DS_REJECTED], c->outcome[DS_HELD],
                 c->now[DS_APPROVED], c->now[DS_CLAIMED], c->now[DS_UNCERTAIN]);
    }
    print_rows(report, false);
    print_rows(report, true);
    if (json_array_size(report->notes) > 0) puts("\n### The fleet\n");
    for (size_t i = 0; i < json_array_size(report->notes); i++) {
        struct buf line;
        buf_init(&line, (size_t)16 << 10);
        code_span(&line, json_string_value(json_array_get(report->notes, i)));
        out_line(stdout, "- %s", buf_text(&line));
        buf_fini(&line);
    }
}
