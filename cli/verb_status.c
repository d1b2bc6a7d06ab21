/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/notes.h"
#include "cli/out.h"
#include "runtime/die.h"

/* Waiting deliveries whose reasons are looked at: the head of the list, in one round trip. */
#define REASONS_OF REQUEST_BATCH_MAX

/* A channel and what takes further reads to know. */
struct channel_view {
    const struct reads_channel *channel;
    int64_t uncertain_since_ms; /* of the oldest; 0: none */
    int64_t reasons[RS_COUNT];  /* of the first REASONS_OF that wait */
};

struct status {
    struct cli *cli;
    struct reads_channel *channels;
    struct channel_view *views;
    size_t count;
    struct notes_processes processes;
    json_t *notes;
    int64_t now_ms;
};

/* ---- reading */

static bool read_reasons(struct cli *cli, const struct reads_name *waiting, size_t count, struct channel_view *view)
{
    const char *names[REASONS_OF], *channels[REASONS_OF];
    struct reads_delivery *read = xcalloc(REASONS_OF, sizeof(*read));
    for (size_t i = 0; i < count; i++) {
        names[i] = waiting[i].delivery;
        channels[i] = view->channel->channel;
    }
    bool ok = reads_deliveries(&cli->ledger, cli->link, names, channels, count, read, cli_limit_ms(cli), &cli->err);
    for (size_t i = 0; ok && i < count; i++) {
        if (read[i].readable) view->reasons[read[i].row.core.reason]++;
        reads_delivery_fini(&read[i]);
    }
    free(read);
    return ok;
}

static bool read_view(struct cli *cli, struct channel_view *view)
{
    const struct reads_channel *c = view->channel;
    struct reads_name *names = NULL;
    size_t count = 0;
    if (c->uncertain > 0) {
        if (!reads_uncertain(&cli->ledger, cli->link, c->channel, 0, 1, &names, &count, cli_limit_ms(cli), &cli->err))
            return false;
        view->uncertain_since_ms = count > 0 ? names[0].ms : 0;
        free(names);
        names = NULL;
    }
    if (c->waiting == 0) return true;
    bool ok =
        reads_waiting(&cli->ledger, cli->link, c->channel, 0, REASONS_OF, &names, &count, cli_limit_ms(cli), &cli->err);
    ok = ok && (count == 0 || read_reasons(cli, names, count, view));
    free(names);
    return ok;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct reads_channel *)a)->channel, ((const struct reads_channel *)b)->channel);
}

static bool read_all(struct status *s)
{
    struct cli *cli = s->cli;
    if (!reads_channels(&cli->ledger, cli->link, cli->options.value[FLAG_CHANNEL_ID], &s->channels, &s->count,
                        cli_limit_ms(cli), &cli->err))
        return false;
    qsort(s->channels, s->count, sizeof(*s->channels), by_name);
    s->views = xcalloc(s->count + 1, sizeof(*s->views));
    bool ok = true;
    for (size_t i = 0; i < s->count && ok; i++) {
        s->views[i].channel = &s->channels[i];
        ok = read_view(cli, &s->views[i]);
    }
    ok = ok && notes_processes(cli, &s->processes);
    if (ok) notes_add_missing(cli, &s->processes, s->notes);
    s->now_ms = cli_now_ms(cli);
    return ok;
}

/* ---- for programs */

