/* SPDX-License-Identifier: MIT */
#include "runtime/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/die.h"

#define FIRST_CAPACITY 256

void buf_init(struct buf *buf, size_t max_bytes)
{
    *buf = (struct buf){.max_bytes = max_bytes < SIZE_MAX / 4 ? max_bytes : SIZE_MAX / 4};
}

void buf_fini(struct buf *buf)
{
    free(buf->data);
    buf_init(buf, buf->max_bytes);
}

void buf_clear(struct buf *buf)
{
    buf->len = 0;
    buf->cut = false;
    if (buf->data) {
        buf->data[0] = '\0';
    }
}

/* Room for `more` bytes and the NUL; more is at most what the maximum leaves. */
static void reserve(struct buf *buf, size_t more)
{
    size_t needed = buf->len + more + 1;
    if (needed <= buf->capacity) {
        return;
    }
    size_t capacity = buf->capacity ? buf->capacity : FIRST_CAPACITY;
    while (capacity < needed) {
        capacity *= 2;
    }
    if (capacity > buf->max_bytes + 1) {
        capacity = buf->max_bytes + 1;
    }
    buf->data = xrealloc(buf->data, capacity);
    buf->capacity = capacity;
}

bool buf_append(struct buf *buf, const void *bytes, size_t len)
{
    size_t room = buf->max_bytes - buf->len; /* 0 once something was cut */
    if (len > room) {
        buf->cut = true;
        len = room;
    }
    if (len > 0) {
        reserve(buf, len);
        memcpy(buf->data + buf->len, bytes, len);
        buf->len += len;
        buf->data[buf->len] = '\0';
    }
    return !buf->cut;
}

bool buf_append_text(struct buf *buf, const char *text)
{
    return buf_append(buf, text, strlen(text));
}

bool buf_append_format(struct buf *buf, const char *format, ...)
{
    char small[256];
    char *large = NULL;
    va_list arguments;
    va_list again;

    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(small, sizeof small, format, arguments);
    if (length >= (int)sizeof small && vasprintf(&large, format, again) < 0) {
        die("out of memory (formatting text)");
    }
    va_end(again);
    va_end(arguments);
    bool kept = length >= 0 && buf_append(buf, large ? large : small, (size_t)length);
    free(large);
    return kept;
}

const char *buf_text(const struct buf *buf)
{
    return buf->data ? buf->data : "";
}

char *buf_take(struct buf *buf, size_t *len)
{
    char *data = buf->data ? buf->data : xstrdup("");
    if (len) {
        *len = buf->len;
    }
    buf_init(buf, buf->max_bytes);
    return data;
}
