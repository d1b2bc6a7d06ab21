/* SPDX-License-Identifier: MIT */
/*
 * scan: where in a JSON text a reader stands, byte by byte. Pure; knows brackets and strings, nothing else of JSON.
 */
#ifndef LANDFALL_CLI_SCAN_H
#define LANDFALL_CLI_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scan {
    int depth;       /* open brackets */
    uint64_t arrays; /* of the innermost 64: bit 0 is the innermost; 1: an array, 0: an object */
    bool in_string, escaped;
    char last;                    /* the last byte outside of strings that is no white space; '"' for a whole string */
    size_t at;                    /* bytes so far */
    size_t string_at, string_len; /* the newest whole string, without its quotes */
};

void scan_init(struct scan *scan);
void scan_byte(struct scan *scan, char c);

/* Nothing is open: the value is whole (or has not begun). */
bool scan_closed(const struct scan *scan);

/* Could the next byte begin an object here? */
bool scan_object_may_begin(const struct scan *scan);

bool scan_is_space(int c);

#endif
