/* SPDX-License-Identifier: MIT */
/*
 * answer_json: a stranger's JSON, read so that nothing in it changes and nothing nobody asked for gets in the way.
 *
 * Part of answer.h, apart from it so that it can be tried alone.
 */
#ifndef LANDFALL_PLATFORMS_ANSWER_JSON_H
#define LANDFALL_PLATFORMS_ANSWER_JSON_H

#include <jansson.h>
#include <stddef.h>

/* A new reference, or NULL with a reason that holds nothing of the text. */
json_t *answer_json_parse(const char *text, size_t len, char *reason, size_t reason_size);

#endif
