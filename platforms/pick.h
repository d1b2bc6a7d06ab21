/* SPDX-License-Identifier: MIT */
/*
 * pick: the jq programs that only pick values and put them together, run without jq.
 *
 * Most programs of a descriptor are of this kind: `.settings.instance + "/api"`, `{title: .item.title}`,
 * `.answer.body.id? // null`. To carry an input into jq and a result out of it costs many times what they do. Known
 * are paths of names, texts, whole numbers, true, false and null, objects with given names, lists of at most one
 * value, `+` for texts, `//`, `?` behind a path, and parentheses.
 *
 * A pick gives what jq gives, to the byte and in jq's order of members, or it gives nothing and jq is asked: so it is
 * with every text that it does not know and with every value over which jq would complain. jq has compiled the text
 * before, and says what is wrong with one.
 */
#ifndef LANDFALL_PLATFORMS_PICK_H
#define LANDFALL_PLATFORMS_PICK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "keys/canonical.h"
#include "platforms/program_input.h"

struct pick;

/* NULL where the text is more than this. pick_free() ends it. */
struct pick *pick_new(const char *text);
void pick_free(struct pick **pick);

/* True if it looks at this member of its input. */
bool pick_names(const struct pick *pick, const char *member);

/* The result over an object, which is not changed, of at most max_bytes (counted as in program.h) and max_depth levels.
 * NULL where jq must be asked. It shares texts and numbers with the input and no list and no object. */
json_t *pick_run(const struct pick *pick, struct program_input *input, size_t max_bytes, int max_depth);

/* The same as canonical JSON, which is put to out without a value being made. False, and out as it was, where jq must
 * be asked. */
bool pick_print(const struct pick *pick, struct program_input *input, size_t max_bytes, int max_depth,
                struct canonical_text *out);

#endif
