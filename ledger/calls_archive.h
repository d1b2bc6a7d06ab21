/* SPDX-License-Identifier: MIT */
/*
 * calls_archive: a settled row that stands in a file leaves the ledger, if it is still the row that was written down.
 */
#ifndef LANDFALL_LEDGER_CALLS_ARCHIVE_H
#define LANDFALL_LEDGER_CALLS_ARCHIVE_H

#include "ledger/request.h"

/* gone: asked again after a lost answer, or somebody else's archive was quicker. changed: nothing was written. */
enum archive_answer { ARCHIVE_OK, ARCHIVE_GONE, ARCHIVE_CHANGED, ARCHIVE_ERROR };

struct archive_request {
    struct request base;
    int64_t rev;                   /* of the row that was written down */
    const char *user, *host, *why; /* for the audit stream */
    const char *note;              /* what is archived, to where; NULL: the run's entry is there already */

    enum archive_answer answer;
};

#endif
