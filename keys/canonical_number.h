/* SPDX-License-Identifier: MIT */
/* Inside canonical only: the check of one number literal. canonical_number() itself is in canonical.h. */
#ifndef LANDFALL_KEYS_CANONICAL_NUMBER_H
#define LANDFALL_KEYS_CANONICAL_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * True if the literal, as a decimal, is exactly the shortest text of the double next to it. len is the whole literal.
 * What is not a number in JSON's grammar may give either answer; it must be refused by a parser.
 */
bool canonical_number_exact(const char *literal, size_t len);

#endif
