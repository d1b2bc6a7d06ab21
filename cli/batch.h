/* SPDX-License-Identifier: MIT */
/*
 * batch: deliveries on their way into the ledger, up to 64 at a time.
 *
 * A delivery that was added is told to the caller's function exactly once: with the ledger's answer, or as not known
 * if the ledger stayed away for cli_patience_ms(). Asking again is harmless, so whatever
 * had no answer is asked again until then. The rehearsal of a dry run reads rows and writes nothing.
 */
#ifndef LANDFALL_CLI_BATCH_H
#define LANDFALL_CLI_BATCH_H

#include <jansson.h>

#include "cli/cli.h"
#include "keys/content.h"

#define BATCH_MAX_BYTES ((size_t)1 << 20)

enum batch_result { BATCH_NEW, BATCH_SAME, BATCH_CONFLICT, BATCH_REFUSED, BATCH_NOT_KNOWN };

struct batch_delivery {
    char name[IDENTITY_NAME_BYTES];
    char channel[IDENTITY_CHANNEL_BYTES];
    char hash[HASH_HEX_BYTES];
    char *content;
    size_t line; /* of its item */
    bool done;
    struct submit_request request;
    enum batch_result result;
    char why[REQUEST_ERROR_SIZE]; /* refused */
};

typedef void batch_told(const struct batch_delivery *delivery, void *context);

struct batch {
    struct cli *cli;
    bool dry_run;
    batch_told *told;
    void *context;
    struct ledger_round *round;
    json_t *rehearsed; /* dry run: name -> content hash of what would be new */
    struct batch_delivery *deliveries;
    size_t count, bytes;
};

void batch_init(struct batch *batch, struct cli *cli, bool dry_run, batch_told *told, void *context);
void batch_fini(struct batch *batch);

/* What is put in. Borrowed for the call. */
struct batch_item {
    const char *channel, *name, *hash;
    const char *content;
    size_t content_len, line;
    bool hold;
    int64_t not_before_ms, not_after_ms, dated_ms;
};

/* Adds one, and asks the ledger when the batch is full. False: the ledger is away, cli->err says why; all that was
 * added has been told. */
MUSTCHECK bool batch_add(struct batch *batch, const struct batch_item *item);
MUSTCHECK bool batch_flush(struct batch *batch);

#endif
