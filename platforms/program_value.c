/* SPDX-License-Identifier: MIT */
#include "platforms/program_value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static jv integer_to_jv(json_int_t value)
{
    if (value >= -PROGRAM_EXACT_INTEGER_MAX && value <= PROGRAM_EXACT_INTEGER_MAX) return jv_number((double)value);
    /* Beyond 2^53 there are integers that a double holds, but nobody can tell them from their neighbours. */
    char digits[32];
    snprintf(digits, sizeof(digits), "%" JSON_INTEGER_FORMAT, value);
    return jv_string(digits);
}

static jv array_to_jv(const json_t *value, struct program_budget *budget)
{
    jv out = jv_array();
    for (size_t i = 0; i < json_array_size(value); i++) {
        jv item = program_value_to_jv(json_array_get(value, i), budget);
        if (!jv_is_valid(item)) {
            jv_free(out);
            return item;
        }
        out = jv_array_append(out, item);
    }
    return out;
}

static jv object_to_jv(const json_t *value, struct program_budget *budget)
{
    jv out = jv_object();
    const char *name;
    size_t name_len;
    json_t *member;
    json_object_keylen_foreach((json_t *)value, name, name_len, member)
    {
        jv item = program_budget_take(budget, name_len) ? program_value_to_jv(member, budget) : jv_invalid();
        if (!jv_is_valid(item)) {
            jv_free(out);
            return item;
        }
        out = jv_object_set(out, jv_string_sized(name, (int)name_len), item);
    }
    return out;
}

jv program_value_to_jv(const json_t *value, struct program_budget *budget)
{
    if (!program_budget_take(budget, json_string_length(value)) || budget->depth == 0) return jv_invalid();
    jv out = jv_null();
    budget->depth--;
    switch (json_typeof(value)) {
    case JSON_OBJECT: out = object_to_jv(value, budget); break;
    case JSON_ARRAY: out = array_to_jv(value, budget); break;
    case JSON_STRING: out = jv_string_sized(json_string_value(value), (int)json_string_length(value)); break;
    case JSON_INTEGER: out = integer_to_jv(json_integer_value(value)); break;
    case JSON_REAL: out = jv_number(json_real_value(value)); break;
    case JSON_TRUE: out = jv_true(); break;
    case JSON_FALSE: out = jv_false(); break;
    case JSON_NULL: break;
    }
    budget->depth++;
    return out;
}

static json_t *number_from_jv(double number)
{
    if (isnan(number)) return json_null(); /* as jq prints it */
    if (isinf(number)) return NULL;
    if (floor(number) == number && fabs(number) <= (double)PROGRAM_EXACT_INTEGER_MAX)
        return json_integer((json_int_t)number);
    return json_real(number);
}

static json_t *array_from_jv(jv own_value, struct program_budget *budget)
{
    json_t *out = json_array();
    int count = jv_array_length(jv_copy(own_value));
    for (int i = 0; out && i < count; i++) {
        json_t *item = program_value_from_jv(jv_array_get(jv_copy(own_value), i), budget);
        if (!item || json_array_append_new(out, item) != 0) {
            json_decref(out);
            out = NULL;
        }
    }
    jv_free(own_value);
    return out;
}

static json_t *object_from_jv(jv own_value, struct program_budget *budget)
{
    json_t *out = json_object();
    jv names = jv_keys(jv_copy(own_value));
    int count = jv_array_length(jv_copy(names));
    for (int i = 0; out && i < count; i++) {
        jv name = jv_array_get(jv_copy(names), i);
        size_t len = (size_t)jv_string_length_bytes(jv_copy(name));
        bool plain = strlen(jv_string_value(name)) == len; /* C would cut another one at its NUL */
        json_t *item = plain && program_budget_take(budget, len)
                           ? program_value_from_jv(jv_object_get(jv_copy(own_value), jv_copy(name)), budget)
                           : NULL;
        if (!item || json_object_set_new(out, jv_string_value(name), item) != 0) {
            json_decref(out);
            out = NULL;
        }
        jv_free(name);
    }
    jv_free(names);
    jv_free(own_value);
    return out;
}

json_t *program_value_from_jv(jv own_value, struct program_budget *budget)
{
    jv_kind kind = jv_get_kind(own_value);
    size_t len = kind == JV_KIND_STRING ? (size_t)jv_string_length_bytes(jv_copy(own_value)) : 0;
    json_t *out = NULL;
    if (program_budget_take(budget, len) && budget->depth > 0) {
        budget->depth--;
        switch (kind) {
        case JV_KIND_OBJECT: out = object_from_jv(jv_copy(own_value), budget); break;
        case JV_KIND_ARRAY: out = array_from_jv(jv_copy(own_value), budget); break;
        case JV_KIND_STRING: out = json_stringn(jv_string_value(own_value), len); break;
        case JV_KIND_NUMBER: out = number_from_jv(jv_number_value(own_value)); break;
        case JV_KIND_TRUE: out = json_true(); break;
        case JV_KIND_FALSE: out = json_false(); break;
        case JV_KIND_NULL: out = json_null(); break;
        case JV_KIND_INVALID: break;
        }
        budget->depth++;
    }
    jv_free(own_value);
    return out;
}
