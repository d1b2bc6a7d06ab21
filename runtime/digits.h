/* SPDX-License-Identifier: MIT */
/* digits: whole numbers as text, for what is written many times for each delivery. printf takes a thousand instructions
 * for one. */
#ifndef RUNTIME_DIGITS_H
#define RUNTIME_DIGITS_H

#include <stdint.h>

#define DIGITS_BYTES 20 /* of the longest number, its sign included */

/* Writes the number so that its last digit stands right before `end`, without a NUL. Returns its first character; what
 * is to the left of it, DIGITS_BYTES before `end` at most, is the number's to use. */
char *digits_before(char *end, int64_t number);

#endif
