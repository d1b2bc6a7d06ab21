/* SPDX-License-Identifier: MIT */
/*
 * out: what people and programs get to read. The only file that prints what came from outside.
 *
 * Ids, addresses, reasons and error texts may hold anything, also what makes a terminal obey: control characters, and
 * marks that turn the direction of writing. out_line() prints one line and escapes all of that, so no caller can forget
 * to. JSON is printed in ASCII, and bytes that are not UTF-8 become U+FFFD in it.
 */
#ifndef LANDFALL_CLI_OUT_H
#define LANDFALL_CLI_OUT_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

#include "runtime/buf.h"

/* One line: the formatted text, escaped, and a line feed. */
void out_line(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The document and a line feed; frees it. False if stdout cannot be written. */
bool out_json(json_t *own_document);

/* Values that never are NULL: out of memory ends the process. out_string(NULL) is null. */
json_t *out_string(const char *text);
json_t *out_bytes(const char *bytes, size_t len);
/* 0 is null: times that never were. */
json_t *out_time(int64_t ms);

/* Adds to an object or array. */
void out_set(json_t *object, const char *name, json_t *own_value);
void out_add(json_t *array, json_t *own_value);
void out_add_format(json_t *array, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
