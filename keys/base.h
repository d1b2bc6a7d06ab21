/* SPDX-License-Identifier: MIT */
/*
 * What every file of keys/ needs and nothing else: error texts, the quoting of bytes we did not write, and the two
 * ways to end the process (out of memory, broken promise of our own code).
 *
 * keys/ is pure: it reads no clock, no file, no socket and no environment. It does not use runtime/, so the few lines
 * that both need stand here a second time.
 *
 * An error text is one line of printable ASCII, cut to KEYS_ERR_BYTES. It says what is wrong and what to do. Bytes
 * that came from outside stand in it only as keys_quote() wrote them.
 */
#ifndef LANDFALL_KEYS_BASE_H
#define LANDFALL_KEYS_BASE_H

#include <stdbool.h>
#include <stddef.h>

#ifndef MUSTCHECK
#define MUSTCHECK __attribute__((warn_unused_result))
#endif

/* Size of every err[] that a function of keys/ takes, the final NUL included. */
#define KEYS_ERR_BYTES 256

/* Longest result of keys_quote(), the final NUL included. */
#define KEYS_QUOTE_BYTES 72

/* Writes the text and returns false, so that a check reads "return keys_fail(err, ...)". */
__attribute__((format(printf, 2, 3))) bool keys_fail(char err[KEYS_ERR_BYTES], const char *format, ...);

/* Writes the bytes in double quotes: printable ASCII as it is (\" and \\ for two of it), everything else as \xNN, cut
 * after what fits ("..."). */
const char *keys_quote(const void *bytes, size_t len, char out[KEYS_QUOTE_BYTES]);

/* malloc and realloc that never return NULL: the process ends with one line instead. The caller frees. */
void *keys_alloc(size_t size) __attribute__((returns_nonnull, malloc));
void *keys_realloc(void *own_old, size_t size) __attribute__((returns_nonnull));

/* Ends the process with one line on stderr. keys_must() takes what libraries return: NULL means out of memory. */
__attribute__((noreturn)) void keys_out_of_memory(void);
void *keys_must(void *pointer) __attribute__((returns_nonnull));

/* A promise between our own functions, checked in every build. Never used on bytes from outside. */
#define KEYS_REQUIRE(condition) ((condition) ? (void)0 : keys_broken(__FILE__, __LINE__, #condition))
__attribute__((noreturn)) void keys_broken(const char *file, int line, const char *condition);

#endif
