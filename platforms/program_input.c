/* SPDX-License-Identifier: MIT */
/* Members stand in a list until somebody wants the object, for few are made; then the object is all there is. */
#include "platforms/program_input.h"

#include <jq.h>
#include <stdlib.h>
#include <string.h>

#include "platforms/program.h"
#include "platforms/program_value.h"
#include "runtime/die.h"

struct made {
    const char *name;
    json_t *value;
    bool put; /* by somebody else than the input */
};

struct program_input {
    json_t *json;  /* NULL: members are made one by one */
    bool own_json; /* nobody else looks at it */
    const struct program_members *members;
    void *facts;
    struct made made[PROGRAM_INPUT_MEMBERS_MAX];
    size_t count;
    bool carried; /* jv is the same in jq, or not valid where it is too large, too deep or no object */
    jv jv;
};

struct program_input *program_input_new(const json_t *object)
{
    struct program_input *input = xcalloc(1, sizeof *input);
    input->json = json_incref((json_t *)object);
    return input;
}

struct program_input *program_input_lazy(const struct program_members *members, void *own_facts)
{
    struct program_input *input = xcalloc(1, sizeof *input);
    input->members = members;
    input->facts = own_facts;
    return input;
}

static void drop_jv(struct program_input *input)
{
    if (input->carried) jv_free(input->jv);
    input->carried = false;
}

static void drop_made(struct program_input *input)
{
    for (size_t i = 0; i < input->count; i++)
        json_decref(input->made[i].value);
    input->count = 0;
}

void program_input_free(struct program_input **input)
{
    if (!*input) return;
    drop_jv(*input);
    drop_made(*input);
    json_decref((*input)->json);
    free((*input)->facts);
    free(*input);
    *input = NULL;
}

bool program_input_is_object(const struct program_input *input)
{
    return !input->json || json_is_object(input->json);
}

/* NULL where it has not been made. */
static struct made *find(struct program_input *input, const char *name)
{
    for (size_t i = 0; i < input->count; i++)
        if (strcmp(input->made[i].name, name) == 0) return &input->made[i];
    return NULL;
}

/* Which of those it is that can be made; their number where it is none. */
static size_t member(const struct program_input *input, const char *name)
{
    size_t i = 0;
    while (input->members->names[i] && strcmp(input->members->names[i], name) != 0)
        i++;
    return i;
}

static json_t *add(struct program_input *input, struct made made)
{
    if (!made.value || input->count == PROGRAM_INPUT_MEMBERS_MAX) die("out of memory (members of an input)");
    input->made[input->count++] = made;
    return made.value;
}

json_t *program_input_get(struct program_input *input, const char *name)
{
    if (input->json) return json_object_get(input->json, name);
    const struct made *found = find(input, name);
    if (found) return found->value;
    size_t i = member(input, name);
    const char *known = input->members->names[i];
    return known ? add(input, (struct made){known, input->members->make(input->facts, i), false}) : NULL;
}

bool program_input_printed(struct program_input *input, const char *name, struct program_printed *out)
{
    if (input->json) return false;
    const struct made *found = find(input, name);
    return (!found || !found->put) && input->members->printed(input->facts, member(input, name), out);
}

static void put_made(struct program_input *input, const char *name, json_t *own_value)
{
    struct made *found = find(input, name);
    if (!found && own_value) add(input, (struct made){name, own_value, true});
    if (!found) return;
    json_decref(found->value);
    *found = own_value ? (struct made){name, own_value, true} : input->made[--input->count];
}

static void put_member(json_t *object, const char *name, json_t *own_value)
{
    if (!own_value)
        json_object_del(object, name);
    else if (json_object_set_new(object, name, own_value) != 0)
        die("out of memory");
}

void program_input_put(struct program_input *input, const char *name, json_t *own_value)
{
    drop_jv(input);
    if (!input->json) {
        put_made(input, name, own_value);
        return;
    }
    if (!input->own_json) { /* the caller's stays as it is */
        json_t *copy = json_copy(input->json);
        json_decref(input->json);
        input->json = copy;
        input->own_json = true;
    }
    put_member(input->json, name, own_value);
}

json_t *program_input_json(struct program_input *input)
{
    if (input->json) return input->json;
    json_t *object = json_object();
    for (size_t i = 0; input->members->names[i]; i++)
        put_member(object, input->members->names[i], json_incref(program_input_get(input, input->members->names[i])));
    for (size_t i = 0; i < input->count; i++)
        put_member(object, input->made[i].name, json_incref(input->made[i].value));
    drop_made(input);
    input->json = object;
    input->own_json = true;
    return object;
}

jv program_input_jv(struct program_input *input)
{
    struct program_budget budget = {PROGRAM_INPUT_MAX_BYTES, PROGRAM_INPUT_DEPTH_MAX};
    if (!input->carried) {
        const json_t *json = program_input_json(input);
        input->jv = json_is_object(json) ? program_value_to_jv(json, &budget) : jv_invalid();
    }
    input->carried = true;
    return jv_copy(input->jv);
}
