/* SPDX-License-Identifier: MIT */
/* Bytes and strings of canonical texts, sixteen bytes at a time; see canonical.h and canonical_read.h. */
#include "keys/canonical.h"
#include "keys/canonical_read.h"

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define FIRST_BYTES  128
#define ESCAPE_BYTES 6

/* Bytes that are looked at together: a vector of GCC and Clang, which they make of whatever the processor has. */
typedef unsigned char block __attribute__((vector_size(16)));

static void reserve(struct canonical_text *text, size_t len)
{
    if (text->size - text->len > len) return;
    text->size = 2 * text->size + len + FIRST_BYTES;
    text->bytes = keys_realloc(text->bytes, text->size);
}

void canonical_put(struct canonical_text *text, const char *bytes, size_t len)
{
    reserve(text, len);
    memcpy(text->bytes + text->len, bytes, len);
    text->len += len;
    text->bytes[text->len] = '\0';
}

/* Returns how many bytes were written to out. */
static size_t write_escape(unsigned char c, char out[ESCAPE_BYTES])
{
    static const char hex[] = "0123456789abcdef";
    static const char from[] = "\b\t\n\f\r";
    static const char to[] = "btnfr";
    const char *letter = c < 0x20 ? memchr(from, c, sizeof(from) - 1) : NULL;

    out[0] = '\\';
    out[1] = c >= 0x20 ? (char)c : letter ? to[letter - from] : 'u';
    if (c >= 0x20 || letter) return 2;
    memcpy(out + 2, (char[]){'0', '0', hex[c >> 4], hex[c & 15]}, 4);
    return 6;
}

/* The next bytes of a text; behind its end zeros, which are not plain. */
static block load(const char *text, size_t len)
{
    block bytes, rest = {0};

    if (len >= sizeof(block)) {
        memcpy(&bytes, text, sizeof(block));
        return bytes;
    }
    memcpy(&rest, text, len);
    return rest;
}

/* How many bytes stand before the first control character, quote or backslash. */
static size_t plain_in(block bytes)
{
    const block marks = (block)((bytes < 0x20) | (bytes == '"') | (bytes == '\\'));
    uint64_t halves[2]; /* each byte 0 or 255 */

    memcpy(halves, &marks, sizeof(halves));
    if (halves[0]) return (size_t)__builtin_ctzll(le64toh(halves[0])) / 8;
    return 8 + (halves[1] ? (size_t)__builtin_ctzll(le64toh(halves[1])) / 8 : 8);
}

size_t canonical_plain_bytes(const char *text, size_t len)
{
    size_t at = 0;

    for (size_t plain = sizeof(block); at < len && plain == sizeof(block); at += plain)
        plain = plain_in(load(text + at, len - at));
    return at;
}

void canonical_put_string(struct canonical_text *writer, const char *text, size_t len)
{
    canonical_put(writer, "\"", 1);
    struct canonical_text out = *writer;
    reserve(&out, len + sizeof(block));
    for (size_t at = 0; at < len;) {
        const block bytes = load(text + at, len - at);
        const size_t plain = plain_in(bytes);
        memcpy(out.bytes + out.len, &bytes, sizeof(bytes));
        out.len += plain;
        at += plain;
        if (plain == sizeof(bytes) || at == len) continue;
        reserve(&out, len - at + ESCAPE_BYTES + sizeof(block));
        out.len += write_escape((unsigned char)text[at++], out.bytes + out.len);
    }
    *writer = out;
    canonical_put(writer, "\"", 1);
}
