/* SPDX-License-Identifier: MIT */
/*
 * limits_answer: the wait that an answer asks for, by its descriptor's `limits`.
 *
 * The forms are read in limits.c; here stands which header or program is asked. A program that fails is logged and
 * counts as an answer that asks for nothing.
 */
#ifndef LANDFALL_PLATFORMS_LIMITS_ANSWER_H
#define LANDFALL_PLATFORMS_LIMITS_ANSWER_H

#include <stdint.h>

#include "platforms/answer.h"
#include "platforms/descriptor.h"

/* In ms; 0: nothing readable is said. half: whose programs may run. now_ms: Unix time as the caller knows it; the
 * answer's own Date header wins. The first limit that fits the status and gives a wait decides. */
int64_t limits_answer_ms(struct descriptor *descriptor, enum descriptor_half half, const struct answer *answer,
                         int64_t now_ms);

/* The same of those limits only that count what is left (`remaining`), where nothing is: so long the whole channel may
 * send nothing, whatever became of this request. */
int64_t limits_answer_spent_ms(struct descriptor *descriptor, enum descriptor_half half, const struct answer *answer,
                               int64_t now_ms);

/* Unix time at which the answer was made: its Date header, or now_ms. */
int64_t limits_answer_time_ms(const struct answer *answer, int64_t now_ms);

#endif
