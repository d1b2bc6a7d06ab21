/* SPDX-License-Identifier: MIT */
/* Writes RFC 8785 bytes; see canonical.h. Walks the value with its own stack, so depth costs no C stack. */
#include "keys/canonical.h"

#include <stdlib.h>
#include <string.h>

struct member {
    const char *name;
    size_t len;
    const json_t *value;
};

/* An array or object that is being written. */
struct level {
    const json_t *container;
    struct member *members; /* of an object, sorted; NULL for an array */
    size_t count;
    size_t next;
};

static void put_char(struct canonical_text *writer, char c)
{
    canonical_put(writer, &c, 1);
}

static void put_scalar(struct canonical_text *writer, const json_t *value)
{
    char number[CANONICAL_NUMBER_BYTES];

    switch (json_typeof(value)) {
    case JSON_STRING: canonical_put_string(writer, json_string_value(value), json_string_length(value)); break;
    case JSON_INTEGER:
    case JSON_REAL: canonical_put(writer, number, canonical_number(json_number_value(value), number)); break;
    case JSON_TRUE: canonical_put(writer, "true", 4); break;
    case JSON_FALSE: canonical_put(writer, "false", 5); break;
    case JSON_NULL: canonical_put(writer, "null", 4); break;
    case JSON_OBJECT:
    case JSON_ARRAY: KEYS_REQUIRE(!"a container is not a scalar");
    }
}

/*
 * The order of UTF-16 code units, told from UTF-8. It is the order of the bytes, except that characters beyond U+FFFF
 * (first byte F0 to F4; surrogates D800 to DFFF in UTF-16) come before U+E000 to U+FFFF (first byte EE or EF).
 */
static int compare_members(const void *left, const void *right)
{
    const struct member *a = left;
    const struct member *b = right;

    for (size_t i = 0; i < a->len && i < b->len; i++) {
        unsigned char x = (unsigned char)a->name[i];
        unsigned char y = (unsigned char)b->name[i];
        if (x == y) continue;
        if (x >= 0xee && y >= 0xee && (x >= 0xf0) != (y >= 0xf0)) return x >= 0xf0 ? -1 : 1;
        return x < y ? -1 : 1;
    }
    return a->len < b->len ? -1 : a->len > b->len;
}

static void open_level(struct canonical_text *writer, struct level *level, const json_t *container)
{
    json_t *object = (json_t *)container; /* jansson walks members through a pointer that is not const */
    size_t n = 0;

    *level = (struct level){.container = container};
    if (json_is_array(container)) {
        level->count = json_array_size(container);
        put_char(writer, '[');
        return;
    }
    level->count = json_object_size(container);
    level->members = keys_alloc(level->count * sizeof(*level->members));
    for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at))
        level->members[n++] =
            (struct member){json_object_iter_key(at), json_object_iter_key_len(at), json_object_iter_value(at)};
    qsort(level->members, n, sizeof(*level->members), compare_members);
    put_char(writer, '{');
}

/* The next child, its comma and name written; NULL, and the level closed, if there is none. */
static const json_t *next_child(struct canonical_text *writer, struct level *level)
{
    size_t i = level->next++;

    if (i == level->count) {
        put_char(writer, level->members ? '}' : ']');
        free(level->members);
        return NULL;
    }
    if (i > 0) put_char(writer, ',');
    if (!level->members) return json_array_get(level->container, i);
    canonical_put_string(writer, level->members[i].name, level->members[i].len);
    put_char(writer, ':');
    return level->members[i].value;
}

void canonical_put_value(struct canonical_text *writer, const json_t *value)
{
    struct level levels[CANONICAL_DEPTH_MAX];
    size_t depth = 0;

    do {
        if (json_is_object(value) || json_is_array(value)) {
            KEYS_REQUIRE(depth < CANONICAL_DEPTH_MAX);
            open_level(writer, &levels[depth++], value);
        } else {
            put_scalar(writer, value);
        }
        value = NULL;
        while (depth > 0 && !(value = next_child(writer, &levels[depth - 1])))
            depth--;
    } while (value);
}

char *canonical_write(const json_t *value, size_t *len)
{
    struct canonical_text text = {0};
    canonical_put_value(&text, value);
    *len = text.len;
    return text.bytes;
}
