/* SPDX-License-Identifier: MIT */
/*
 * utf8: where one character of foreign text ends.
 *
 * Just enough to cut and escape text safely; normal forms and graphemes are somebody else's.
 */
#ifndef RUNTIME_UTF8_H
#define RUNTIME_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Length in bytes (1 to 4) of the valid character at text, 0 if there is none: a stray byte, an overlong form, a
 * surrogate, a cut one (RFC 3629, section 4). code_point may be NULL. */
size_t utf8_decode(const char *text, size_t len, uint32_t *code_point);

/* The largest length <= limit that does not end inside a character of text. */
size_t utf8_cut(const char *text, size_t len, size_t limit);

#endif
