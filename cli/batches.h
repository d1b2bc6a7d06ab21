/* SPDX-License-Identifier: MIT */
/*
 * batches: the rows of many deliveries, read up to 64 at a time.
 */
#ifndef LANDFALL_CLI_BATCHES_H
#define LANDFALL_CLI_BATCHES_H

#include "cli/cli.h"

/* Called for each name in order, whether there is a row or not. The row is borrowed for the call. */
typedef void batches_row(size_t i, const char *name, const struct reads_delivery *read, void *context);

/* names: checked names of deliveries. False: Redis did not answer, cli->err says why; some may have been told. */
MUSTCHECK bool batches_read(struct cli *cli, char *const *names, size_t count, batches_row *told, void *context);

/* The channel of a checked delivery name. */
void batches_channel(const char *delivery, char channel[IDENTITY_CHANNEL_BYTES]);

/* The delivery that this one comes after, from its content; false where there is none, or the content is gone. */
bool batches_after(const char *channel, const struct request_text *content, char after[IDENTITY_NAME_BYTES]);

#endif
