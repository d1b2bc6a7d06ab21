/* SPDX-License-Identifier: MIT */
/*
 * The bounds of what goes into a program and of what comes out of it: bytes of texts and names with 16 for every value,
 * and levels.
 */
#ifndef LANDFALL_PLATFORMS_PROGRAM_BUDGET_H
#define LANDFALL_PLATFORMS_PROGRAM_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROGRAM_VALUE_COST_BYTES  16
#define PROGRAM_EXACT_INTEGER_MAX INT64_C(9007199254740992) /* 2^53: above it a double skips integers */

/* What is left of them. */
struct program_budget {
    size_t bytes;
    int depth;
};

/* Takes a value, or a member's name, of so many bytes off it; false where that is more than is left. */
static inline bool program_budget_take(struct program_budget *budget, size_t bytes)
{
    size_t cost = bytes + PROGRAM_VALUE_COST_BYTES;
    if (cost < bytes || cost > budget->bytes) return false;
    budget->bytes -= cost;
    return true;
}

#endif
