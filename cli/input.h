/* SPDX-License-Identifier: MIT */
/*
 * input: a file or pipe of JSON, one item after the other, in bounded memory.
 *
 * What the input is, is seen from its first bytes: JSON values one after the other (one to a line, or laid out over
 * several), an array of items, or a feed document, i.e. an object whose member "items" is an array. Items of arrays and
 * feeds come one by one too, with the line that each begins in.
 *
 * This file finds where a value begins and ends, no more: whether it is JSON is left to who parses it. What cannot be
 * an item is given as INPUT_BAD with a reason, and reading goes on behind it: at the next line, or behind the element.
 * Only an array or feed that is broken itself ends the input early, and that is said.
 */
#ifndef LANDFALL_CLI_INPUT_H
#define LANDFALL_CLI_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/buf.h"
#include "runtime/errbuf.h"

enum input_result {
    INPUT_VALUE,  /* text, len, line */
    INPUT_BAD,    /* line, err */
    INPUT_END,    /* no more */
    INPUT_FAILED, /* the file cannot be read (on): err */
};

struct input;

/* path "-" is standard input. whole: values are given as they stand, arrays and feeds too. value_max_bytes: of one. */
MUSTCHECK bool input_open(const char *path, bool whole, size_t value_max_bytes, struct input **out, struct errbuf *err);
void input_close(struct input **input);

/* The next value. *text is borrowed until the next call; it may hold NUL bytes. *line counts from 1. */
MUSTCHECK enum input_result input_next(struct input *input, const char **text, size_t *len, size_t *line,
                                       struct errbuf *err);

/* Called before input_next() waits for a slow writer, so that what was read so far can be dealt with. False ends the
 * input there. */
typedef bool input_waits(void *context);
void input_on_wait(struct input *input, input_waits *waits, void *context);

/* "standard input", or the path. */
const char *input_name(const struct input *input);

#endif