static json_t *channel_json(const struct channel_view *view)
{
    const struct reads_channel *c = view->channel;
    json_t *counts = json_object(), *reasons = json_object(), *one = json_object();
    for (int i = DS_NONE + 1; i < DS_COUNT; i++)
        out_set(counts, delivery_state_name((enum delivery_state)i), json_integer(c->counts[i]));
    for (int i = 0; i < RS_COUNT; i++)
        if (view->reasons[i])
            out_set(reasons, delivery_reason_name((enum delivery_reason)i), json_integer(view->reasons[i]));
    out_set(one, "channel", out_string(c->channel));
    out_set(one, "counts", counts);
    out_set(one, "waiting", json_integer(c->waiting));
    out_set(one, "waiting_reasons", reasons);
    out_set(one, "next_at_ms", out_time(c->next_at_ms));
    out_set(one, "turn_at_ms", out_time(c->turn_at_ms));
    out_set(one, "blocked_until_ms", out_time(c->blocked_until_ms));
    out_set(one, "blocked_why", c->blocked_why[0] ? out_string(c->blocked_why) : json_null());
    out_set(one, "paused", json_boolean(c->paused));
    out_set(one, "paused_why", c->paused_why[0] ? out_string(c->paused_why) : json_null());
    out_set(one, "paused_at_ms", out_time(c->paused_at_ms));
    out_set(one, "uncertain_since_ms", out_time(view->uncertain_since_ms));
    out_set(one, "next_look_ms", out_time(c->walk_due_ms));
    out_set(one, "walker", c->walker[0] ? out_string(c->walker) : json_null());
    out_set(one, "failures", json_integer(c->failures));
    return one;
}

static json_t *document(const struct status *s)
{
    const struct cli *cli = s->cli;
    json_t *channels = json_array(), *processes = json_array(), *all = json_object();
    for (size_t i = 0; i < s->count; i++)
        out_add(channels, channel_json(&s->views[i]));
    for (size_t i = 0; i < s->processes.count; i++) {
        json_t *one = json_object();
        out_set(one, "name", out_string(s->processes.list[i].name));
        out_set(one, "role", out_string(s->processes.list[i].role));
        out_set(one, "text", out_string(s->processes.list[i].text));
        out_add(processes, one);
    }
    out_set(all, "now_ms", json_integer(s->now_ms));
    out_set(all, "environment", out_string(cli->config->environment));
    out_set(all, "partition", json_integer(cli->config->partition));
    out_set(all, "queue", json_integer(cli->overview.queue_length));
    out_set(all, "journal", json_integer(cli->overview.journal_length));
    out_set(all, "agenda", json_integer(cli->overview.agenda_length));
    out_set(all, "refused_input", json_integer(cli->overview.refused_length));
    out_set(all, "channels", channels);
    out_set(all, "processes", processes);
    out_set(all, "processes_complete", json_boolean(s->processes.complete));
    out_set(all, "notes", json_incref(s->notes));
    return all;
}

/* ---- for people */

static void print_waiting(const struct status *s, const struct channel_view *view)
{
    const struct reads_channel *c = view->channel;
    struct buf reasons;
    char text[WHEN_TEXT_BYTES];
    if (c->waiting == 0) return;
    buf_init(&reasons, 1000);
    for (int i = 0; i < RS_COUNT; i++)
        if (view->reasons[i])
            buf_append_format(&reasons, " %s %" PRId64, delivery_reason_name((enum delivery_reason)i),
                              view->reasons[i]);
    bool unknown = view->reasons[RS_UNKNOWN_CHANNEL] > 0;
    bool free = !unknown && !c->paused && c->blocked_until_ms <= s->now_ms;
    out_line(stdout, "    %" PRId64 " wait for the channel%s:%s%s%s", c->waiting,
             c->waiting > REASONS_OF ? ", the first ones" : "", buf_text(&reasons),
             unknown ? "; no worker has it in its configuration"
             : free  ? "; it may send next "
                     : "",
             !free                       ? ""
             : c->next_at_ms > s->now_ms ? when_text(c->next_at_ms, s->now_ms, text)
                                         : "now");
    buf_fini(&reasons);
}

