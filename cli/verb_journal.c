/* SPDX-License-Identifier: MIT */
/* What may have been executed and is not confirmed, the oldest first, and when the reconciler looks next. */
#include <stdlib.h>
#include <string.h>

#include "cli/batches.h"
#include "cli/next.h"
#include "cli/notes.h"
#include "cli/out.h"
#include "runtime/die.h"

#define PAGE 10000 /* names of one channel in a round trip */

struct journal {
    struct cli *cli;
    struct reads_channel *channels;
    size_t channel_count;
    int64_t before_ms;                   /* uncertain since before; 0: any time */
    const struct reads_channel *channel; /* whose names are being read */
    json_t *list, *notes;
};

static void take(size_t i, const char *name, const struct reads_delivery *d, void *context)
{
    struct journal *journal = context;
    const struct delivery_row *r = &d->row.core;
    const struct reads_channel *c = journal->channel;
    const struct channel *configured = channel_find(journal->cli->fleet.channels, c->channel);
    char doubt[DOUBT_TEXT_MAX];
    (void)i;
    if (!d->readable) {
        out_add_format(journal->notes, "%s: its row cannot be read: %s", name, d->error);
        return;
    }
    if (r->state != DS_UNCERTAIN || (journal->before_ms && r->since_ms >= journal->before_ms)) return;
    doubt_format(&r->doubt, doubt);
    json_t *one = json_object();
    out_set(one, "delivery", out_string(name));
    out_set(one, "reason", out_string(delivery_reason_name(r->reason)));
    out_set(one, "why", out_string(next_why(r->reason)));
    out_set(one, "since_ms", json_integer(r->since_ms));
    out_set(one, "in_doubt", out_string(doubt));
    out_set(one, "attempt", json_integer(r->attempt));
    out_set(one, "commit_by_ms", out_time(r->commit_by_ms));
    out_set(one, "next_look_ms", out_time(c->walk_due_ms));
    out_set(one, "walker", c->walker[0] ? out_string(c->walker) : json_null());
    out_set(one, "configured", json_boolean(configured != NULL));
    out_add(journal->list, one);
}

static bool read_channel(struct journal *journal)
{
    struct cli *cli = journal->cli;
    size_t count = PAGE;
    for (size_t offset = 0; count == PAGE; offset += PAGE) {
        struct reads_name *found = NULL;
        if (!reads_uncertain(&cli->ledger, cli->link, journal->channel->channel, offset, PAGE, &found, &count,
                             cli_limit_ms(cli), &cli->err))
            return false;
        char **names = xcalloc(count + 1, sizeof(*names));
        for (size_t i = 0; i < count; i++)
            names[i] = found[i].delivery;
        bool ok = batches_read(cli, names, count, take, journal);
        free(names);
        free(found);
        if (!ok) return false;
    }
    return true;
}

static bool read_all(struct journal *journal)
{
    struct cli *cli = journal->cli;
    if (!reads_channels(&cli->ledger, cli->link, cli->options.value[FLAG_CHANNEL_ID], &journal->channels,
                        &journal->channel_count, cli_limit_ms(cli), &cli->err))
        return false;
    for (size_t i = 0; i < journal->channel_count; i++) {
        journal->channel = &journal->channels[i];
        if (journal->channel->uncertain == 0) continue;
        if (!read_channel(journal)) return false;
        if (!channel_find(cli->fleet.channels, journal->channel->channel))
            out_add_format(journal->notes, "%s is not configured here: a reconciler that knows it must look",
                           journal->channel->channel);
    }
    struct notes_processes processes = {0};
    bool ok = notes_processes(cli, &processes);
    if (ok && json_array_size(journal->list) > 0) notes_add_missing(cli, &processes, journal->notes);
    notes_processes_fini(&processes);
    return ok;
}

/* ---- telling */

static int64_t number(const json_t *one, const char *name)
{
    return json_integer_value(json_object_get(one, name));
}

static int by_age(const void *a, const void *b)
{
    const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
    int64_t difference_ms = number(x, "since_ms") - number(y, "since_ms");
    if (difference_ms != 0) return difference_ms < 0 ? -1 : 1;
    return strcmp(json_string_value(json_object_get(x, "delivery")), json_string_value(json_object_get(y, "delivery")));
}

/* A new array, the oldest first. */
static json_t *sorted(const json_t *list)
{
    size_t count = json_array_size(list);
    json_t **all = xcalloc(count + 1, sizeof(*all));
    for (size_t i = 0; i < count; i++)
        all[i] = json_array_get(list, i);
    qsort(all, count, sizeof(*all), by_age);
    json_t *result = json_array();
    for (size_t i = 0; i < count; i++)
        out_add(result, json_incref(all[i]));
    free(all);
    return result;
}

static void print(const struct journal *journal, const json_t *list)
{
    const int64_t now_ms = cli_now_ms(journal->cli);
    char since[WHEN_TEXT_BYTES], look[WHEN_TEXT_BYTES];
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const char *walker = json_string_value(json_object_get(one, "walker"));
        int64_t look_ms = number(one, "next_look_ms");
        out_line(stdout, "%s: %s, %s; in doubt: %s; next look: %s%s",
                 json_string_value(json_object_get(one, "delivery")), json_string_value(json_object_get(one, "reason")),
                 when_text(number(one, "since_ms"), now_ms, since), json_string_value(json_object_get(one, "in_doubt")),
                 walker ? "now, by " : "",
                 walker ? walker : when_text(look_ms > now_ms ? look_ms : now_ms, now_ms, look));
    }
    out_line(stdout, "%zu uncertain", json_array_size(list));
    notes_print(journal->notes);
}

static enum cli_exit tell(const struct journal *journal)
{
    json_t *list = sorted(journal->list);
    enum cli_exit code = json_array_size(list) > 0 ? EXIT_OPEN : EXIT_FINE;
    if (journal->cli->json) {
        json_t *all = json_object();
        out_set(all, "now_ms", json_integer(cli_now_ms(journal->cli)));
        out_set(all, "uncertain", json_integer((json_int_t)json_array_size(list)));
        out_set(all, "deliveries", list);
        out_set(all, "notes", json_incref(journal->notes));
        return out_json(all) ? code : EXIT_USAGE;
    }
    print(journal, list);
    json_decref(list);
    return code;
}

enum cli_exit verb_journal(struct cli *cli)
{
    const char *channel = cli->options.value[FLAG_CHANNEL_ID];
    const struct when *older = &cli->options.when[FLAG_OLDER_THAN_ID];
    struct journal journal = {.cli = cli};
    if (!cli_load(cli)) return EXIT_USAGE;
    if (channel && !cli_check_partition(cli, channel, &cli->err)) return cli_fail(cli, EXIT_USAGE);
    enum cli_exit code = cli_connect(cli);
    if (code == EXIT_FINE) code = cli_require_channel(cli, channel);
    if (code != EXIT_FINE) return code;
    if (options_has(&cli->options, FLAG_OLDER_THAN_ID))
        journal.before_ms = older->span ? cli_now_ms(cli) - older->ms : older->ms;
    journal.list = json_array();
    journal.notes = json_array();
    code = read_all(&journal) ? tell(&journal) : cli_fail(cli, EXIT_AWAY);
    reads_channels_free(&journal.channels);
    json_decref(journal.list);
    json_decref(journal.notes);
    return code;
}
