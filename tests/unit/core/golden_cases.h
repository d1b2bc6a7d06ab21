/* SPDX-License-Identifier: MIT */
/* Every line of the protocol's table as data: row kinds x inputs x policies. Used to print the golden file and to
 * replay it through the scripts. */
#ifndef LANDFALL_TESTS_GOLDEN_CASES_H
#define LANDFALL_TESTS_GOLDEN_CASES_H

#include "core/delivery.h"

#define GOLDEN_NOW_MS      1000000000LL       /* the moment of every decision */
#define GOLDEN_TOKEN       "aaaaaaaa11111111" /* the newest attempt's */
#define GOLDEN_OLDER_TOKEN "bbbbbbbb22222222" /* an earlier attempt's */
#define GOLDEN_FOREIGN     "cccccccc33333333" /* an attempt that the ledger has forgotten */

struct golden_row {
    const char *name;
    struct delivery_row row;
};

struct golden_input {
    const char *name;
    struct delivery_input in;
};

struct golden_policy {
    const char *name;
    struct delivery_policy policy;
};

struct golden_line {
    const struct golden_row *row;
    const struct golden_input *input;
    const struct golden_policy *policy;
    struct delivery_decision decision;
};

extern const struct golden_row golden_rows[];
extern const int golden_row_count;
extern const struct golden_input golden_inputs[];
extern const int golden_input_count;
extern const struct golden_policy golden_policies[];
extern const int golden_policy_count;

/* False for rows that a policy cannot have: where repeats are harmless nothing is ever in doubt. */
bool golden_exists(const struct golden_row *row, const struct golden_policy *policy);
/* Calls `each` for every line in the order in which they are printed. */
void golden_each(void (*each)(const struct golden_line *line, void *ctx), void *ctx);

#endif
