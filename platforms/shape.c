/* SPDX-License-Identifier: MIT */
/* One function per kind of member, and the walk over an object that calls them. */
#include "platforms/shape.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platforms/descriptor.h"
#include "runtime/die.h"

void shape_reader_init(struct shape_reader *reader, const char *file, const char *path, struct errbuf *err)
{
    memset(reader, 0, sizeof(*reader));
    reader->file = file;
    reader->err = err;
    snprintf(reader->path, sizeof(reader->path), "%s", path);
}

void shape_reader_fini(struct shape_reader *reader)
{
    for (size_t i = 0; i < reader->owned_count; i++)
        free(reader->owned[i]);
    free(reader->owned);
    free(reader->programs);
    memset(reader, 0, sizeof(*reader));
}

void *shape_keep(struct shape_reader *reader, void *own_memory)
{
    reader->owned = xrealloc_array(reader->owned, reader->owned_count + 1, sizeof(*reader->owned));
    reader->owned[reader->owned_count++] = own_memory;
    return own_memory;
}

bool shape_error(struct shape_reader *reader, const char *path, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return errbuf_set(reader->err, "%s: %s: %s", reader->file, path, text);
}

static bool here(struct shape_reader *reader, const char *text)
{
    return shape_error(reader, reader->path, "%s", text);
}

/* Go one step down; the result takes reader->path back up. */
__attribute__((format(printf, 2, 3))) static size_t step_down(struct shape_reader *reader, const char *format, ...)
{
    size_t before = strlen(reader->path);
    va_list args;
    va_start(args, format);
    vsnprintf(reader->path + before, sizeof(reader->path) - before, format, args);
    va_end(args);
    return before;
}

static void step_up(struct shape_reader *reader, size_t before)
{
    reader->path[before] = '\0';
}

static void add_program(struct shape_reader *reader, const char *text, unsigned halves, const char **path)
{
    reader->programs = xrealloc_array(reader->programs, reader->program_count + 1, sizeof(*reader->programs));
    *path = shape_keep(reader, xstrdup(reader->path + strlen("$.")));
    reader->programs[reader->program_count++] = (struct shape_program){*path, text, halves};
}

static bool read_text(struct shape_reader *reader, const json_t *value, const struct shape_member *member, char *at)
{
    const char *text = json_string_value(value);
    if (!text || *text == '\0')
        return here(reader, member->kind == SHAPE_PROGRAM ? "must be a jq program as a string, not empty"
                                                          : "must be a string, not empty");
    if (strlen(text) != json_string_length(value)) return here(reader, "must not hold a NUL character");
    if (member->kind == SHAPE_PROGRAM)
        add_program(reader, text, member->halves, (const char **)at);
    else
        *(const char **)at = text;
    return true;
}

static bool read_integer(struct shape_reader *reader, const json_t *value, const struct shape_member *member, char *at)
{
    if (!json_is_integer(value) || json_integer_value(value) < member->min || json_integer_value(value) > member->max)
        return shape_error(reader, reader->path, "must be a whole number from %lld to %lld", (long long)member->min,
                           (long long)member->max);
    *(int64_t *)at = json_integer_value(value);
    return true;
}

static bool read_word(struct shape_reader *reader, const json_t *value, const struct shape_member *member, char *at)
{
    char list[300] = "";
    for (int i = 0; member->words[i]; i++) {
        if (json_is_string(value) && strcmp(json_string_value(value), member->words[i]) == 0) {
            *(int *)at = i;
            return true;
        }
        size_t len = strlen(list);
        snprintf(list + len, sizeof(list) - len, "%s%s", i > 0 ? ", " : "", member->words[i]);
    }
    return shape_error(reader, reader->path, "must be one of: %s", list);
}

static bool read_list(struct shape_reader *reader, const json_t *value, const struct shape_member *member, char *at,
                      size_t *count)
{
    if (!json_is_array(value)) return here(reader, "must be a list");
    size_t size = member->shape->size;
    char *items = shape_keep(reader, xcalloc(json_array_size(value), size));
    for (size_t i = 0; i < json_array_size(value); i++) {
        size_t before = step_down(reader, "[%zu]", i);
        if (!shape_read(reader, json_array_get(value, i), member->shape, items + i * size)) return false;
        step_up(reader, before);
    }
    *(void **)at = items;
    *count = json_array_size(value);
    return true;
}

static bool read_map(struct shape_reader *reader, const json_t *value, const struct shape_member *member, char *at,
                     size_t *count)
{
    if (!json_is_object(value)) return here(reader, "must be an object");
    size_t size = member->shape->size;
    char *items = shape_keep(reader, xcalloc(json_object_size(value), size));
    size_t used = 0;
    const char *name;
    json_t *item;
    json_object_foreach((json_t *)value, name, item)
    {
        if (strcmp(name, "$comment") == 0) continue;
        size_t before = step_down(reader, ".%s", name);
        if (!json_is_object(item) && member->todo) return here(reader, member->todo);
        *(const char **)(items + used * size) = name;
        if (!shape_read(reader, item, member->shape, items + used * size)) return false;
        step_up(reader, before);
        used++;
    }
    *(void **)at = items;
    *count = used;
    return true;
}

