/* SPDX-License-Identifier: MIT */
/*
 * check_case: one fixture of a descriptor: what the programs make of it against what it expects.
 *
 * docs/adding-a-platform.md says what a case may hold. A case runs in a child process (child.h), so its result is JSON:
 * {problem: text, absent where all is as expected, ran: [paths of programs], rule: index of the rule that decided}.
 */
#ifndef LANDFALL_CLI_CHECK_CASE_H
#define LANDFALL_CLI_CHECK_CASE_H

#include <jansson.h>

#include "platforms/channel.h"

struct check_case {
    struct channel *channel;
    const json_t *test; /* the case, or the walk */
};

/* For child_run(); context is a struct check_case. */
json_t *check_case_run(void *context);

/* The same for a walk of walks.json. */
json_t *check_walk_run(void *context);

#endif
