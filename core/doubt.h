/* SPDX-License-Identifier: MIT */
/* The attempts of a delivery that may have committed.
 *
 * In the row they are one string, `1:9f2c01d4 3:77e0a1b2`: the attempt's number and the first eight characters of its
 * token. The number is for people; the token tells attempts apart even where a ledger that was set back has given the
 * same number twice. An attempt leaves the list by its own proven outcome; all leave it by a proven absence. `rewound`
 * stands for attempts that a ledger that was set back may have forgotten. */
#ifndef LANDFALL_CORE_DOUBT_H
#define LANDFALL_CORE_DOUBT_H

#include <stdbool.h>
#include <stddef.h>

#define DOUBT_TOKEN_MAX   31
#define DOUBT_ENTRIES_MAX 32 /* more than max_attempts allows; a row beyond it is unreadable and waits for a person */
#define DOUBT_TEXT_MAX    (DOUBT_ENTRIES_MAX * (DOUBT_TOKEN_MAX + 1))

struct doubt {
    int count;
    char entry[DOUBT_ENTRIES_MAX][DOUBT_TOKEN_MAX + 1];
};

/* Reads the row's string; false if it is not such a list. NULL and "" are the empty list. */
bool doubt_parse(const char *text, struct doubt *out);
/* Writes the row's string. */
void doubt_format(const struct doubt *d, char out[DOUBT_TEXT_MAX]);

bool doubt_has(const struct doubt *d, int attempt, const char *token);
/* Adding what is there already, or to a full list, changes nothing. */
void doubt_add(struct doubt *d, int attempt, const char *token);
void doubt_remove(struct doubt *d, int attempt, const char *token);

/* `rewound`. */
bool doubt_has_forgotten(const struct doubt *d);
void doubt_add_forgotten(struct doubt *d);

#endif
