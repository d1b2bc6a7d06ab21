/* SPDX-License-Identifier: MIT */
/*
 * chains: deliveries that wait for another one (`after`), and whether that will ever come.
 *
 * A delivery waits until the one that it comes after is published. It waits for ever where that one was never brought,
 * or waits, by itself or by others, for the first. What to do about it only a person knows.
 */
#ifndef LANDFALL_CLI_CHAINS_H
#define LANDFALL_CLI_CHAINS_H

#include "cli/checks.h"
#include "cli/cli.h"

/* behind: deliveries that wait for another one; those whose names were kept are looked at. False: Redis did not
 * answer, cli->err says why. */
MUSTCHECK bool chains_read(struct cli *cli, const struct survey_list *behind, int64_t now_ms,
                           struct checks_chains *out);

#endif
