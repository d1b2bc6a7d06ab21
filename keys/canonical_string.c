/* SPDX-License-Identifier: MIT */
/* Bytes and strings of canonical texts, sixteen bytes at a time; see canonical.h and canonical_read.h. */
#include "keys/canonical.h"
#include "keys/canonical_read.h"

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define FIRST_BYTES  128
#define ESCAPE_BYTES 6

#define STRIDE_BYTES (4 * sizeof(block))

/* Bytes that are looked at together: a vector of GCC and Clang, which they make of whatever the processor has. */
typedef unsigned char block __attribute__((vector_size(16)));
typedef uint64_t halves __attribute__((vector_size(16))); /* of a block */

void canonical_grow(struct canonical_text *text, size_t len)
{
    text->size = 2 * text->size + len + FIRST_BYTES;
    text->bytes = keys_realloc(text->bytes, text->size);
}

static void reserve(struct canonical_text *text, size_t len)
{
    if (text->size - text->len <= len) canonical_grow(text, len);
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

static block whole_block(const char *text)
{
    block bytes;

    memcpy(&bytes, text, sizeof(bytes));
    return bytes;
}

/* The next bytes of a text; behind its end zeros, which are not plain. */
static block load(const char *text, size_t len)
{
    block bytes = {0};

    if (len >= sizeof(bytes)) return whole_block(text);
    memcpy(&bytes, text, len);
    return bytes;
}

/* Of a control character, quote or backslash a byte of ones, of every other byte zeros. */
static block marks_of(block bytes)
{
    return (block)((bytes < 0x20) | (bytes == '"') | (bytes == '\\'));
}

/* How many bytes stand before the first mark. */
static size_t plain_in(block bytes)
{
    const halves marks = (halves)marks_of(bytes);

    if (marks[0]) return (size_t)__builtin_ctzll(le64toh(marks[0])) / 8;
    return 8 + (marks[1] ? (size_t)__builtin_ctzll(le64toh(marks[1])) / 8 : 8);
}

/* True if a whole stride is there and plain. Most of a long text is, and four blocks together cost half. */
static inline bool is_plain_stride(const char *text, size_t len)
{
    if (len < STRIDE_BYTES) return false;
    const halves marks =
        (halves)(marks_of(whole_block(text)) | marks_of(whole_block(text + sizeof(block))) |
                 marks_of(whole_block(text + 2 * sizeof(block))) | marks_of(whole_block(text + 3 * sizeof(block))));
    return (marks[0] | marks[1]) == 0;
}

size_t canonical_plain_bytes(const char *text, size_t len)
{
    size_t at = 0;

    while (is_plain_stride(text + at, len - at))
        at += STRIDE_BYTES;
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
        if (plain == sizeof(bytes)) {
            for (; is_plain_stride(text + at, len - at); at += STRIDE_BYTES, out.len += STRIDE_BYTES)
                memcpy(out.bytes + out.len, text + at, STRIDE_BYTES);
            continue;
        }
        if (at == len) continue;
        reserve(&out, len - at + ESCAPE_BYTES + sizeof(block));
        out.len += write_escape((unsigned char)text[at++], out.bytes + out.len);
    }
    *writer = out;
    canonical_put(writer, "\"", 1);
}
