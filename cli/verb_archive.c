/* SPDX-License-Identifier: MIT */
/*
 * Settled rows go to a file, and then out of the ledger. In this order, so that a kill at any point loses nothing: all
 * lines are on the disk before the first row goes, and a row goes only as it was written down. What a killed run has
 * written and not dropped stands in the file and in the ledger; the next run finds it there and drops it.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "cli/archive_file.h"
#include "cli/archive_plan.h"
#include "cli/batches.h"
#include "cli/ledger_line.h"
#include "cli/out.h"
#include "cli/person.h"
#include "runtime/crash.h"
#include "runtime/die.h"

static const char *const crash_points[] = {"after_export", "after_archive_batch", NULL};

struct archive {
    struct cli *cli;
    const char *path;
    struct person person;
    struct archive_plan plan;
    struct archive_file *file;
    bool write_failed;
    size_t lines;                   /* in the file, afterwards */
    size_t exported;                /* of plan.rows; the others changed meanwhile */
    int64_t dropped, gone, changed; /* of what was exported */
    char note[64 + IDENTITY_NAME_BYTES];
};

/* ---- to the file */

/* Once more, for the row may have changed; what stays in the plan is what stands in the file. */
static void write_down(size_t i, const char *name, const struct reads_delivery *read, void *context)
{
    struct archive *a = context;
    struct archive_row *row = &a->plan.rows[i];
    if (a->write_failed) return;
    if (!read->readable || archive_plan_verdict(a->cli, &a->plan, name, read) != RETENTION_DROP) {
        row->rev = -1;
        return;
    }
    json_t *line = ledger_line(name, &read->row);
    char *text = ledger_line_text(line);
    a->write_failed = !archive_file_put(a->file, name, text, &a->cli->err);
    free(text);
    json_decref(line);
    row->rev = read->row.core.rev;
    a->exported++;
}

static enum cli_exit export_rows(struct archive *a)
{
    struct cli *cli = a->cli;
    char **names = xcalloc(a->plan.count, sizeof(*names));
    for (size_t i = 0; i < a->plan.count; i++)
        names[i] = a->plan.rows[i].name;
    enum cli_exit code = EXIT_USAGE;
    if (!archive_file_open(a->path, &a->file, &cli->err)) goto out;
    if (!batches_read(cli, names, a->plan.count, write_down, a)) {
        code = EXIT_AWAY;
        goto out;
    }
    if (!a->write_failed && archive_file_commit(a->file, &a->lines, &cli->err)) code = EXIT_FINE;
out:
    archive_file_close(&a->file);
    free(names);
    return code;
}

/* ---- out of the ledger */

static void take_answer(struct archive *a, const struct archive_request *r)
{
    switch (r->answer) {
    case ARCHIVE_OK: a->dropped++; break;
    case ARCHIVE_GONE: a->gone++; break;
    case ARCHIVE_CHANGED:
    case ARCHIVE_ERROR: a->changed++; break;
    }
}

/* Asks until all have an answer: asking again is harmless. False: Redis stayed away. */
static bool drop_batch(struct archive *a, struct ledger_round *round, struct archive_request *requests, size_t count)
{
    struct cli *cli = a->cli;
    const int64_t give_up_ms = clock_boottime_ms() + cli_patience_ms(cli);
    size_t open = count;
    for (size_t i = 0; i < count; i++)
        round_archive(round, &requests[i]);
    while (open > 0) {
        bool ok = cli_keep(cli) && round_run(round, cli->link, cli_limit_ms(cli), &cli->err);
        open = 0;
        for (size_t i = 0; i < count; i++) {
            struct archive_request *r = &requests[i];
            if (r->base.result == REQUEST_ANSWERED) continue;
            if (r->base.result == REQUEST_REFUSED)
                ok = errbuf_set(&cli->err, "Redis: %s: %s", r->base.error, errors_advice(r->base.error));
            round_forget(round, &r->base);
            round_archive(round, r);
            open++;
        }
        if (ok) continue;
        if (link_must_stop(cli->link) || clock_boottime_ms() >= give_up_ms) break;
        poll(NULL, 0, CLI_PAUSE_MS);
    }
    for (size_t i = 0; i < count; i++) {
        round_forget(round, &requests[i].base);
        if (requests[i].base.result == REQUEST_ANSWERED) take_answer(a, &requests[i]);
    }
    return open == 0;
}

static enum cli_exit drop_rows(struct archive *a)
{
    struct archive_request *requests = xcalloc(REQUEST_BATCH_MAX, sizeof(*requests));
    char(*channels)[IDENTITY_CHANNEL_BYTES] = xcalloc(REQUEST_BATCH_MAX, sizeof(*channels));
    struct ledger_round *round = round_new(&a->cli->ledger);
    const char *note = a->note;
    bool ok = true;
    for (size_t from = 0; ok && from < a->plan.count;) {
        size_t count = 0;
        for (; from < a->plan.count && count < REQUEST_BATCH_MAX; from++) {
            const struct archive_row *row = &a->plan.rows[from];
            if (row->rev < 0) continue;
            batches_channel(row->name, channels[count]);
            requests[count] = (struct archive_request){.base = {.channel = channels[count], .delivery = row->name},
                                                       .rev = row->rev,
                                                       .user = a->person.user,
                                                       .host = a->person.host,
                                                       .why = a->person.why,
                                                       .note = note};
            count++;
        }
        ok = drop_batch(a, round, requests, count);
        note = NULL;
        crash_point("after_archive_batch");
    }
    round_free(&round);
    free(channels);
    free(requests);
    return ok ? EXIT_FINE : EXIT_AWAY;
}

