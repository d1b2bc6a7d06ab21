/* SPDX-License-Identifier: MIT */
/*
 * operate: an act of a person on deliveries: picks them, decides about each, writes it with who and why, tells what
 * came of it. What retry, approve, confirm, cancel and reject have in common, which is nearly all.
 */
#ifndef LANDFALL_CLI_OPERATE_H
#define LANDFALL_CLI_OPERATE_H

#include "cli/act.h"
#include "cli/cli.h"
#include "cli/pick.h"

struct operation {
    struct act act;
    const char *word;   /* in the audit stream */
    const char *detail; /* kept with the delivery for people; NULL: none */
    bool resends;       /* a worker is needed afterwards */
    bool reads;         /* the platform is read first, where it can be and --without-reading does not forbid it */
    unsigned states;    /* what a bulk act picks that does not say its own: PICK_STATE()s */
    int reason;         /* -1: any */
};

/* The whole verb, from the arguments to the exit code. */
enum cli_exit operate(struct cli *cli, const struct operation *operation);

#endif
