/* SPDX-License-Identifier: MIT */
/*
 * One text for one JSON value: RFC 8785 (JSON Canonicalization Scheme), and the strict reader that goes with it.
 *
 * Content hashes and idempotency keys are taken over these bytes, so they must be the same on every machine, in every
 * locale and in every language. Object members are sorted by their UTF-16 code units; numbers are written as
 * ECMAScript writes them; strings carry the escapes that JSON demands and no others. The order of an array counts.
 *
 * The reader refuses what could not be written back with the same meaning: a number that a double does not hold, two
 * members of one name, U+0000 (C would cut the text there), more than CANONICAL_DEPTH_MAX levels, more than
 * CANONICAL_INPUT_MAX_BYTES. So canonical_parse() takes every output of canonical_write(), and gives the same value.
 *
 * A number may arrive as jansson's integer or real (2 and 2.0 are one value): read it with json_number_value().
 */
#ifndef LANDFALL_KEYS_CANONICAL_H
#define LANDFALL_KEYS_CANONICAL_H

#include "keys/base.h"

#include <jansson.h>
#include <string.h>

/* Deeper or longer than any real item; a bound on what a stranger can make us hold. */
#define CANONICAL_DEPTH_MAX       64
#define CANONICAL_INPUT_MAX_BYTES ((size_t)1 << 20)

/* Enough for every number: sign, 17 digits, point, six zeros or an exponent, NUL. */
#define CANONICAL_NUMBER_BYTES 32

/*
 * Writes a finite number as ECMAScript's Number::toString does (the shortest digits that give the same double, the
 * nearest of these), and returns its length. Not-a-number and infinity are a fault of ours and end the process.
 */
size_t canonical_number(double number, char out[CANONICAL_NUMBER_BYTES]);

/*
 * The canonical bytes of a value. The caller frees the result, which ends with a NUL that *len does not count.
 * The value must be no deeper than CANONICAL_DEPTH_MAX, as canonical_parse() guarantees.
 */
char *canonical_write(const json_t *value, size_t *len) __attribute__((returns_nonnull));

/* For who writes an object of a known shape without making it first: bytes, of which the caller frees the member bytes,
 * with a NUL behind them. Starts as {0}. What is put is canonical only if its members stand in their order. */
struct canonical_text {
    char *bytes;
    size_t len, size;
};
void canonical_grow(struct canonical_text *text, size_t len); /* room for so many bytes more and a NUL */
static inline void canonical_put(struct canonical_text *text, const char *bytes, size_t len) /* as they are */
{
    if (text->size - text->len <= len) canonical_grow(text, len);
    memcpy(text->bytes + text->len, bytes, len);
    text->len += len;
    text->bytes[text->len] = '\0';
}
void canonical_put_string(struct canonical_text *writer, const char *text, size_t len); /* UTF-8, in quotes */
void canonical_put_value(struct canonical_text *text, const json_t *value);             /* as canonical_write() */

/*
 * Checks the number literals of a JSON text: each must be, as a decimal, exactly the shortest text of the double next
 * to it. 0.1 and 1e3 are, 9007199254740993, 1e400 and 0.1234567890123456789 are not. The error names the JSON path.
 * Also checks the depth. The text need not be valid JSON: what is wrong elsewhere is left to the parser.
 */
MUSTCHECK bool canonical_check_numbers(const char *text, size_t len, char err[KEYS_ERR_BYTES]);

/* Parses with all checks; any JSON value is taken at the top. The caller owns *out. */
MUSTCHECK bool canonical_parse(const char *text, size_t len, json_t **out, char err[KEYS_ERR_BYTES]);

#endif
