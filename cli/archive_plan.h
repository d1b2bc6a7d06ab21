/* SPDX-License-Identifier: MIT */
/*
 * archive_plan: which rows may leave the ledger, and why the others stay. Reads only.
 *
 * All rows are looked at, also those of other channels than the one that was asked for: a delivery that is not settled
 * may come after one that is, and needs to see how that one ended.
 */
#ifndef LANDFALL_CLI_ARCHIVE_PLAN_H
#define LANDFALL_CLI_ARCHIVE_PLAN_H

#include "cli/cli.h"
#include "core/retention.h"

struct archive_row {
    char *name;
    int64_t rev;
};

struct archive_plan {
    const char *channel; /* NULL: all */
    int64_t before_ms;   /* settled before */
    bool without_guard;
    struct archive_row *rows; /* that may go, sorted by name */
    size_t count, room;
    int64_t looked_at, unreadable;
    int64_t kept[RETENTION_COUNT];
    json_t *awaited; /* names of deliveries that others come after */
};

/* After cli_connect(). channel, before_ms and without_guard are set by the caller. False: Redis is away, cli->err says
 * why. archive_plan_fini() in any case. */
MUSTCHECK bool archive_plan_read(struct cli *cli, struct archive_plan *plan);
void archive_plan_fini(struct archive_plan *plan);

/* Asks again about a row that was picked: it may have changed since. */
enum retention archive_plan_verdict(const struct cli *cli, const struct archive_plan *plan, const char *name,
                                    const struct reads_delivery *read);

#endif
