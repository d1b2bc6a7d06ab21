/* SPDX-License-Identifier: MIT */
/*
 * look: `landfall-reconciler read`: what the platforms say about deliveries that are named, whatever their state.
 *
 * For a person (or a program, such as landfall retry) who is about to decide about them. It walks their accounts as
 * `run` does, takes no lease and tells the ledger nothing: it says what was found, whether that counts yet, and for
 * which row it was looked for. Nothing is settled here.
 */
#ifndef LANDFALL_RECONCILER_LOOK_H
#define LANDFALL_RECONCILER_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reconciler/process.h"

#define LOOK_MAX WALK_DELIVERIES_MAX /* deliveries at once */

struct look_options {
    char *const *names; /* as given; one "-": standard input has them, one to a line */
    size_t name_count;
    const char *ext_id; /* the only delivery's post is asked for by this id; NULL: by what its row knows */
    bool json;          /* one object a line */
    int64_t timeout_ms; /* 0: none */
};

/* Runs to its end and returns the exit code: 0 all were looked up and what was found counts, 2 Redis or a platform is
 * out of reach, 3 something is not proven, 5 there is no such delivery. */
int look_run(struct process *p, const struct look_options *options);

#endif
