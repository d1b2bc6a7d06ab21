/* SPDX-License-Identifier: MIT */
/*
 * A pick over an input: to a value, or to the bytes that the value is printed as. Both take what they take off the same
 * budget, and give up in the same places.
 */
#include "platforms/pick_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "platforms/program_budget.h"
#include "runtime/buf.h"
#include "runtime/die.h"

#define OBJECT_NAMES_MAX 256

/* What is left of the bounds. */
struct run {
    struct program_input *input;
    struct program_budget budget;
};

static bool enter(struct run *run, size_t bytes)
{
    if (run->budget.depth == 0 || !program_budget_take(&run->budget, bytes)) return false;
    run->budget.depth--;
    return true;
}

static bool leave(struct run *run, bool ok)
{
    run->budget.depth++;
    return ok;
}

/* ---- values of the input ---- */

static bool keeps(struct run *run, const json_t *value);

static bool keeps_object(struct run *run, const json_t *value)
{
    const char *name;
    size_t len;
    json_t *member;
    json_object_keylen_foreach((json_t *)value, name, len, member)
    {
        if (!program_budget_take(&run->budget, len) || !keeps(run, member)) return false;
    }
    return json_object_size(value) <= OBJECT_NAMES_MAX;
}

static bool keeps_array(struct run *run, const json_t *value)
{
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!keeps(run, json_array_get(value, i))) return false;
    return true;
}

static bool keeps_number(const json_t *value)
{
    if (json_is_integer(value)) {
        json_int_t number = json_integer_value(value);
        return number >= -PROGRAM_EXACT_INTEGER_MAX && number <= PROGRAM_EXACT_INTEGER_MAX;
    }
    double number = json_real_value(value);
    return isfinite(number) && floor(number) != number;
}