static bool read_statuses(struct shape_reader *reader, const json_t *value, char *at)
{
    struct descriptor_status_list *list = (struct descriptor_status_list *)at;
    size_t count = json_array_size(value);
    if (count == 0 || count > DESCRIPTOR_STATUS_MAX)
        return shape_error(reader, reader->path, "must be a list of 1 to %d HTTP statuses", DESCRIPTOR_STATUS_MAX);
    for (size_t i = 0; i < count; i++) {
        json_int_t status = json_integer_value(json_array_get(value, i));
        if (status < 200 || status > 599)
            return shape_error(reader, reader->path, "must be HTTP statuses: numbers from 200 to 599");
        list->status[list->count++] = (int)status;
    }
    return true;
}

static bool read_names(struct shape_reader *reader, const json_t *value)
{
    if (json_array_size(value) == 0) return here(reader, "must be a list of names, not empty");
    for (size_t i = 0; i < json_array_size(value); i++)
        if (json_string_length(json_array_get(value, i)) == 0)
            return here(reader, "must be a list of names, not empty");
    return true;
}

static bool read_choices(struct shape_reader *reader, const json_t *value)
{
    if (json_array_size(value) == 0) return here(reader, "must be a list of lists of names, not empty");
    for (size_t i = 0; i < json_array_size(value); i++) {
        size_t before = step_down(reader, "[%zu]", i);
        if (!read_names(reader, json_array_get(value, i))) return false;
        step_up(reader, before);
    }
    return true;
}

static bool read_boolean(struct shape_reader *reader, const json_t *value, char *at)
{
    if (!json_is_boolean(value)) return here(reader, "must be true or false");
    *(bool *)at = json_is_true(value);
    return true;
}

static bool read_member(struct shape_reader *reader, const json_t *value, const struct shape_member *member, char *out)
{
    char *at = out + member->offset;
    size_t *count = (size_t *)(out + member->count_offset);
    switch (member->kind) {
    case SHAPE_TEXT:
    case SHAPE_PROGRAM: return read_text(reader, value, member, at);
    case SHAPE_BOOLEAN: return read_boolean(reader, value, at);
    case SHAPE_INTEGER: return read_integer(reader, value, member, at);
    case SHAPE_WORD: return read_word(reader, value, member, at);
    case SHAPE_OBJECT:
        if (member->given_offset > 0) *(bool *)(out + member->given_offset) = true;
        return shape_read(reader, value, member->shape, at);
    case SHAPE_LIST: return read_list(reader, value, member, at, count);
    case SHAPE_MAP: return read_map(reader, value, member, at, count);
    case SHAPE_STATUSES: return read_statuses(reader, value, at);
    case SHAPE_NAMES: *(const json_t **)at = value; return read_names(reader, value);
    case SHAPE_CHOICES: *(const json_t **)at = value; return read_choices(reader, value);
    case SHAPE_VALUE: *(const json_t **)at = value; return true;
    }
    return false;
}

/* Members that are not given keep their zeroes, or get their fallback, also in objects that are not given. */
static void set_fallbacks(const struct shape *shape, char *out)
{
    for (size_t i = 0; i < shape->count; i++) {
        const struct shape_member *member = &shape->members[i];
        char *at = out + member->offset;
        if (member->kind == SHAPE_INTEGER) *(int64_t *)at = member->fallback;
        if (member->kind == SHAPE_BOOLEAN) *(bool *)at = member->fallback != 0;
        if (member->kind == SHAPE_WORD) *(int *)at = (int)member->fallback;
        if (member->kind == SHAPE_OBJECT) set_fallbacks(member->shape, at);
    }
}

static bool check_names(struct shape_reader *reader, const json_t *object, const struct shape *shape)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        bool known = strcmp(name, "$comment") == 0;
        for (size_t i = 0; i < shape->count && !known; i++)
            known = strcmp(name, shape->members[i].name) == 0;
        if (!known) {
            step_down(reader, ".%s", name);
            return here(reader, "there is no such member; take it out or correct its name");
        }
    }
    return true;
}

bool shape_read(struct shape_reader *reader, const json_t *object, const struct shape *shape, void *out)
{
    if (!json_is_object(object)) return here(reader, "must be an object");
    if (!check_names(reader, object, shape)) return false;
    set_fallbacks(shape, out);
    for (size_t i = 0; i < shape->count; i++) {
        const struct shape_member *member = &shape->members[i];
        const json_t *value = json_object_get(object, member->name);
        size_t before = step_down(reader, ".%s", member->name);
        if (!value && member->required)
            return shape_error(reader, reader->path, "missing: %s", member->todo ? member->todo : "it must be given");
        if (value && !read_member(reader, value, member, out)) return false;
        step_up(reader, before);
    }
    return true;
}
