/* SPDX-License-Identifier: MIT */
#include "runtime/plain.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/die.h"
#include "runtime/utf8.h"

#define TEXT_MAX_BYTES ((size_t)8 << 20)

/* Characters that change how a terminal shows what stands around them (Unicode, Bidi_Control), and line ends. */
static bool is_hidden(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

void plain_escape(struct buf *out, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len;) {
        uint32_t c = 0;
        size_t step = utf8_decode(bytes + i, len - i, &c);
        if (step == 0)
            buf_append_format(out, "\\x%02x", (unsigned char)bytes[i]);
        else if (c == '\n' || c == '\t')
            buf_append_text(out, c == '\n' ? "\\n" : "\\t");
        else if (is_hidden(c))
            buf_append_format(out, c < 0x80 ? "\\x%02x" : "\\u{%04x}", (unsigned)c);
        else
            buf_append(out, bytes + i, step);
        i += step ? step : 1;
    }
}

__attribute__((format(printf, 2, 0))) static void print(FILE *file, const char *format, va_list arguments,
                                                        const char *end)
{
    char *text = NULL;
    struct buf escaped;
    int len = vasprintf(&text, format, arguments);
    if (len < 0) die("out of memory");
    buf_init(&escaped, TEXT_MAX_BYTES);
    plain_escape(&escaped, text, (size_t)len);
    fprintf(file, "%s%s", buf_text(&escaped), end);
    buf_fini(&escaped);
    free(text);
}

void plain_vline(FILE *file, const char *format, va_list arguments)
{
    print(file, format, arguments, "\n");
}

void plain_line(FILE *file, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print(file, format, arguments, "\n");
    va_end(arguments);
}

void plain_print(FILE *file, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print(file, format, arguments, "");
    va_end(arguments);
}

json_t *plain_json_bytes(const char *bytes, size_t len)
{
    struct buf clean;
    buf_init(&clean, len * 3 + 1);
    for (size_t i = 0; i < len;) {
        size_t step = utf8_decode(bytes + i, len - i, NULL);
        if (step > 0)
            buf_append(&clean, bytes + i, step);
        else
            buf_append_text(&clean, "\xef\xbf\xbd");
        i += step ? step : 1;
    }
    json_t *value = json_stringn(buf_text(&clean), clean.len);
    if (!value) die("out of memory");
    buf_fini(&clean);
    return value;
}

json_t *plain_json(const char *text)
{
    if (text) return plain_json_bytes(text, strlen(text));
    return json_null();
}

void plain_json_line(FILE *file, json_t *own_document)
{
    char *text = own_document ? json_dumps(own_document, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
    if (!text) die("out of memory");
    fprintf(file, "%s\n", text);
    fflush(file);
    free(text);
    json_decref(own_document);
}
