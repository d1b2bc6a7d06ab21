/* SPDX-License-Identifier: MIT */
/*
 * notes: what a person should know beside the answer: nobody is working, nobody reads back what is uncertain.
 */
#ifndef LANDFALL_CLI_NOTES_H
#define LANDFALL_CLI_NOTES_H

#include <jansson.h>

#include "cli/cli.h"
#include "ledger/alive.h"

/* Who was seen in the last 30 s. Free with notes_processes_fini(). */
struct notes_processes {
    struct alive *list;
    size_t count;
    bool complete; /* false: the keyspace is too large to look through in a moment; somebody may be missing */
};

MUSTCHECK bool notes_processes(struct cli *cli, struct notes_processes *out);
void notes_processes_fini(struct notes_processes *processes);

/* Adds to an array of texts what is to be said about missing workers and reconcilers, with the commands that start
 * them. */
void notes_add_missing(const struct cli *cli, const struct notes_processes *processes, json_t *notes);

/* A line for each. */
void notes_print(const json_t *notes);

#endif
