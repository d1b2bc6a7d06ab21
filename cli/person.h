/* SPDX-License-Identifier: MIT */
/*
 * person: who acts, from where and why: what every act of an operator leaves in the audit stream.
 */
#ifndef LANDFALL_CLI_PERSON_H
#define LANDFALL_CLI_PERSON_H

#include "cli/options.h"
#include "runtime/errbuf.h"

#define PERSON_WHY_MAX_BYTES 1000

struct person {
    char user[96]; /* of the system; behind sudo also who called it */
    char host[65];
    const char *why; /* --why, borrowed */
};

/* False: --why is missing, empty or too long. */
MUSTCHECK bool person_read(const struct options *options, struct person *out, struct errbuf *err);

#endif
