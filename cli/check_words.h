/* SPDX-License-Identifier: MIT */
/*
 * check_words: what a descriptor leads to, in words: its tier and times, what every kind of answer does to a delivery,
 * and how doubt ends.
 *
 * The answers are judged by the engine itself (verdict, then delivery_step), so these words cannot say anything else
 * than what is done. Programs of the descriptor run here: call check_words_answers() in a child process.
 */
#ifndef LANDFALL_CLI_CHECK_WORDS_H
#define LANDFALL_CLI_CHECK_WORDS_H

#include <jansson.h>

#include "platforms/channel.h"

/* [{name, text}] */
json_t *check_words_facts(const struct channel *channel);

/* [{seen, then}]: nobody knows whether it was executed, and reading back says .. */
json_t *check_words_doubt(const struct channel *channel);

struct check_words {
    struct channel *channel;
    const json_t *cases; /* of its fixtures' accept.json; NULL: none */
};

/* {first, again, own}, each [{answers: [..], then}]: what happens on an answer to the first attempt, to a repeat while
 * an earlier one is in doubt, and on the answers that its fixtures hold. For child_run(); context is a struct
 * check_words. */
json_t *check_words_answers(void *context);

/* ---- shared by the two files ---- */

/* What a decision means. A new string. */
json_t *check_words_decision(const char *before, const struct delivery_decision *decision, int64_t now_ms);

#endif
