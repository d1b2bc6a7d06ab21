/* SPDX-License-Identifier: MIT */
/* A parser by recursive descent, as deep as CANONICAL_DEPTH_MAX; see canonical_read.h. */
#include "keys/canonical_read.h"
#include "keys/canonical.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#define INTEGER_DIGITS_MAX 15 /* a double holds all of them */

struct text {
    const char *at, *end;
    int depth;
    char *unescaped; /* of the string that was read last; NULL: it had no escape */
};

static void skip_space(struct text *text)
{
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\n' || *text->at == '\t' || *text->at == '\r'))
        text->at++;
}

static bool take(struct text *text, char c)
{
    skip_space(text);
    if (text->at == text->end || *text->at != c) return false;
    text->at++;
    return true;
}

/* ---- strings ---- */

/* Bytes of whole characters at the beginning; 0 where there stands none. */
static size_t characters(const char *bytes, size_t len)
{
    const uint64_t high_bits = UINT64_MAX / 255 * 0x80;
    uint64_t words[4];
    utf8proc_int32_t code;
    if (len >= sizeof words) {
        memcpy(words, bytes, sizeof words);
        if (((words[0] | words[1] | words[2] | words[3]) & high_bits) == 0) return sizeof words;
    }
    if (len >= sizeof words[0]) {
        memcpy(words, bytes, sizeof words[0]);
        if ((words[0] & high_bits) == 0) return sizeof words[0];
    }
    if ((unsigned char)*bytes < 0x80) return 1;
    utf8proc_ssize_t step = utf8proc_iterate((const utf8proc_uint8_t *)bytes, (utf8proc_ssize_t)len, &code);
    return step < 1 ? 0 : (size_t)step;
}

bool canonical_is_utf8(const char *bytes, size_t len)
{
    for (size_t at = 0, step; at < len; at += step)
        if ((step = characters(bytes + at, len - at)) == 0) return false;
    return true;
}

/* Four hexadecimal digits; -1 where they are none. */
static int32_t read_unit(const char *at, const char *end)
{
    int32_t unit = 0;
    if (end - at < 4) return -1;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

/* \uXXXX, or two of them for one character beyond U+FFFF; at is behind the first u. Returns the bytes written to out,
 * 0 for U+0000 and for half a pair. */
static size_t read_unicode(struct text *text, char *out)
{
    int32_t code = read_unit(text->at, text->end);
    if (code <= 0 || (code >= 0xdc00 && code <= 0xdfff)) return 0;
    text->at += 4;
    if (code >= 0xd800 && code <= 0xdbff) {
        bool pair = text->end - text->at >= 6 && text->at[0] == '\\' && text->at[1] == 'u';
        int32_t low = pair ? read_unit(text->at + 2, text->end) : -1;
        if (low < 0xdc00 || low > 0xdfff) return 0;
        text->at += 6;
        code = 0x10000 + (code - 0xd800) * 0x400 + (low - 0xdc00);
    }
    return (size_t)utf8proc_encode_char(code, (utf8proc_uint8_t *)out);
}

/* at is behind the backslash. Returns the bytes written to out, at most 4 and no more than were read; 0: no escape. */
static size_t read_escape(struct text *text, char *out)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    if (text->at == text->end) return 0;
    const char *letter = memchr(letters, *text->at, sizeof(letters) - 1);
    if (letter) {
        *out = meanings[letter - letters];
        text->at++;
        return 1;
    }
    if (*text->at++ != 'u') return 0;
    return read_unicode(text, out);
}

/* Behind the last byte before the next quote, backslash or control character. */
static const char *end_of_plain(const struct text *text)
{
    return text->at + canonical_plain_bytes(text->at, (size_t)(text->end - text->at));
}

static const char *end_of_string(const struct text *text)
{
    const char *at = text->at;
    while (at < text->end && *at != '"')
        at += *at == '\\' && at + 1 < text->end ? 2 : 1;
    return at;
}

/* The rest of a string whose first escape is at text->at; its bytes from `start` on. */
static bool read_escaped(struct text *text, const char *start, size_t *len)
{
    /* What is read is never shorter than what is written for it. */
    size_t written = (size_t)(text->at - start);
    char *out = text->unescaped = keys_alloc((size_t)(end_of_string(text) - start));
    memcpy(out, start, written);
    while (text->at < text->end && *text->at == '\\') {
        text->at++;
        size_t escape = read_escape(text, out + written);
        if (escape == 0) return false;
        written += escape;
        const char *plain = text->at;
        text->at = end_of_plain(text);
        memcpy(out + written, plain, (size_t)(text->at - plain));
        written += (size_t)(text->at - plain);
    }
    *len = written;
    return true;
}

