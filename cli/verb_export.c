/* SPDX-License-Identifier: MIT */
/*
 * The ledger as lines that can be committed: sorted by name, members in a fixed order, times as text, and nothing in
 * them that changes while a delivery's state does not. So a diff of two exports shows what was published, and when.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/batches.h"
#include "cli/out.h"
#include "ledger/inventory.h"
#include "runtime/die.h"

struct export
{
    json_t *list; /* with --json; NULL: lines */
    bool unreadable;
};

static void put_text(json_t *line, const char *name, const char *text)
{
    if (text[0] != '\0') out_set(line, name, out_string(text));
}

static void put_time(json_t *line, const char *name, int64_t ms)
{
    char text[CLOCK_RFC3339_SIZE];
    if (ms > 0) out_set(line, name, out_string(clock_rfc3339(ms, text)));
}

/* Why an approved delivery waits changes from minute to minute; of the others the reason belongs to the state. */
static json_t *line_of(const char *name, const struct row *row)
{
    const struct delivery_row *r = &row->core;
    char doubt[DOUBT_TEXT_MAX];
    json_t *line = json_object();
    doubt_format(&r->doubt, doubt);
    put_text(line, "delivery", name);
    put_text(line, "state", delivery_state_name(r->state));
    if (r->state != DS_APPROVED) put_text(line, "reason", delivery_reason_name(r->reason));
    put_time(line, "since", r->since_ms);
    put_text(line, "source", delivery_source_name(row->source));
    put_text(line, "ext_id", r->ext_id);
    put_text(line, "url", row->url);
    put_text(line, "duplicate", row->duplicate);
    put_time(line, "approved_at", r->approved_at_ms);
    put_time(line, "not_before", r->not_before_ms);
    put_time(line, "not_after", r->not_after_ms);
    put_text(line, "content", row->content);
    put_text(line, "key", row->key);
    if (r->generation) out_set(line, "gen", json_integer(r->generation));
    if (r->attempt) out_set(line, "attempt", json_integer(r->attempt));
    put_text(line, "in_doubt", doubt);
    return line;
}

static void take(size_t i, const char *name, const struct reads_delivery *d, void *context)
{
    struct export *export = context;
    json_t *line;
    (void)i;
    if (d->readable && d->row.core.state == DS_NONE) return; /* gone since its name was read */
    if (d->readable) {
        line = line_of(name, &d->row);
    } else {
        export->unreadable = true;
        line = json_object();
        put_text(line, "delivery", name);
        put_text(line, "unreadable", d->error);
    }
    if (export->list) {
        out_add(export->list, line);
        return;
    }
    char *text = json_dumps(line, JSON_COMPACT | JSON_ENSURE_ASCII);
    if (!text) die("out of memory");
    puts(text);
    free(text);
    json_decref(line);
}

enum cli_exit verb_export(struct cli *cli)
{
    const char *channel = cli->options.value[FLAG_CHANNEL_ID];
    struct export export = {0};
    char **names = NULL;
    size_t count = 0;
    if (!cli_load(cli)) return EXIT_USAGE;
    if (channel && !cli_check_partition(cli, channel, &cli->err)) return cli_fail(cli, EXIT_USAGE);
    enum cli_exit code = cli_connect(cli);
    if (code != EXIT_FINE) return code;
    if (cli->json) export.list = json_array();
    bool ok =
        inventory_read(&cli->ledger, cli->link, NAMES_DELIVERY, channel, &names, &count, cli_limit_ms(cli), &cli->err);
    ok = ok && batches_read(cli, names, count, take, &export);
    inventory_free(&names, count);
    code = export.unreadable ? EXIT_OPEN : EXIT_FINE;
    if (!ok) code = cli_fail(cli, EXIT_AWAY);
    if (ok && cli->json && !out_json(json_incref(export.list))) code = EXIT_USAGE;
    json_decref(export.list);
    return code;
}
