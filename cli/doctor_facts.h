/* SPDX-License-Identifier: MIT */
/*
 * doctor_facts: gathers what the checks look at: from this machine, and from Redis in a bounded number of round trips.
 */
#ifndef LANDFALL_CLI_DOCTOR_FACTS_H
#define LANDFALL_CLI_DOCTOR_FACTS_H

#include "cli/checks.h"
#include "cli/cli.h"

/* After cli_load(). Opens files only to see whether they can be opened; never reads a secret. */
void doctor_facts_local(struct cli *cli, struct checks_local *out);

/* After the link is open. watch: as in struct survey_bounds. False, with cli->err: Redis went away; what was learnt
 * until then is not used. out->survey is the caller's (survey_fini), also after a failure. */
MUSTCHECK bool doctor_facts_redis(struct cli *cli, bool watch, struct checks_facts *out);

/* Appends to a text of the form "a, b, c"; what does not fit is cut. */
__attribute__((format(printf, 2, 3))) void doctor_list_add(struct errbuf *list, const char *format, ...);

#endif
