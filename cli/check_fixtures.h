/* SPDX-License-Identifier: MIT */
/*
 * check_fixtures: all fixtures of a descriptor, each in a child process, and whether they leave a rule or a program of
 * the read half untried.
 */
#ifndef LANDFALL_CLI_CHECK_FIXTURES_H
#define LANDFALL_CLI_CHECK_FIXTURES_H

#include <jansson.h>
#include <stddef.h>

#include "platforms/channel.h"

struct check_fixtures {
    size_t files, cases, passed;
    json_t *problems; /* array of texts: the caller's; what is wrong is added to it */
};

/* folder: of the platform's fixtures; channel: the one that its channel.json describes. */
void check_fixtures_run(struct channel *channel, const char *folder, struct check_fixtures *out);

#endif
