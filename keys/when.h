/* SPDX-License-Identifier: MIT */
/*
 * when: a time as people write it on a command line: a moment, or a span that the program counts from now. Pure.
 */
#ifndef LANDFALL_KEYS_WHEN_H
#define LANDFALL_KEYS_WHEN_H

#include <stdbool.h>
#include <stdint.h>

struct when {
    bool span;
    int64_t ms; /* Unix time, or the length of the span */
};

/* RFC 3339 ("2026-09-01T09:00:00+02:00"), or a span of whole numbers and units: "90s", "15m", "2h30m", "7d". False if
 * it is neither. */
bool when_read(const char *text, struct when *out);

#endif
