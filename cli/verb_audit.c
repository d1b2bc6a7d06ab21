/* SPDX-License-Identifier: MIT */
/*
 * Which items of a feed are not out on which channels: a run that announced nothing must not look green. Items are read
 * as submit reads them; nothing is written.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/archive_file.h"
#include "cli/batches.h"
#include "cli/items.h"
#include "cli/out.h"
#include "keys/content.h"
#include "runtime/die.h"

struct audit {
    struct cli *cli;
    struct items *items;
    json_t *known; /* pairs that were asked about, to whether an archive has them as published */
    char **names;
    size_t *lines;
    size_t count, room;
    int64_t item_count, unreadable, published, archived, of_state[DS_COUNT];
    json_t *gaps, *problems;
};

/* ---- reading the feed */

static void add_problem(struct audit *audit, size_t line, const char *text)
{
    audit->unreadable++;
    if (audit->cli->json) {
        json_t *one = json_object();
        out_set(one, "line", json_integer((json_int_t)line));
        out_set(one, "text", out_string(text));
        out_add(audit->problems, one);
    } else {
        out_line(stderr, "%s:%zu: %s", items_name(audit->items), line, text);
    }
}

static void add_pair(struct audit *audit, const char *name, size_t line)
{
    if (json_object_get(audit->known, name)) return; /* the same id again is the same pair */
    out_set(audit->known, name, json_false());
    if (audit->count == audit->room) {
        audit->room = audit->room ? 2 * audit->room : 256;
        audit->names = xrealloc_array(audit->names, audit->room, sizeof(*audit->names));
        audit->lines = xrealloc_array(audit->lines, audit->room, sizeof(*audit->lines));
    }
    audit->names[audit->count] = xstrdup(name);
    audit->lines[audit->count++] = line;
}

static void add_item(struct audit *audit, const struct item *item, size_t line)
{
    const struct options *options = &audit->cli->options;
    audit->item_count++;
    for (int i = 0; i < options->to_count; i++) {
        struct content content;
        struct delivery_id id;
        char why[KEYS_ERR_BYTES], name[IDENTITY_NAME_BYTES];
        if (!content_merge(item->json, options->to[i], &content, why)) {
            add_problem(audit, line, why);
            continue;
        }
        snprintf(id.channel, sizeof(id.channel), "%s", options->to[i]);
        snprintf(id.id, sizeof(id.id), "%s", content.id);
        identity_name(&id, name);
        content_fini(&content);
        add_pair(audit, name, line);
    }
}

static bool read_feed(struct audit *audit)
{
    for (;;) {
        struct item item;
        size_t line;
        struct errbuf why;
        switch (items_next(audit->items, &item, &line, &why)) {
        case INPUT_VALUE: add_item(audit, &item, line); break;
        case INPUT_BAD: add_problem(audit, line, why.text); break;
        case INPUT_END: return true;
        case INPUT_FAILED: audit->cli->err = why; return false;
        }
    }
}

/* ---- comparing with the ledger, and with what left it */

static void take_archived(const char *delivery, const char *state, void *context)
{
    struct audit *audit = context;
    if (strcmp(state, delivery_state_name(DS_PUBLISHED)) == 0 && json_object_get(audit->known, delivery))
        out_set(audit->known, delivery, json_true());
}

static void compare(size_t i, const char *name, const struct reads_delivery *d, void *context)
{
    struct audit *audit = context;
    enum delivery_state state = d->readable ? d->row.core.state : DS_COUNT;
    if (state == DS_PUBLISHED) {
        audit->published++;
        return;
    }
    if (state == DS_NONE && json_is_true(json_object_get(audit->known, name))) {
        audit->published++;
        audit->archived++;
        return;
    }
    if (d->readable) audit->of_state[state]++;
    json_t *gap = json_object();
    out_set(gap, "delivery", out_string(name));
    out_set(gap, "line", json_integer((json_int_t)audit->lines[i]));
    out_set(gap, "state", out_string(d->readable ? delivery_state_name(state) : "unreadable"));
    out_set(gap, "reason",
            d->readable && state != DS_NONE ? out_string(delivery_reason_name(d->row.core.reason)) : json_null());
    out_add(audit->gaps, gap);
}

