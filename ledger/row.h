/* SPDX-License-Identifier: MIT */
/*
 * row: a delivery row as C sees it.
 *
 * The row comes as field names and values, as HGETALL and the scripts' answers give them. Everything in it is somebody
 * else's bytes: a field that cannot be read makes the row unreadable, with its name and value in the error, and nothing
 * is concluded from it. Fields that this version does not know are ignored, so that two versions can run side by side.
 */
#ifndef LANDFALL_LEDGER_ROW_H
#define LANDFALL_LEDGER_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/delivery.h"
#include "keys/hash.h"
#include "keys/key.h"
#include "runtime/errbuf.h"

#define ROW_WORKER_BYTES  65
#define ROW_JOURNAL_BYTES 44
#define ROW_URL_BYTES     1025

struct row {
    struct delivery_row core; /* what decisions need; core.state is DS_NONE where there is no row */
    char content[HASH_HEX_BYTES];
    char key[KEY_BYTES];
    char body_hash[HASH_HEX_BYTES];
    char worker[ROW_WORKER_BYTES];
    char journal[ROW_JOURNAL_BYTES];
    char url[ROW_URL_BYTES];
    char duplicate[DELIVERY_EXT_ID_MAX + 1];
    bool changed; /* the platform has another text than was sent */
    enum delivery_source source;
    int status; /* HTTP status of the newest answer that was kept; 0: none */
    int taken;
    int64_t turn_ms; /* it was handed back after doubt: its turn; 1: it has none yet; 0: it was not */
    int64_t claimed_at_ms;
    int64_t cleared_at_ms;
};

/* One field, borrowed from a reply. */
struct row_field {
    const char *name;
    size_t name_bytes;
    const char *value;
    size_t value_bytes;
};

/* Reads the fields; none at all is a row that does not exist. False: unreadable, *out is then as a missing row and must
 * not be used for a decision. */
MUSTCHECK bool row_parse(const struct row_field *fields, size_t count, struct row *out, struct errbuf *err);

#endif
