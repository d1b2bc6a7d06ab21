/* SPDX-License-Identifier: MIT */
/*
 * The strict reader; see canonical.h. jansson does the grammar, UTF-8, duplicates and U+0000. What it cannot tell
 * afterwards, because a literal is rounded when it is read, a scan of the text finds before: inexact numbers, with
 * their path. The scan follows every text that the grammar allows exactly, and any other text to its end harmlessly.
 */
#include "keys/canonical.h"
#include "keys/canonical_number.h"
#include "keys/canonical_read.h"

#include <stdio.h>
#include <string.h>

#define PATH_BYTES 128

/* How much of the text an error shows before the place where it was noticed. */
#define NEAR_BYTES 24

/* One open array or object. */
struct place {
    bool is_array;
    size_t index;
    const char *name; /* of the member, as written in the text */
    size_t name_len;
};

struct scan {
    const char *text;
    size_t len;
    size_t at;
    const char *string; /* the last string, without its quotes */
    size_t string_len;
    struct place places[CANONICAL_DEPTH_MAX];
    size_t depth;
};

static bool is_plain_name(const struct place *place)
{
    for (size_t i = 0; i < place->name_len; i++) {
        char c = place->name[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && c != '_') return false;
    }
    return place->name_len > 0 && place->name_len < KEYS_QUOTE_BYTES;
}

/* $.attachments[0]["a b"]; cut with "..." where it gets too long. */
static const char *write_path(const struct scan *scan, char out[PATH_BYTES])
{
    size_t n = (size_t)snprintf(out, PATH_BYTES, "$");

    for (size_t i = 0; i < scan->depth; i++) {
        const struct place *place = &scan->places[i];
        char step[KEYS_QUOTE_BYTES + 3];
        char quoted[KEYS_QUOTE_BYTES];

        if (place->is_array)
            snprintf(step, sizeof(step), "[%zu]", place->index);
        else if (!place->name)
            break;
        else if (is_plain_name(place))
            snprintf(step, sizeof(step), ".%.*s", (int)place->name_len, place->name);
        else
            snprintf(step, sizeof(step), "[%s]", keys_quote(place->name, place->name_len, quoted));
        if (n + strlen(step) + sizeof("...") > PATH_BYTES) {
            memcpy(out + n, "...", sizeof("..."));
            break;
        }
        n += (size_t)snprintf(out + n, PATH_BYTES - n, "%s", step);
    }
    return out;
}

/* scan->at is behind the opening quote, and is left on the closing one or at the end. */
static void skip_string(struct scan *scan)
{
    scan->string = scan->text + scan->at;
    for (; scan->at < scan->len && scan->text[scan->at] != '"'; scan->at++)
        if (scan->text[scan->at] == '\\') scan->at++;
    if (scan->at > scan->len) scan->at = scan->len;
    scan->string_len = (size_t)(scan->text + scan->at - scan->string);
}

static bool is_number_byte(char c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/* scan->at is on the first byte of the literal, and is left on the last. */
static bool check_number(struct scan *scan, char err[KEYS_ERR_BYTES])
{
    const char *literal = scan->text + scan->at;
    size_t len = 0;
    char path[PATH_BYTES];
    char quoted[KEYS_QUOTE_BYTES];

    while (scan->at + len < scan->len && is_number_byte(literal[len]))
        len++;
    scan->at += len - 1;
    if (canonical_number_exact(literal, len)) return true;
    return keys_fail(err, "%s: %.24s is a number that a double does not hold exactly; send it as a string",
                     write_path(scan, path), keys_quote(literal, len, quoted));
}

static bool open_place(struct scan *scan, bool is_array, char err[KEYS_ERR_BYTES])
{
    char path[PATH_BYTES];

    if (scan->depth == CANONICAL_DEPTH_MAX)
        return keys_fail(err, "%s: more than %d levels of arrays and objects; make it flatter", write_path(scan, path),
                         CANONICAL_DEPTH_MAX);
    scan->places[scan->depth++] = (struct place){.is_array = is_array};
    return true;
}

static bool scan_byte(struct scan *scan, char err[KEYS_ERR_BYTES])
{
    struct place *inner = scan->depth ? &scan->places[scan->depth - 1] : NULL;
    char c = scan->text[scan->at];

    switch (c) {
    case '{':
    case '[': return open_place(scan, c == '[', err);
    case '}':
    case ']':
        if (inner) scan->depth--;
        return true;
    case ',':
        if (inner) inner->index++;
        return true;
    case ':':
        if (inner) inner->name = scan->string;
        if (inner) inner->name_len = scan->string_len;
        return true;
    case '"':
        scan->at++;
        skip_string(scan);
        return true;
    default: return c == '-' || (c >= '0' && c <= '9') ? check_number(scan, err) : true;
    }
}

bool canonical_check_numbers(const char *text, size_t len, char err[KEYS_ERR_BYTES])
{
    struct scan scan = {.text = text, .len = len};

    for (; scan.at < scan.len; scan.at++)
        if (!scan_byte(&scan, err)) return false;
    return true;
}

/* What jansson's codes mean to whoever wrote the text; all others are errors of the grammar. */
static const struct {
    enum json_error_code code;
    const char *words;
} reasons[] = {
    {json_error_duplicate_key, "two members of one object have the same name, keep one of them"},
    {json_error_null_character, "a string holds the character U+0000, remove it"},
    {json_error_null_byte_in_key, "a name holds the character U+0000, remove it"},
    {json_error_invalid_utf8, "the text is not UTF-8"},
    {json_error_premature_end_of_input, "the JSON ends too early"},
    {json_error_end_of_input_expected, "something follows the end of the JSON value"},
};

static bool explain(const json_error_t *error, const char *text, size_t len, char err[KEYS_ERR_BYTES])
{
    char quoted[KEYS_QUOTE_BYTES];
    const char *words = "this is not valid JSON";
    size_t at = error->position > 0 && (size_t)error->position < len ? (size_t)error->position : len;
    size_t from = at > NEAR_BYTES ? at - NEAR_BYTES : 0;

    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (reasons[i].code == json_error_code(error)) words = reasons[i].words;
    return keys_fail(err, "line %d, column %d, at %s: %s", error->line, error->column,
                     keys_quote(text + from, at - from, quoted), words);
}

bool canonical_parse(const char *text, size_t len, json_t **out, char err[KEYS_ERR_BYTES])
{
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY;
    json_error_t error;

    if (len > CANONICAL_INPUT_MAX_BYTES)
        return keys_fail(err, "%zu bytes of JSON are more than the %zu that are read; make it shorter", len,
                         CANONICAL_INPUT_MAX_BYTES);
    *out = canonical_read(text, len);
    if (*out) return true;
    if (!canonical_check_numbers(text, len, err)) return false;
    *out = json_loadb(text, len, flags, &error);
    /* An exact number may still be too large for jansson's integers, e.g. 1 with twenty zeros. */
    if (!*out && json_error_code(&error) == json_error_numeric_overflow)
        *out = json_loadb(text, len, flags | JSON_DECODE_INT_AS_REAL, &error);
    if (*out) return true;
    if (json_error_code(&error) == json_error_out_of_memory) keys_out_of_memory();
    return explain(&error, text, len, err);
}
