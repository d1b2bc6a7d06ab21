/* SPDX-License-Identifier: MIT */
/*
 * plain: text of others, made harmless for who reads it.
 *
 * Ids, addresses, reasons and error texts come from platforms, from Redis and from files. They may hold anything, also
 * what makes a terminal obey: control characters, and marks that turn the direction of writing. What is printed for
 * people goes through plain_line() and plain_print(), what is printed for programs through plain_json().
 */
#ifndef RUNTIME_PLAIN_H
#define RUNTIME_PLAIN_H

#include <jansson.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "runtime/buf.h"

/* Appends bytes with everything escaped that is not plain text: \n, \t, \xNN, \u{NNNN}. */
void plain_escape(struct buf *out, const char *bytes, size_t len);

/* The formatted text, escaped; line feeds too, so that it stays within its line. */
void plain_print(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same and a line feed. */
void plain_line(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
void plain_vline(FILE *file, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));

/* A JSON string; bytes that are not UTF-8 become U+FFFD. Never NULL: out of memory ends the process. */
json_t *plain_json_bytes(const char *bytes, size_t len);
/* NULL is null. */
json_t *plain_json(const char *text);

/* One document on one line, in ASCII, and flushes; frees it. NULL is one that there was no memory for. */
void plain_json_line(FILE *file, json_t *own_document);

#endif
