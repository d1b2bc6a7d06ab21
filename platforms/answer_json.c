/* SPDX-License-Identifier: MIT */
/*
 * One pass over the text before jansson reads it: numbers that would not come through are put in quotes, and the depth
 * is counted. The pass need not know whether the text is JSON, only what is a string and what is a number in one. A
 * text without such numbers, which is most, is read where it is.
 */
#include "platforms/answer_json.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "keys/canonical.h"
#include "platforms/answer.h"
#include "runtime/buf.h"

#define EXACT_INTEGER_DIGITS 16
#define EXACT_INTEGER_MAX    "9007199254740992" /* 2^53 */

/* Length of the run of digits at text. */
static size_t digits(const char *text, size_t len)
{
    size_t count = 0;
    while (count < len && isdigit((unsigned char)text[count]))
        count++;
    return count;
}

/* Length of the JSON number at text (RFC 8259, section 6), 0 if there is none. *whole: it is an integer. */
static size_t number_length(const char *text, size_t len, bool *whole)
{
    size_t at = len > 0 && text[0] == '-' ? 1 : 0;
    size_t integer = digits(text + at, len - at);
    bool zero_first = integer > 1 && text[at] == '0';
    at += integer;
    size_t before = at;
    if (at < len && text[at] == '.') {
        size_t fraction = digits(text + at + 1, len - at - 1);
        if (fraction == 0) return 0;
        at += 1 + fraction;
    }
    if (at < len && strchr("eE", text[at])) {
        size_t sign = at + 1 < len && strchr("+-", text[at + 1]) ? 1 : 0;
        size_t exponent = digits(text + at + 1 + sign, len - at - 1 - sign);
        if (exponent == 0) return 0;
        at += 1 + sign + exponent;
    }
    *whole = at == before;
    return integer == 0 || zero_first ? 0 : at;
}

/* Integers above 2^53 never stay numbers, not even those that a double holds: an id must not change its type with its
 * last digit. Other numbers stay if the double next to them is written as they are. */
static bool stays_number(const char *text, size_t len, bool whole)
{
    if (whole) {
        size_t sign = text[0] == '-' ? 1 : 0;
        size_t count = len - sign;
        if (count != EXACT_INTEGER_DIGITS) return count < EXACT_INTEGER_DIGITS;
        return memcmp(text + sign, EXACT_INTEGER_MAX, count) <= 0;
    }
    char ignored[KEYS_ERR_BYTES];
    return canonical_check_numbers(text, len, ignored);
}

/* Length of the string at text, quotes included; the rest of the text if it does not end. */
static size_t string_length(const char *text, size_t len)
{
    size_t at = 1;
    while (at < len && text[at] != '"')
        at += text[at] == '\\' ? 2 : 1;
    return at < len ? at + 1 : len;
}

/* Copy the text with such numbers in quotes; nothing is copied where there is none. False if it is nested too deep. */
static bool quote_numbers(const char *text, size_t len, struct buf *out)
{
    size_t copied = 0;
    int depth = 0;
    for (size_t at = 0; at < len;) {
        char c = text[at];
        size_t step = 1;
        bool quoted = false;
        if (c == '"') {
            step = string_length(text + at, len - at);
        } else if (c == '-' || isdigit((unsigned char)c)) {
            bool whole = false;
            size_t number = number_length(text + at, len - at, &whole);
            quoted = number > 0 && !stays_number(text + at, number, whole);
            step = number > 0 ? number : 1;
        } else if (c == '[' || c == '{') {
            if (++depth > ANSWER_DEPTH_MAX) return false;
        } else if (c == ']' || c == '}') {
            depth--;
        }
        if (quoted) {
            buf_append(out, text + copied, at - copied);
            buf_append(out, "\"", 1);
            buf_append(out, text + at, step);
            buf_append(out, "\"", 1);
            copied = at + step;
        }
        at += step;
    }
    if (copied > 0) buf_append(out, text + copied, len - copied);
    return true;
}

json_t *answer_json_parse(const char *text, size_t len, char *reason, size_t reason_size)
{
    if (len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        len -= 3;
    }
    if (strspn(text, " \t\r\n") >= len) {
        snprintf(reason, reason_size, "the body is empty");
        return NULL;
    }
    struct buf quoted;
    buf_init(&quoted, 3 * len);
    json_t *json = NULL;
    if (!quote_numbers(text, len, &quoted)) {
        snprintf(reason, reason_size, "the body is nested deeper than %d levels", ANSWER_DEPTH_MAX);
    } else {
        json_error_t error;
        const bool copied = quoted.len > 0;
        json = json_loadb(copied ? buf_text(&quoted) : text, copied ? quoted.len : len,
                          JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
        if (!json) snprintf(reason, reason_size, "the body is not JSON (line %d, column %d)", error.line, error.column);
    }
    buf_fini(&quoted);
    return json;
}
