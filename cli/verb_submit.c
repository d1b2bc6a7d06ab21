/* SPDX-License-Identifier: MIT */
/*
 * From items to deliveries. What cannot be taken is told with its line, what can be taken is; the counts at the end add
 * up. Only what the ledger has answered is called new or the same.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/batch.h"
#include "cli/cli.h"
#include "cli/items.h"
#include "cli/notes.h"
#include "cli/out.h"
#include "platforms/request.h"

#define KNOWN_MAX       8 /* channels that a note names */
#define KNOWN_MAX_BYTES 2000
#define PROBLEMS_MAX    1000 /* in the JSON document; all are counted, and told on stderr */

struct submission {
    struct cli *cli;
    struct batch batch;
    struct items *items;
    bool dry_run, verbose;
    bool away;                           /* the ledger was, while the input was waited for */
    int64_t not_before_ms, not_after_ms; /* CONTENT_NO_TIME: not given */
    int64_t item_count, unreadable, count[BATCH_NOT_KNOWN + 1];
    json_t *problems, *deliveries, *notes;
};

/* ---- telling */

/* with --json, stderr stays for what has no place in the document. */
static void tell_problem(struct submission *s, size_t line, const char *delivery, const char *kind, const char *text)
{
    if (!s->cli->json) {
        out_line(stderr, "%s:%zu: %s%s%s: %s", items_name(s->items), line, delivery, delivery[0] ? ": " : "", kind,
                 text);
    } else if (json_array_size(s->problems) < PROBLEMS_MAX) {
        json_t *problem = json_object();
        out_set(problem, "line", json_integer((json_int_t)line));
        out_set(problem, "delivery", delivery[0] ? out_string(delivery) : json_null());
        out_set(problem, "kind", out_string(kind));
        out_set(problem, "text", out_string(text));
        out_add(s->problems, problem);
    }
}

static void refuse(struct submission *s, size_t line, const char *delivery, const char *text)
{
    s->count[BATCH_REFUSED]++;
    tell_problem(s, line, delivery, "refused", text);
}

static void tell_conflict(struct submission *s, const struct batch_delivery *d)
{
    struct errbuf text;
    char since[WHEN_TEXT_BYTES];
    enum delivery_state state = d->request.state;
    errbuf_set(&text, "the id is taken by other content (%s, %s); content that changed needs another id",
               state == DS_NONE ? "earlier in this input" : delivery_state_name(state),
               when_text(d->request.since_ms, cli_now_ms(s->cli), since));
    tell_problem(s, d->line, d->name, "conflict", text.text);
}

static void told(const struct batch_delivery *d, void *context)
{
    static const char *const words[] = {[BATCH_NEW] = "new",
                                        [BATCH_SAME] = "same",
                                        [BATCH_CONFLICT] = "conflict",
                                        [BATCH_REFUSED] = "refused",
                                        [BATCH_NOT_KNOWN] = "not known"};
    struct submission *s = context;
    s->count[d->result]++;
    if (d->result == BATCH_CONFLICT) tell_conflict(s, d);
    if (d->result == BATCH_REFUSED) tell_problem(s, d->line, d->name, "refused", d->why);
    if (!s->verbose) return;
    const char *state =
        d->result == BATCH_SAME || d->result == BATCH_CONFLICT ? delivery_state_name(d->request.state) : "";
    if (!s->cli->json) {
        out_line(stdout, "%-9s %s%s%s%s", words[d->result], d->name, state[0] ? " (" : "", state, state[0] ? ")" : "");
        return;
    }
    json_t *one = json_object();
    out_set(one, "delivery", out_string(d->name));
    out_set(one, "result", out_string(words[d->result]));
    out_set(one, "state", state[0] ? out_string(state) : json_null());
    out_add(s->deliveries, one);
}

/* ---- items */

static int64_t given_or(int64_t given_ms, int64_t own_ms)
{
    return content_stored_time(given_ms != CONTENT_NO_TIME ? given_ms : own_ms);
}

static bool check(struct submission *s, const char *name, const struct content *content, size_t line,
                  const struct batch_item *item)
{
    struct errbuf why;
    struct channel *channel = channel_find(s->cli->fleet.channels, item->channel);
    if (item->not_after_ms && item->not_after_ms <= item->not_before_ms) {
        refuse(s, line, name, "not_after is not behind not_before: it could never be sent");
        return false;
    }
    if (!channel || request_check(channel, content->fields, &why) == RENDER_OK) return true;
    refuse(s, line, name, why.text);
    return false;
}