static void print_channel(const struct status *s, const struct channel_view *view)
{
    const struct reads_channel *c = view->channel;
    char text[WHEN_TEXT_BYTES], look[WHEN_TEXT_BYTES];
    out_line(stdout, "%-30s %9" PRId64 " %8" PRId64 " %10" PRId64 " %10" PRId64 " %6" PRId64 " %9" PRId64, c->channel,
             c->counts[DS_APPROVED], c->counts[DS_CLAIMED], c->counts[DS_PUBLISHED], c->counts[DS_UNCERTAIN],
             c->counts[DS_HELD], c->counts[DS_REJECTED]);
    print_waiting(s, view);
    if (c->paused) out_line(stdout, "    paused %s: %s", when_text(c->paused_at_ms, s->now_ms, text), c->paused_why);
    if (c->blocked_until_ms > s->now_ms)
        out_line(stdout, "    blocked, free %s: %s", when_text(c->blocked_until_ms, s->now_ms, text), c->blocked_why);
    if (c->turn_at_ms > s->now_ms)
        out_line(stdout, "    what was handed back goes out one by one, the next free turn %s",
                 when_text(c->turn_at_ms, s->now_ms, text));
    if (c->failures > 0) out_line(stdout, "    %" PRId64 " failures in a row", c->failures);
    if (c->uncertain > 0)
        out_line(stdout, "    oldest uncertain: %s; next look %s%s%s",
                 when_text(view->uncertain_since_ms, s->now_ms, text),
                 when_text(c->walk_due_ms > s->now_ms ? c->walk_due_ms : s->now_ms, s->now_ms, look),
                 c->walker[0] ? ", read now by " : "", c->walker);
}

static void print(const struct status *s)
{
    const struct reads_overview *o = &s->cli->overview;
    out_line(stdout, "%-30s %9s %8s %10s %10s %6s %9s", "channel", "approved", "claimed", "published", "uncertain",
             "held", "rejected");
    for (size_t i = 0; i < s->count; i++)
        print_channel(s, &s->views[i]);
    out_line(stdout,
             "queue %" PRId64 ", agenda %" PRId64 ", journal %" PRId64 ", refused input %" PRId64
             " (environment %s, partition %" PRId64 ")",
             o->queue_length, o->agenda_length, o->journal_length, o->refused_length, s->cli->config->environment,
             s->cli->config->partition);
    if (o->refused_length > 0) {
        char refused[NAMES_KEY_BYTES];
        names_key(&s->cli->ledger.names, NAMES_REFUSED, NULL, refused, sizeof refused);
        out_line(stdout, "    what was refused and why: redis-cli XREVRANGE '%s' + - COUNT 10", refused);
    }
    for (size_t i = 0; i < s->processes.count; i++)
        out_line(stdout, "%s %s: %s", s->processes.list[i].role, s->processes.list[i].name, s->processes.list[i].text);
    if (!s->processes.complete)
        out_line(stdout, "there may be more processes: there are too many keys to look through");
    notes_print(s->notes);
}

static enum cli_exit finish(const struct status *s)
{
    enum cli_exit code = EXIT_FINE;
    for (size_t i = 0; i < s->count; i++) {
        const struct reads_channel *c = &s->channels[i];
        if (c->uncertain > 0 || c->counts[DS_UNCERTAIN] > 0 || c->counts[DS_HELD] > 0) code = EXIT_OPEN;
    }
    if (s->cli->json) return out_json(document(s)) ? code : EXIT_USAGE;
    print(s);
    return code;
}

enum cli_exit verb_status(struct cli *cli)
{
    const char *channel = cli->options.value[FLAG_CHANNEL_ID];
    struct status s = {.cli = cli};
    if (!cli_load(cli)) return EXIT_USAGE;
    if (channel && !cli_check_partition(cli, channel, &cli->err)) return cli_fail(cli, EXIT_USAGE);
    enum cli_exit code = cli_connect(cli);
    if (code == EXIT_FINE) code = cli_require_channel(cli, channel);
    if (code != EXIT_FINE) return code;
    s.notes = json_array();
    code = read_all(&s) ? finish(&s) : cli_fail(cli, EXIT_AWAY);
    json_decref(s.notes);
    notes_processes_fini(&s.processes);
    reads_channels_free(&s.channels);
    free(s.views);
    return code;
}
