/* SPDX-License-Identifier: MIT */
/* The ledger as lines that can be committed, sorted by name: a diff of two exports shows what was published, and when.
 */
#include <stdlib.h>

#include "cli/batches.h"
#include "cli/ledger_line.h"
#include "cli/out.h"
#include "ledger/inventory.h"

struct export
{
    json_t *list; /* with --json; NULL: lines */
    bool unreadable;
};

static void take(size_t i, const char *name, const struct reads_delivery *d, void *context)
{
    struct export *export = context;
    (void)i;
    if (d->readable && d->row.core.state == DS_NONE) return; /* gone since its name was read */
    export->unreadable |= !d->readable;
    json_t *line = d->readable ? ledger_line(name, &d->row) : ledger_line_unreadable(name, d->error);
    if (export->list) {
        out_add(export->list, line);
        return;
    }
    char *text = ledger_line_text(line);
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
    if (code == EXIT_FINE) code = cli_require_channel(cli, channel);
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