/* One item for one channel. False: the ledger is away. */
static bool submit_one(struct submission *s, const struct item *item, size_t line, const char *channel)
{
    struct content content;
    struct delivery_id id;
    char why[KEYS_ERR_BYTES], name[IDENTITY_NAME_BYTES];
    if (!content_merge(item->json, channel, &content, why)) {
        refuse(s, line, channel, why);
        return true;
    }
    snprintf(id.channel, sizeof(id.channel), "%s", channel);
    snprintf(id.id, sizeof(id.id), "%s", content.id);
    identity_name(&id, name);
    const struct batch_item delivery = {
        .channel = channel,
        .name = name,
        .hash = content.hash,
        .content = item->bytes,
        .content_len = item->len,
        .line = line,
        .hold = options_has(&s->cli->options, FLAG_HOLD_ID),
        .not_before_ms = given_or(s->not_before_ms, content.schedule.not_before_ms),
        .not_after_ms = given_or(s->not_after_ms, content.schedule.not_after_ms),
        .dated_ms = options_has(&s->cli->options, FLAG_BACKFILL_ID) ? 0 : given_or(CONTENT_NO_TIME, content.dated_ms),
    };
    bool ok = !check(s, name, &content, line, &delivery) || batch_add(&s->batch, &delivery);
    content_fini(&content);
    return ok;
}

static bool submit_item(struct submission *s, const struct item *item, size_t line)
{
    const struct options *options = &s->cli->options;
    s->item_count++;
    for (int i = 0; i < options->to_count; i++)
        if (!submit_one(s, item, line, options->to[i])) return false;
    return true;
}

/* The writer is slow: what it wrote so far need not wait. */
static bool on_wait(void *context)
{
    struct submission *s = context;
    s->away = !batch_flush(&s->batch);
    return !s->away;
}

static enum cli_exit submit_all(struct submission *s)
{
    for (;;) {
        struct item item;
        struct errbuf why;
        size_t line;
        enum input_result result = items_next(s->items, &item, &line, &why);
        if (s->away) return EXIT_AWAY;
        switch (result) {
        case INPUT_VALUE:
            if (!submit_item(s, &item, line)) return EXIT_AWAY;
            break;
        case INPUT_BAD:
            s->unreadable++;
            tell_problem(s, line, "", "not taken", why.text);
            break;
        case INPUT_END: return batch_flush(&s->batch) ? EXIT_FINE : EXIT_AWAY;
        case INPUT_FAILED: s->cli->err = why; return batch_flush(&s->batch) ? EXIT_USAGE : EXIT_AWAY;
        }
    }
}

/* ---- the end */

/* It may be a slip, or known only where the workers run: it is taken, and whoever sent it is told what it leads to. */
static void note_stranger(struct submission *s, const char *name)
{
    const struct channel_set *channels = s->cli->fleet.channels;
    const char *path = s->cli->config->path;
    struct buf known;
    buf_init(&known, KNOWN_MAX_BYTES);
    for (size_t i = 0; i < channel_set_count(channels) && i < KNOWN_MAX; i++)
        buf_append_format(&known, "%s%s", i > 0 ? ", " : ": ", channel_set_at(channels, i)->name);
    if (channel_set_count(channels) > KNOWN_MAX) buf_append_text(&known, ", ...");
    out_add_format(
        s->notes,
        "%s is not among the channels of %s%s. Its limits were not checked, and its items wait until a worker "
        "knows it; was it a slip: landfall cancel --channel %s --why TEXT",
        name, path ? path : "a configuration, of which none was found", buf_text(&known), name);
    buf_fini(&known);
}

static void add_notes(struct submission *s)
{
    const struct cli *cli = s->cli;
    struct notes_processes processes = {0};
    for (int i = 0; i < cli->options.to_count; i++)
        if (!channel_find(cli->fleet.channels, cli->options.to[i])) note_stranger(s, cli->options.to[i]);
    if (notes_processes(s->cli, &processes)) notes_add_missing(cli, &processes, s->notes);
    notes_processes_fini(&processes);
}

static void print_summary(const struct submission *s)
{
    out_line(stdout,
             "%s%" PRId64 " item%s: %" PRId64 " new, %" PRId64 " same, %" PRId64 " conflicting, %" PRId64 " refused%s",
             s->dry_run ? "dry run, nothing was written: " : "", s->item_count, s->item_count == 1 ? "" : "s",
             s->count[BATCH_NEW], s->count[BATCH_SAME], s->count[BATCH_CONFLICT], s->count[BATCH_REFUSED],
             s->cli->options.to_count > 1 ? " (deliveries)" : "");
    if (s->unreadable) out_line(stdout, "%" PRId64 " could not be read as an item and were not taken", s->unreadable);
    if (s->count[BATCH_NOT_KNOWN])
        out_line(stdout,
                 "%" PRId64
                 " not known: Redis did not answer, and what came behind was not read; submit the same again",
                 s->count[BATCH_NOT_KNOWN]);
    notes_print(s->notes);
}

