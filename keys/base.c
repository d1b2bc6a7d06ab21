/* SPDX-License-Identifier: MIT */
/* Error texts, quoting, and the ends of the process; see base.h. */
#include "keys/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool keys_fail(char err[KEYS_ERR_BYTES], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(err, KEYS_ERR_BYTES, format, args);
    va_end(args);
    return false;
}

const char *keys_quote(const void *bytes, size_t len, char out[KEYS_QUOTE_BYTES])
{
    static const char hex[] = "0123456789abcdef";
    const unsigned char *in = bytes;
    const size_t room = KEYS_QUOTE_BYTES - sizeof("...\"");
    size_t n = 0;
    size_t i = 0;

    out[n++] = '"';
    for (; i < len; i++) {
        bool printable = in[i] >= 0x20 && in[i] < 0x7f, escaped = in[i] == '"' || in[i] == '\\';
        if (n + (!printable ? 4 : escaped ? 2 : 1) > room) break;
        if (printable) {
            if (escaped) out[n++] = '\\';
            out[n++] = (char)in[i];
        } else {
            out[n++] = '\\';
            out[n++] = 'x';
            out[n++] = hex[in[i] >> 4];
            out[n++] = hex[in[i] & 15];
        }
    }
    memcpy(out + n, i < len ? "...\"" : "\"", i < len ? sizeof("...\"") : sizeof("\""));
    return out;
}

void *keys_alloc(size_t size)
{
    return keys_must(malloc(size ? size : 1));
}

void *keys_realloc(void *own_old, size_t size)
{
    return keys_must(realloc(own_old, size ? size : 1));
}

void *keys_must(void *pointer)
{
    if (!pointer) keys_out_of_memory();
    return pointer;
}

void keys_out_of_memory(void)
{
    fputs("landfall: out of memory\n", stderr);
    abort();
}

void keys_broken(const char *file, int line, const char *condition)
{
    fprintf(stderr, "landfall: %s:%d: broken promise: %s\n", file, line, condition);
    abort();
}
