/* SPDX-License-Identifier: MIT */
#include "cli/out.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/die.h"
#include "runtime/plain.h"

static json_t *must(json_t *value)
{
    if (!value) die("out of memory");
    return value;
}

void out_line(FILE *file, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    plain_vline(file, format, arguments);
    va_end(arguments);
}

bool out_json(json_t *own_document)
{
    bool ok = json_dumpf(own_document, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_ENCODE_ANY) == 0;
    json_decref(own_document);
    return putchar('\n') != EOF && fflush(stdout) == 0 && ok;
}

json_t *out_bytes(const char *bytes, size_t len)
{
    return plain_json_bytes(bytes, len);
}

json_t *out_string(const char *text)
{
    return plain_json(text);
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