static void print(const struct audit *audit)
{
    size_t gaps = json_array_size(audit->gaps);
    for (size_t i = 0; i < gaps; i++) {
        const json_t *gap = json_array_get(audit->gaps, i);
        const char *state = json_string_value(json_object_get(gap, "state"));
        const char *reason = json_string_value(json_object_get(gap, "reason"));
        out_line(stdout, "%s: %s%s%s", json_string_value(json_object_get(gap, "delivery")),
                 strcmp(state, "none") == 0 ? "no delivery" : state, reason ? " " : "", reason ? reason : "");
    }
    out_line(stdout,
             "%" PRId64 " items, %zu deliveries: %" PRId64 " published, %" PRId64 " without a delivery, %" PRId64
             " not published",
             audit->item_count, audit->count, audit->published, audit->of_state[DS_NONE],
             (int64_t)gaps - audit->of_state[DS_NONE]);
    if (audit->archived > 0)
        out_line(stdout, "%" PRId64 " of the published ones stand in the archive", audit->archived);
    if (audit->unreadable > 0) out_line(stdout, "%" PRId64 " could not be read as an item", audit->unreadable);
    if (audit->count == 0) out_line(stdout, "the feed holds nothing to compare");
}

static json_t *document(const struct audit *audit)
{
    json_t *all = json_object();
    out_set(all, "items", json_integer(audit->item_count));
    out_set(all, "unreadable", json_integer(audit->unreadable));
    out_set(all, "deliveries", json_integer((json_int_t)audit->count));
    out_set(all, "published", json_integer(audit->published));
    out_set(all, "archived", json_integer(audit->archived));
    out_set(all, "missing", json_integer(audit->of_state[DS_NONE]));
    out_set(all, "gaps", json_incref(audit->gaps));
    out_set(all, "problems", json_incref(audit->problems));
    return all;
}

/* An empty feed is a gap too: nothing that should be there was there to compare with. */
static enum cli_exit finish(const struct audit *audit)
{
    enum cli_exit code = json_array_size(audit->gaps) > 0 || audit->count == 0 ? EXIT_MISSING : EXIT_FINE;
    if (audit->unreadable > 0) code = cli_worse(code, EXIT_USAGE);
    if (audit->cli->json) return out_json(document(audit)) ? code : EXIT_USAGE;
    print(audit);
    return code;
}

static enum cli_exit run(struct audit *audit)
{
    struct cli *cli = audit->cli;
    const char *archive = cli->options.value[FLAG_ARCHIVE_ID];
    if (!read_feed(audit) || (archive && !archive_file_read(archive, take_archived, audit, &cli->err)))
        return cli_fail(cli, EXIT_USAGE);
    enum cli_exit code = cli_connect(cli);
    if (code != EXIT_FINE) return code;
    if (!batches_read(cli, audit->names, audit->count, compare, audit)) return cli_fail(cli, EXIT_AWAY);
    return finish(audit);
}

enum cli_exit verb_audit(struct cli *cli)
{
    const struct options *options = &cli->options;
    const struct items_source source = {.path = options->operand[0], .map = options->value[FLAG_MAP_ID]};
    struct audit audit = {.cli = cli};
    if (!cli_load(cli)) return EXIT_USAGE;
    bool ok = options->to_count > 0 || errbuf_set(&cli->err, "missing: --to CHANNEL...; see landfall audit --help");
    for (int i = 0; ok && i < options->to_count; i++)
        ok = cli_check_partition(cli, options->to[i], &cli->err);
    if (!ok || !items_open(&source, &audit.items, &cli->err)) return cli_fail(cli, EXIT_USAGE);
    audit.known = json_object();
    audit.gaps = json_array();
    audit.problems = json_array();
    enum cli_exit code = run(&audit);
    for (size_t i = 0; i < audit.count; i++)
        free(audit.names[i]);
    free(audit.names);
    free(audit.lines);
    json_decref(audit.known);
    json_decref(audit.gaps);
    json_decref(audit.problems);
    items_close(&audit.items);
    return code;
}
