/* SPDX-License-Identifier: MIT */
#include "runtime/die.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runtime/log.h"

_Noreturn void die(const char *format, ...)
{
    char line[512] = "landfall: ";
    size_t start = strlen(line);
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(line + start, sizeof line - start - 1, format, arguments); /* one byte is kept for the newline */
    va_end(arguments);
    size_t len = strlen(line);
    line[len++] = '\n';
    log_flush();
    ssize_t written = write(STDERR_FILENO, line, len);
    (void)written; /* there is nobody left to tell */
    abort();
}

static void *must(void *pointer, size_t size)
{
    if (!pointer) {
        die("out of memory (asked for %zu bytes)", size);
    }
    return pointer;
}

void *xmalloc(size_t size)
{
    return must(malloc(size ? size : 1), size);
}

void *xcalloc(size_t count, size_t size)
{
    return must(count && size ? calloc(count, size) : calloc(1, 1), size);
}

void *xrealloc(void *pointer, size_t size)
{
    return must(realloc(pointer, size ? size : 1), size);
}

void *xrealloc_array(void *pointer, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size) {
        die("out of memory (asked for %zu times %zu bytes)", count, size);
    }
    return xrealloc(pointer, count * size);
}

char *xstrdup(const char *text)
{
    return xstrndup(text, strlen(text));
}

char *xstrndup(const char *text, size_t length)
{
    char *copy = xmalloc(length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *xformat(const char *format, ...)
{
    char *text = NULL;
    va_list arguments;

    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0) {
        die("out of memory (formatting text)");
    }
    return text;
}
