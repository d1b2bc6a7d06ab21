/* SPDX-License-Identifier: MIT */
/*
 * program_value: JSON values from jansson to libjq and back. A part of program.c and program_input.c, of nobody else.
 *
 * An integer that a double does not hold exactly goes in as a string of its digits; members come out in the order of
 * their names, so that the same program gives the same bytes everywhere.
 */
#ifndef LANDFALL_PLATFORMS_PROGRAM_VALUE_H
#define LANDFALL_PLATFORMS_PROGRAM_VALUE_H

#include <jansson.h>
#include <jq.h>

#include "platforms/program_budget.h"
#include "platforms/program_input.h"

/* jv_invalid() where the budget is spent. */
jv program_value_to_jv(const json_t *value, struct program_budget *budget);

/* NULL where the budget is spent or a number is infinite. Takes the value over. */
json_t *program_value_from_jv(jv own_value, struct program_budget *budget);

/* The input carried over into jq, once; jv_invalid() where it is no object, too large or too deep. */
jv program_input_jv(struct program_input *input);

#endif
