/* SPDX-License-Identifier: MIT */
/*
 * program_input: what programs see, an object whose members are made when a program looks at one.
 *
 * A delivery has some twenty members that programs may look at, and most programs look at two. So an input knows how to
 * make them, and makes them one by one for what runs without jq (pick.h); jq gets all of them, once for all programs
 * that run over the input. What has been made stays as it is, whatever becomes of what it was made of.
 */
#ifndef LANDFALL_PLATFORMS_PROGRAM_INPUT_H
#define LANDFALL_PLATFORMS_PROGRAM_INPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define PROGRAM_INPUT_MEMBERS_MAX 24

/* A member's canonical bytes, borrowed. */
struct program_printed {
    const char *bytes;
    size_t len;
    bool strings_only; /* it is an object of strings and lists of strings */
};

/* The members that an input can make. names ends with a NULL and outlives the inputs. */
struct program_members {
    const char *const *names;
    json_t *(*make)(const void *facts, size_t i); /* a new value; out of memory is the callee's affair */
    bool (*printed)(const void *facts, size_t i, struct program_printed *out); /* false also for the NULL at the end */
};

struct program_input;

/* Over an object that is there; it may not be changed until program_input_free(). Another value than an object is an
 * error of each run. */
struct program_input *program_input_new(const json_t *object);

/* Over facts that are freed with free(); what they borrow has to stay until program_input_free(). */
struct program_input *program_input_lazy(const struct program_members *members, void *own_facts);
void program_input_free(struct program_input **input);

/* A member, borrowed; NULL: it has none of this name. */
json_t *program_input_get(struct program_input *input, const char *name);

/* False where nobody has printed the member. */
bool program_input_printed(struct program_input *input, const char *name, struct program_printed *out);

/* Puts another value in a member's place, or a new member behind the others; NULL takes away what was put. The name
 * lives as long as the input. A member whose value was changed in place has to be put once more. */
void program_input_put(struct program_input *input, const char *name, json_t *own_value);

/* The whole object, borrowed until the next put. */
json_t *program_input_json(struct program_input *input);

/* True for an object. */
bool program_input_is_object(const struct program_input *input);

#endif
