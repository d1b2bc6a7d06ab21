/* SPDX-License-Identifier: MIT */
/*
 * Idempotency keys: key = prefix "-" readable item id "-" hash.
 *
 * The hash is BLAKE2b-128 over these fields, each behind its length (see hash.h):
 *
 *   1 "1", the version of this scheme        5 item id in normal form
 *   2 platform instance                      6 key generation, decimal
 *   3 account                                7 canonical bytes of the merged content
 *   4 operation ("publish")
 *
 * So a key stays the same over retries, restarts, requeues, machines and versions, and other content is another key.
 * The request body is not in it: on many platforms the body contains the key. vectors.json lets any language check
 * that it builds the same keys.
 *
 * The readable part is the last 20 characters, at most, of the id with A-Z in lower case and every run of other
 * characters than a-z and 0-9 as one "-", without "-" at the ends. The end of an id tells more than its start, which is
 * often the same host for all. An id without such characters has no readable part: the key is then prefix "-" hash.
 *
 * Nothing here allocates or reads a clock.
 */
#ifndef LANDFALL_KEYS_KEY_H
#define LANDFALL_KEYS_KEY_H

#include "keys/base.h"

#include <stdint.h>

#define KEY_PREFIX_MAX_BYTES   10
#define KEY_READABLE_MAX_BYTES 20
#define KEY_PLAIN_MAX_BYTES    64
#define KEY_BYTES              80 /* buffer for every format, the final NUL included */

#define KEY_DEFAULT_PREFIX    "lf"
#define KEY_OPERATION_PUBLISH "publish"

/*
 * X(symbol, name in a descriptor, length of the longest key in bytes)
 *   plain      as above: a-z, 0-9 and "-" only; never a ".", which Standard Webhooks forbids in a webhook-id
 *   sf_string  plain as a String of RFC 8941, i.e. in double quotes
 *   uuid       RFC 9562 version 8, from the hash
 *   hex24      the first 24 digits of the hash
 *   tid        AT Protocol record key: the time of approval in microseconds and a clock id, 13 characters that sort;
 *              the microseconds within the millisecond and the clock id come from the hash
 */
#define KEY_FORMATS(X)                                                                                                 \
    X(PLAIN, "plain", KEY_PLAIN_MAX_BYTES)                                                                             \
    X(SF_STRING, "sf_string", KEY_PLAIN_MAX_BYTES + 2)                                                                 \
    X(UUID, "uuid", 36)                                                                                                \
    X(HEX24, "hex24", 24)                                                                                              \
    X(TID, "tid", 13)

enum key_format {
#define X(symbol, name, max_bytes) KEY_##symbol,
    KEY_FORMATS(X)
#undef X
        KEY_FORMAT_COUNT
};

/* What a key is made of. All pointers are borrowed for the call. */
struct key_input {
    const char *prefix;     /* [a-z][a-z0-9-]{0,9}; NULL for KEY_DEFAULT_PREFIX */
    const char *instance;   /* where the platform is, e.g. the origin https://m.example */
    const char *account;    /* the account part of the channel */
    const char *operation;  /* KEY_OPERATION_PUBLISH */
    const char *id;         /* item id in normal form */
    unsigned generation;    /* 0, and one more for each new key that an operator starts */
    const char *content;    /* canonical bytes of the merged content */
    size_t content_len;     /* in bytes */
    int64_t approved_at_ms; /* since 1970; used by tid only */
};

/* Writes the key in one format. Fails on a bad prefix and, for tid, on a time of approval that it cannot hold. */
MUSTCHECK bool key_make(const struct key_input *input, enum key_format format, char out[KEY_BYTES],
                        char err[KEYS_ERR_BYTES]);

/* The name of a format, and the format of a name. */
const char *key_format_name(enum key_format format);
MUSTCHECK bool key_format_parse(const char *name, enum key_format *out, char err[KEYS_ERR_BYTES]);

/*
 * For reading a configuration: the prefix is valid and every key that it can give in this format fits in max_bytes
 * (0: no limit). prefix may be NULL, as above.
 */
MUSTCHECK bool key_format_check(enum key_format format, const char *prefix, size_t max_bytes, char err[KEYS_ERR_BYTES]);

/*
 * AT Protocol TID: 53 bits of microseconds since 1970, 10 bits of clock id, as 13 digits to the base 32
 * (https://atproto.com/specs/tid). Both values must be in range.
 */
#define KEY_TID_BYTES 14
void key_tid(uint64_t us, unsigned clock_id, char out[KEY_TID_BYTES]);

#endif