/* ---- telling */

static json_t *document(const struct archive *a, bool acted)
{
    json_t *all = json_object(), *kept = json_object();
    for (int i = RETENTION_DROP + 1; i < RETENTION_COUNT; i++)
        out_set(kept, retention_name((enum retention)i), json_integer(a->plan.kept[i]));
    out_set(kept, "unreadable", json_integer(a->plan.unreadable));
    out_set(all, "file", out_string(a->path));
    out_set(all, "acted", json_boolean(acted));
    out_set(all, "before_ms", json_integer(a->plan.before_ms));
    out_set(all, "rows", json_integer(a->plan.looked_at));
    out_set(all, "to_archive", json_integer((json_int_t)a->plan.count));
    out_set(all, "exported", json_integer((json_int_t)a->exported));
    out_set(all, "lines", json_integer((json_int_t)a->lines));
    out_set(all, "dropped", json_integer(a->dropped));
    out_set(all, "gone_already", json_integer(a->gone));
    out_set(all, "changed", json_integer(a->changed));
    out_set(all, "kept", kept);
    return all;
}

static void print_plan(const struct archive *a)
{
    char before[CLOCK_RFC3339_SIZE];
    out_line(stdout, "%" PRId64 " rows, of which %zu can be archived: settled before %s, and nothing needs them",
             a->plan.looked_at, a->plan.count, clock_rfc3339(a->plan.before_ms, before));
    for (int i = RETENTION_DROP + 1; i < RETENTION_COUNT; i++)
        if (a->plan.kept[i] > 0)
            out_line(stdout, "%8" PRId64 " stay: %s", a->plan.kept[i], retention_why((enum retention)i));
    if (a->plan.unreadable > 0) out_line(stdout, "%8" PRId64 " stay: cannot be read", a->plan.unreadable);
}

static void print_done(const struct archive *a)
{
    out_line(stdout, "%zu written to %s, which has %zu lines now; %" PRId64 " left the ledger", a->exported, a->path,
             a->lines, a->dropped);
    if (a->gone > 0) out_line(stdout, "%8" PRId64 " were gone already", a->gone);
    if (a->changed > 0) out_line(stdout, "%8" PRId64 " changed meanwhile and stay", a->changed);
}

/* ---- the verb */

static enum cli_exit act(struct archive *a)
{
    enum cli_exit code = export_rows(a);
    if (code != EXIT_FINE) return code;
    snprintf(a->note, sizeof(a->note), "%zu rows to %.200s", a->exported, a->path);
    crash_point("after_export");
    return drop_rows(a);
}

static bool read_arguments(struct archive *a)
{
    struct cli *cli = a->cli;
    const struct options *options = &cli->options;
    a->path = options->operand[0];
    a->plan.channel = options->value[FLAG_CHANNEL_ID];
    a->plan.without_guard = options_has(options, FLAG_NO_GUARD_ID);
    if (strcmp(a->path, "-") == 0)
        return errbuf_set(&cli->err, "FILE: rows go only when they are on a disk, so it must be a file");
    if (!options_has(options, FLAG_OLDER_THAN_ID))
        return errbuf_set(&cli->err, "missing: --older-than TIME, such as 90d: what was settled later stays");
    if (options_has(options, FLAG_YES_ID) && options_has(options, FLAG_DRY_RUN_ID))
        return errbuf_set(&cli->err, "--dry-run or --yes, one of the two");
    return !options_has(options, FLAG_YES_ID) || person_read(options, &a->person, &cli->err);
}

static enum cli_exit run(struct archive *a)
{
    struct cli *cli = a->cli;
    const struct when *older = &cli->options.when[FLAG_OLDER_THAN_ID];
    const bool wanted = options_has(&cli->options, FLAG_YES_ID);
    a->plan.before_ms = older->span ? cli_now_ms(cli) - older->ms : older->ms;
    if (!archive_plan_read(cli, &a->plan)) return cli_fail(cli, EXIT_AWAY);
    if (!cli->json) print_plan(a);
    const bool acts = wanted && a->plan.count > 0;
    enum cli_exit code = acts ? act(a) : EXIT_FINE;
    if (code != EXIT_FINE) return cli_fail(cli, code);
    if (!wanted && a->plan.count > 0 && !options_has(&cli->options, FLAG_DRY_RUN_ID)) code = EXIT_USAGE;
    if (cli->json) return out_json(document(a, acts)) ? code : EXIT_USAGE;
    if (acts)
        print_done(a);
    else if (code == EXIT_USAGE)
        out_line(stdout, "nothing was done: say --yes to do it");
    return code;
}

enum cli_exit verb_archive(struct cli *cli)
{
    struct archive a = {.cli = cli};
    if (!read_arguments(&a)) return cli_fail(cli, EXIT_USAGE);
    if (!cli_load(cli)) return EXIT_USAGE;
    if (!crash_configure(cli->config->environment, crash_points, &cli->err) ||
        (a.plan.channel && !cli_check_partition(cli, a.plan.channel, &cli->err)))
        return cli_fail(cli, EXIT_USAGE);
    enum cli_exit code = cli_connect(cli);
    if (code == EXIT_FINE) code = run(&a);
    archive_plan_fini(&a.plan);
    return code;
}
