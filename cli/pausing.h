/* SPDX-License-Identifier: MIT */
/*
 * pausing: stops a channel, or lets it go on: what pause and resume have in common.
 */
#ifndef LANDFALL_CLI_PAUSING_H
#define LANDFALL_CLI_PAUSING_H

#include "cli/cli.h"

/* CHANNEL_PAUSE or CHANNEL_RESUME: the whole verb, from the arguments to the exit code. */
enum cli_exit pausing(struct cli *cli, enum channel_op op);

#endif