static bool print_json(struct submission *s, enum cli_exit code)
{
    json_t *all = json_object();
    out_set(all, "dry_run", json_boolean(s->dry_run));
    out_set(all, "items", json_integer(s->item_count));
    out_set(all, "unreadable", json_integer(s->unreadable));
    out_set(all, "new", json_integer(s->count[BATCH_NEW]));
    out_set(all, "same", json_integer(s->count[BATCH_SAME]));
    out_set(all, "conflicting", json_integer(s->count[BATCH_CONFLICT]));
    out_set(all, "refused", json_integer(s->count[BATCH_REFUSED]));
    out_set(all, "not_known", json_integer(s->count[BATCH_NOT_KNOWN]));
    out_set(all, "problems", json_incref(s->problems));
    if (s->verbose) out_set(all, "deliveries", json_incref(s->deliveries));
    out_set(all, "notes", json_incref(s->notes));
    if (code != EXIT_FINE) out_set(all, "error", out_string(s->cli->err.text));
    return out_json(all);
}

static enum cli_exit finish(struct submission *s, enum cli_exit code)
{
    if (code != EXIT_AWAY) add_notes(s);
    bool refused = s->unreadable + s->count[BATCH_CONFLICT] + s->count[BATCH_REFUSED] > 0;
    if (s->cli->json) {
        if (!print_json(s, code)) code = EXIT_USAGE;
    } else {
        print_summary(s);
        if (code != EXIT_FINE) code = cli_fail(s->cli, code);
    }
    return cli_worse(code, refused ? EXIT_USAGE : EXIT_FINE);
}

/* ---- the beginning */

static int64_t moment(const struct cli *cli, enum flag_id flag)
{
    if (!options_has(&cli->options, flag)) return CONTENT_NO_TIME;
    const struct when *when = &cli->options.when[flag];
    return when->span ? cli_now_ms(cli) + when->ms : when->ms;
}

static bool check_arguments(const struct cli *cli, struct errbuf *err)
{
    const struct options *options = &cli->options;
    bool text = options_has(options, FLAG_TEXT_ID);
    if (options->to_count == 0) return errbuf_set(err, "missing: --to CHANNEL...; see landfall submit --help");
    if (text == (options->operand_count == 1))
        return errbuf_set(err, "give a file, - for standard input, or --text; one of them (a file before --to)");
    if (text && options->value[FLAG_TEXT_ID][0] == '\0') return errbuf_set(err, "--text is empty");
    if (!text && options_has(options, FLAG_ID_ID))
        return errbuf_set(err, "--id names the item of --text; in a file each has its own");
    if (text && options_has(options, FLAG_MAP_ID)) return errbuf_set(err, "--map makes items of a file, not of --text");
    for (int i = 0; i < options->to_count; i++)
        if (!cli_check_partition(cli, options->to[i], err)) return false;
    return true;
}

enum cli_exit verb_submit(struct cli *cli)
{
    const struct options *options = &cli->options;
    const struct items_source source = {.path = options->operand_count ? options->operand[0] : NULL,
                                        .map = options->value[FLAG_MAP_ID],
                                        .text = options->value[FLAG_TEXT_ID],
                                        .id = options->value[FLAG_ID_ID]};
    struct submission s = {
        .cli = cli, .dry_run = options_has(options, FLAG_DRY_RUN_ID), .verbose = options_has(options, FLAG_VERBOSE_ID)};
    if (!cli_load(cli)) return EXIT_USAGE;
    if (!check_arguments(cli, &cli->err) || !items_open(&source, &s.items, &cli->err)) return cli_fail(cli, EXIT_USAGE);
    enum cli_exit code = cli_connect(cli);
    if (code == EXIT_FINE) {
        s.not_before_ms = moment(cli, FLAG_AT_ID);
        s.not_after_ms = moment(cli, FLAG_NOT_AFTER_ID);
        s.problems = json_array();
        s.deliveries = json_array();
        s.notes = json_array();
        batch_init(&s.batch, cli, s.dry_run, told, &s);
        items_on_wait(s.items, on_wait, &s);
        code = finish(&s, submit_all(&s));
        batch_fini(&s.batch);
        json_decref(s.problems);
        json_decref(s.deliveries);
        json_decref(s.notes);
    }
    items_close(&s.items);
    return code;
}
