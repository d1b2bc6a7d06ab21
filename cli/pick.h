/* SPDX-License-Identifier: MIT */
/*
 * pick: which deliveries a verb is about: those that were named, or all that fit --channel, --state, --reason and
 * --older-than.
 *
 * What was picked by flags may have changed before it is acted on; pick_fits() is asked again then.
 */
#ifndef LANDFALL_CLI_PICK_H
#define LANDFALL_CLI_PICK_H

#include <jansson.h>

#include "cli/cli.h"

#define PICK_STATE(state) (1u << (state))

struct pick {
    bool bulk;           /* by flags */
    const char *channel; /* NULL: any */
    unsigned states;     /* PICK_STATE()s */
    int reason;          /* -1: any */
    int64_t before_ms;   /* in this state since before; 0: any time */
    char **names;        /* sorted, each once */
    size_t count;
    json_t *groups; /* bulk: "channel state reason" -> number */
};

/* Reads and checks the arguments. states and reason hold for a bulk act that does not say its own. */
MUSTCHECK bool pick_arguments(const struct cli *cli, unsigned states, int reason, struct pick *pick,
                              struct errbuf *err);
/* After cli_connect(): fills names and groups. False: Redis is away, cli->err says why. pick_fini() in any case. */
MUSTCHECK bool pick_read(struct cli *cli, struct pick *pick);
void pick_fini(struct pick *pick);

/* Does a row still fit the flags? What was named always does. */
bool pick_fits(const struct pick *pick, const struct delivery_row *row);

#endif
