/* SPDX-License-Identifier: MIT */
#include "cli/notes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/out.h"
#include "ledger/alive.h"

/* How long a person waits for the list at most. */
#define PROCESSES_BUDGET_MS 2000

bool notes_processes(struct cli *cli, struct notes_processes *out)
{
    return alive_read(&cli->ledger, cli->link, PROCESSES_BUDGET_MS, &out->list, &out->count, &out->complete,
                      cli_limit_ms(cli), &cli->err);
}

void notes_processes_fini(struct notes_processes *processes)
{
    free(processes->list);
    processes->list = NULL;
}

static bool has_role(const struct notes_processes *processes, const char *role)
{
    for (size_t i = 0; i < processes->count; i++)
        if (strcmp(processes->list[i].role, role) == 0) return true;
    return !processes->complete;
}

void notes_add_missing(const struct cli *cli, const struct notes_processes *processes, json_t *notes)
{
    const char *path = cli->config->path;
    const char *flag = path ? " --config " : "";
    if (!has_role(processes, "worker"))
        out_add_format(notes, "no worker has been seen for %d s; start one: landfall-worker%s%s", ALIVE_MS / 1000, flag,
                       path ? path : "");
    if (cli->overview.journal_length > 0 && !has_role(processes, "reconciler"))
        out_add_format(notes,
                       "%" PRId64 " uncertain, and no reconciler has been seen for %d s; start one: "
                       "landfall-reconciler run%s%s",
                       cli->overview.journal_length, ALIVE_MS / 1000, flag, path ? path : "");
}

void notes_print(const json_t *notes)
{
    for (size_t i = 0; i < json_array_size(notes); i++)
        out_line(stdout, "note: %s", json_string_value(json_array_get(notes, i)));
}
