/* SPDX-License-Identifier: MIT */
#include "cli/out.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/die.h"
#include "runtime/utf8.h"

#define LINE_MAX_BYTES ((size_t)8 << 20)

static json_t *must(json_t *value)
{
    if (!value) die("out of memory");
    return value;
}

/* Characters that change how a terminal shows what stands around them (Unicode, Bidi_Control), and line ends. */
static bool is_hidden(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

void out_escape(struct buf *out, const char *bytes, size_t len)
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

void out_line(FILE *file, const char *format, ...)
{
    char *text = NULL;
    struct buf line;
    va_list arguments;
    va_start(arguments, format);
    int len = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (len < 0) die("out of memory");
    buf_init(&line, LINE_MAX_BYTES);
    out_escape(&line, text, (size_t)len);
    fprintf(file, "%s\n", buf_text(&line));
    buf_fini(&line);
    free(text);
}

bool out_json(json_t *own_document)
{
    bool ok = json_dumpf(own_document, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_ENCODE_ANY) == 0;
    json_decref(own_document);
    return putchar('\n') != EOF && fflush(stdout) == 0 && ok;
}

json_t *out_bytes(const char *bytes, size_t len)
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
    json_t *value = must(json_stringn(buf_text(&clean), clean.len));
    buf_fini(&clean);
    return value;
}

json_t *out_string(const char *text)
{
    return text ? out_bytes(text, strlen(text)) : json_null();
}

json_t *out_time(int64_t ms)
{
    return ms ? must(json_integer(ms)) : json_null();
}

void out_set(json_t *object, const char *name, json_t *own_value)
{
    if (json_object_set_new(object, name, must(own_value)) != 0) die("out of memory");
}

void out_add(json_t *array, json_t *own_value)
{
    if (json_array_append_new(array, must(own_value)) != 0) die("out of memory");
}

void out_add_format(json_t *array, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int len = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (len < 0) die("out of memory");
    out_add(array, out_bytes(text, (size_t)len));
    free(text);
}
