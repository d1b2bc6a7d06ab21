/* SPDX-License-Identifier: MIT */
#include "runtime/errbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "runtime/utf8.h"

/* The text is one line on somebody's terminal: what file and field names bring along must not move the cursor. */
static void flatten_controls(char *text)
{
    for (char *c = text; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7F) {
            *c = *c == '\n' ? ' ' : '?';
        }
    }
}

static void store(struct errbuf *err, char *text, size_t room, size_t wanted)
{
    if (wanted >= room) {
        static const char mark[] = "...";
        size_t end = utf8_cut(text, room - 1, room - sizeof mark);
        memcpy(text + end, mark, sizeof mark);
    }
    flatten_controls(text);
    memcpy(err->text, text, strlen(text) + 1);
}

bool errbuf_set(struct errbuf *err, const char *format, ...)
{
    char text[sizeof err->text]; /* the arguments may point into err */
    va_list arguments;

    if (!err) {
        return false;
    }
    va_start(arguments, format);
    int wanted = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    store(err, text, sizeof text, wanted < 0 ? 0 : (size_t)wanted);
    return false;
}

bool errbuf_prefix(struct errbuf *err, const char *format, ...)
{
    char prefix[sizeof err->text];
    va_list arguments;

    if (!err) {
        return false;
    }
    va_start(arguments, format);
    int length = vsnprintf(prefix, sizeof prefix, format, arguments);
    va_end(arguments);
    return length < 0 ? false : errbuf_set(err, "%s: %s", prefix, err->text);
}