/* True if a value comes out of jq as it went in, and is not too much. */
static bool keeps(struct run *run, const json_t *value)
{
    if (!enter(run, json_string_length(value))) return false;
    if (json_is_object(value)) return leave(run, keeps_object(run, value));
    if (json_is_array(value)) return leave(run, keeps_array(run, value));
    return leave(run, !json_is_number(value) || keeps_number(value));
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool set(json_t *object, const char *name, json_t *own_value)
{
    return own_value && json_object_set_new_nocheck(object, name, own_value) == 0;
}

/* With its members in jq's order. */
static json_t *sorted(const json_t *value)
{
    const char *names[OBJECT_NAMES_MAX], *name;
    size_t count = 0;
    json_t *member, *out;
    if (!json_is_object(value) && !json_is_array(value)) return json_incref((json_t *)value);
    out = json_is_object(value) ? json_object() : json_array();
    for (size_t i = 0; i < json_array_size(value); i++)
        if (json_array_append_new(out, sorted(json_array_get(value, i))) != 0) die("out of memory");
    json_object_foreach((json_t *)value, name, member)
    {
        names[count++] = name;
    }
    qsort(names, count, sizeof *names, by_name);
    for (size_t i = 0; i < count; i++)
        if (!set(out, names[i], sorted(json_object_get(value, names[i])))) die("out of memory");
    return out;
}

/* ---- to a value ---- */

/* As it comes out of jq; NULL where that is another value, or too much of it. */
static json_t *copy(struct run *run, const json_t *value)
{
    return keeps(run, value) ? sorted(value) : NULL;
}

static json_t *walk(struct run *run, const struct pick *pick);

/* What stands at the end of a path, null where nothing does; NULL where jq would complain. */
static const json_t *follow(struct run *run, const struct pick *path)
{
    const json_t *value = program_input_get(run->input, path->inner->name);
    for (const struct pick *step = path->inner->next; step && value; step = step->next) {
        if (!json_is_object(value) && !json_is_null(value)) return NULL;
        value = json_object_get(value, step->name);
    }
    return value ? value : json_null();
}

static json_t *walk_path(struct run *run, const struct pick *pick)
{
    const json_t *value = follow(run, pick);
    return value ? copy(run, value) : NULL;
}

static json_t *walk_object(struct run *run, const struct pick *pick)
{
    json_t *out = json_object();
    for (const struct pick *member = pick->inner; out && member; member = member->next) {
        if (program_budget_take(&run->budget, strlen(member->name)) && set(out, member->name, walk(run, member)))
            continue;
        json_decref(out);
        return NULL;
    }
    return out;
}

static json_t *walk_list(struct run *run, const struct pick *pick)
{
    json_t *out = json_array(), *item = pick->inner ? walk(run, pick->inner) : NULL;
    if (pick->inner && (!item || json_array_append_new(out, item) != 0)) {
        json_decref(out);
        return NULL;
    }
    return out;
}

/* Texts joined; null changes nothing. */
static json_t *walk_sum(struct run *run, const struct pick *pick)
{
    struct buf text;
    bool texts = true, any = false;
    buf_init(&text, run->budget.bytes);
    for (const struct pick *term = pick->inner; term && texts; term = term->next) {
        json_t *value = walk(run, term);
        texts = json_is_string(value) || json_is_null(value);
        any = any || json_is_string(value);
        if (json_is_string(value)) buf_append(&text, json_string_value(value), json_string_length(value));
        json_decref(value);
    }
    bool fits = texts && !text.cut && program_budget_take(&run->budget, text.len);
    json_t *sum = !fits ? NULL : any ? json_stringn_nocheck(buf_text(&text), text.len) : json_null();
    buf_fini(&text);
    return sum;
}

/* The first that is neither null nor false, or the last. */
static json_t *walk_alternative(struct run *run, const struct pick *pick)
{
    const struct pick *one = pick->inner;
    json_t *value = walk(run, one);
    while (one->next && (json_is_null(value) || json_is_false(value))) {
        json_decref(value);
        one = one->next;
        value = walk(run, one);
    }
    return value;
}

static json_t *walk(struct run *run, const struct pick *pick)
{
    json_t *out = NULL;
    if (!enter(run, 0)) return NULL;
    switch (pick->kind) {
    case PICK_CONSTANT: out = copy(run, pick->constant); break;
    case PICK_PATH: out = walk_path(run, pick); break;
    case PICK_OBJECT: out = walk_object(run, pick); break;
    case PICK_LIST: out = walk_list(run, pick); break;
    case PICK_SUM: out = walk_sum(run, pick); break;
    case PICK_ALTERNATIVE: out = walk_alternative(run, pick); break;
    }
    leave(run, true);
    return out;
}

json_t *pick_run(const struct pick *pick, struct program_input *input, size_t max_bytes, int max_depth)
{
    struct run run = {input, {max_bytes, max_depth}};
    return program_input_is_object(input) ? walk(&run, pick) : NULL;
}

/* ---- to the bytes that it is printed as ---- */

static bool print(struct run *run, const struct pick *pick, struct canonical_text *out);

/* Strings come out of jq as they went in. Each takes three bytes of the text at least, so it costs less than this. */
static bool keeps_strings(struct run *run, const struct program_printed *printed)
{
    const int levels = 3; /* object, list, string */
    return printed->strings_only && run->budget.depth >= levels && program_budget_take(&run->budget, 7 * printed->len);
}

static bool print_path(struct run *run, const struct pick *pick, struct canonical_text *out)
{
    struct program_printed printed;
    bool known = !pick->inner->next && program_input_printed(run->input, pick->inner->name, &printed);
    if (!known || !keeps_strings(run, &printed)) {
        const json_t *value = follow(run, pick);
        if (!value || !keeps(run, value)) return false;
        if (!known) canonical_put_value(out, value);
    }
    if (known) canonical_put(out, printed.bytes, printed.len);
    return true;
}

static bool print_object(struct run *run, const struct pick *pick, struct canonical_text *out)
{
    canonical_put(out, "{", 1);
    for (const struct pick *member = pick->inner; member; member = member->next) {
        if (member != pick->inner) canonical_put(out, ",", 1);
        if (!program_budget_take(&run->budget, strlen(member->name))) return false;
        canonical_put_string(out, member->name, strlen(member->name));
        canonical_put(out, ":", 1);
        if (!print(run, member, out)) return false;
    }
    canonical_put(out, "}", 1);
    return true;
}

static bool print_list(struct run *run, const struct pick *pick, struct canonical_text *out)
{
    canonical_put(out, "[", 1);
    bool ok = !pick->inner || print(run, pick->inner, out);
    canonical_put(out, "]", 1);
    return ok;
}

static bool print_value(struct run *run, const struct pick *pick, struct canonical_text *out)
{
    json_t *value = walk(run, pick);
    if (!value) return false;
    canonical_put_value(out, value);
    json_decref(value);
    return true;
}

static bool print(struct run *run, const struct pick *pick, struct canonical_text *out)
{
    bool (*part)(struct run *, const struct pick *, struct canonical_text *) = pick->kind == PICK_PATH ? print_path
                                                                               : pick->kind == PICK_OBJECT
                                                                                   ? print_object
                                                                               : pick->kind == PICK_LIST ? print_list
                                                                                                         : NULL;
    if (!part) return print_value(run, pick, out);
    return enter(run, 0) && leave(run, part(run, pick, out));
}

bool pick_print(const struct pick *pick, struct program_input *input, size_t max_bytes, int max_depth,
                struct canonical_text *out)
{
    struct run run = {input, {max_bytes, max_depth}};
    size_t before = out->len;
    bool ok = program_input_is_object(input) && print(&run, pick, out);
    if (!ok) out->len = before;
    return ok;
}
