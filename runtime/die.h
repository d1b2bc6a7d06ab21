/* SPDX-License-Identifier: MIT */
/*
 * die: the end of a process that cannot go on, and the allocators that use it.
 *
 * Out of memory is a crash like any other: whatever was in flight is found again through the ledger, so no caller
 * carries code for it. The line is written with write(2) and without allocating. die() is for broken invariants of our
 * own; it is never the answer to bytes that came from Redis, a platform, a file or a user. What the x functions return
 * is freed with free().
 */
#ifndef RUNTIME_DIE_H
#define RUNTIME_DIE_H

#include <stddef.h>

/* One line on stderr, then abort(). */
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* As malloc and friends, but never NULL; a size of 0 is taken as 1. xcalloc and xrealloc_array check count * size. */
void *xmalloc(size_t size) __attribute__((malloc, returns_nonnull));
void *xcalloc(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
void *xrealloc(void *pointer, size_t size) __attribute__((returns_nonnull));
void *xrealloc_array(void *pointer, size_t count, size_t size) __attribute__((returns_nonnull));
char *xstrdup(const char *text) __attribute__((malloc, returns_nonnull));
/* A terminated copy of length bytes (NUL bytes among them are copied too). */
char *xstrndup(const char *text, size_t length) __attribute__((malloc, returns_nonnull));
/* A new string of any length; the format is a literal. */
char *xformat(const char *format, ...) __attribute__((format(printf, 1, 2), malloc, returns_nonnull));

#endif