/* at is behind the opening quote. The bytes stand in the text or in text->unescaped, which string_done() frees. */
static const char *read_string(struct text *text, size_t *len)
{
    const char *start = text->at;
    text->at = end_of_plain(text);
    *len = (size_t)(text->at - start);
    if (text->at < text->end && *text->at == '\\' && !read_escaped(text, start, len)) return NULL;
    if (text->at == text->end || *text->at != '"') return NULL;
    text->at++;
    if (text->unescaped) start = text->unescaped;
    return canonical_is_utf8(start, *len) ? start : NULL;
}

static void string_done(struct text *text)
{
    free(text->unescaped);
    text->unescaped = NULL;
}

static json_t *read_string_value(struct text *text)
{
    size_t len;
    text->at++;
    const char *bytes = read_string(text, &len);
    json_t *value = bytes ? keys_must(json_stringn_nocheck(bytes, len)) : NULL;
    string_done(text);
    return value;
}

/* ---- other values ---- */

static json_t *read_integer(struct text *text)
{
    bool negative = *text->at == '-';
    int64_t value = 0;
    if (negative) text->at++;
    const char *start = text->at;
    while (text->at < text->end && *text->at >= '0' && *text->at <= '9' && text->at - start < INTEGER_DIGITS_MAX)
        value = value * 10 + (*text->at++ - '0');
    size_t digits = (size_t)(text->at - start);
    bool ends = text->at == text->end || !memchr("0123456789.eE", *text->at, 13);
    if (digits == 0 || !ends || (*start == '0' && (digits > 1 || negative))) return NULL;
    return keys_must(json_integer(negative ? -value : value));
}

static json_t *read_word(struct text *text)
{
    static const struct {
        const char *word;
        size_t len;
    } words[] = {{"true", 4}, {"false", 5}, {"null", 4}};
    for (size_t i = 0; i < 3; i++) {
        if ((size_t)(text->end - text->at) < words[i].len || memcmp(text->at, words[i].word, words[i].len) != 0)
            continue;
        text->at += words[i].len;
        return i == 0 ? json_true() : i == 1 ? json_false() : json_null();
    }
    return NULL;
}

static json_t *read_value(struct text *text);

static bool read_member(struct text *text, json_t *object)
{
    size_t len, before = json_object_size(object);
    const char *name = take(text, '"') ? read_string(text, &len) : NULL;
    char *kept = text->unescaped; /* the value may be a string with escapes, too */
    text->unescaped = NULL;
    json_t *value = name && take(text, ':') ? read_value(text) : NULL;
    if (value && json_object_setn_new_nocheck(object, name, len, value) != 0) keys_out_of_memory();
    free(kept);
    return value && json_object_size(object) > before; /* else the name was there: which one counts? */
}

static json_t *read_object(struct text *text)
{
    json_t *object = keys_must(json_object());
    if (take(text, '}')) return object;
    do {
        if (!read_member(text, object)) {
            json_decref(object);
            return NULL;
        }
    } while (take(text, ','));
    if (take(text, '}')) return object;
    json_decref(object);
    return NULL;
}

static json_t *read_array(struct text *text)
{
    json_t *array = keys_must(json_array());
    if (take(text, ']')) return array;
    do {
        json_t *value = read_value(text);
        if (!value) {
            json_decref(array);
            return NULL;
        }
        if (json_array_append_new(array, value) != 0) keys_out_of_memory();
    } while (take(text, ','));
    if (take(text, ']')) return array;
    json_decref(array);
    return NULL;
}

static json_t *read_container(struct text *text)
{
    if (text->depth == CANONICAL_DEPTH_MAX) return NULL;
    text->depth++;
    json_t *value = *text->at++ == '{' ? read_object(text) : read_array(text);
    text->depth--;
    return value;
}

static json_t *read_value(struct text *text)
{
    skip_space(text);
    if (text->at == text->end) return NULL;
    char c = *text->at;
    if (c == '"') return read_string_value(text);
    if (c == '{' || c == '[') return read_container(text);
    return c == '-' || (c >= '0' && c <= '9') ? read_integer(text) : read_word(text);
}

json_t *canonical_read(const char *bytes, size_t len)
{
    struct text text = {.at = bytes, .end = bytes + len};
    json_t *value = read_value(&text);
    skip_space(&text);
    if (value && text.at == text.end) return value;
    json_decref(value);
    return NULL;
}
