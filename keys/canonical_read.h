/* SPDX-License-Identifier: MIT */
/*
 * Inside canonical only: the quick way to read a JSON text, for what nearly all items are made of.
 *
 * jansson reads a text byte by byte and copies a string three times. canonical_read() reads texts whose numbers are
 * short integers, looks through strings sixteen bytes at a time and copies them once. It takes no text that jansson
 * with canonical_parse()'s flags would refuse, and gives the same value. What it is not sure of it does not take: then
 * jansson reads the text, or says what is wrong with it.
 */
#ifndef LANDFALL_KEYS_CANONICAL_READ_H
#define LANDFALL_KEYS_CANONICAL_READ_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* NULL where jansson must be asked. The caller owns the value; it is no deeper than CANONICAL_DEPTH_MAX, and every
 * number in it is one that canonical_check_numbers() takes. */
json_t *canonical_read(const char *text, size_t len);

/* How many bytes stand before the first control character, quote or backslash. */
size_t canonical_plain_bytes(const char *text, size_t len);

bool canonical_is_utf8(const char *bytes, size_t len);

#endif
