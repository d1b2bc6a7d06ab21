/* SPDX-License-Identifier: MIT */
#include "runtime/utf8.h"

#include <stdbool.h>

static bool continues(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

size_t utf8_decode(const char *text, size_t len, uint32_t *code_point)
{
    const unsigned char *byte = (const unsigned char *)text;
    uint32_t value = 0;
    uint32_t least = 0; /* smaller values have a shorter form */
    size_t size = 0;

    if (len == 0) {
        return 0;
    }
    if (byte[0] < 0x80) {
        value = byte[0], size = 1;
    } else if ((byte[0] & 0xE0) == 0xC0) {
        value = byte[0] & 0x1F, size = 2, least = 0x80;
    } else if ((byte[0] & 0xF0) == 0xE0) {
        value = byte[0] & 0x0F, size = 3, least = 0x800;
    } else if ((byte[0] & 0xF8) == 0xF0) {
        value = byte[0] & 0x07, size = 4, least = 0x10000;
    }
    if (size == 0 || size > len) {
        return 0;
    }
    for (size_t i = 1; i < size; i++) {
        if (!continues(byte[i])) {
            return 0;
        }
        value = value << 6 | (byte[i] & 0x3F);
    }
    if (value < least || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
        return 0;
    }
    if (code_point) {
        *code_point = value;
    }
    return size;
}

size_t utf8_cut(const char *text, size_t len, size_t limit)
{
    if (len <= limit) {
        return len;
    }
    size_t end = limit;
    for (int back = 0; back < 3 && end > 0 && continues((unsigned char)text[end]); back++) {
        end--;
    }
    return continues((unsigned char)text[end]) ? limit : end; /* not UTF-8 at all: any place is as good */
}
