/* SPDX-License-Identifier: MIT */
/*
 * script: the embedded scripts. For ledger/ only.
 *
 * A script is called by the SHA1 of its text; a server that has forgotten it (restart, SCRIPT FLUSH, failover) answers
 * NOSCRIPT and gets the text. Two versions of landfall can so run side by side.
 */
#ifndef LANDFALL_LEDGER_SCRIPT_H
#define LANDFALL_LEDGER_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

enum script_id {
    SCRIPT_SUBMIT,
    SCRIPT_CLAIM,
    SCRIPT_RENEW,
    SCRIPT_SETTLE,
    SCRIPT_RESOLVE,
    SCRIPT_TAKE,
    SCRIPT_OPERATE,
    SCRIPT_ARCHIVE,
    SCRIPT_CHANNEL,
    SCRIPT_LEAVE,
    SCRIPT_TIDY,
    SCRIPT_PLACE,
    SCRIPT_SESSION,
    SCRIPT_COUNT
};

struct script {
    const char *name;
    const char *sha1; /* 40 hex digits */
    const char *text; /* ends with a NUL that len does not count */
    size_t len;
};

extern const struct script script_table[SCRIPT_COUNT];

/* True if this error reply says that the server does not know the script. */
bool script_forgotten(const char *error_text);

#endif
