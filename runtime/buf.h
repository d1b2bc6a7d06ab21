/* SPDX-License-Identifier: MIT */
/*
 * buf: bytes that grow up to a stated maximum.
 *
 * For everything whose size somebody else decides: bodies, files, lists. At the maximum the buffer keeps what fits,
 * sets `cut` and says false, from then on for every append: a short append never follows a long one that was cut. The
 * bytes are always followed by a NUL that len does not count. The struct is the caller's; buf_fini frees the bytes,
 * buf_take gives them away (freed with free()).
 */
#ifndef RUNTIME_BUF_H
#define RUNTIME_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct buf {
    char *data;       /* NULL until the first append; use buf_text() to read */
    size_t len;       /* bytes in use */
    size_t capacity;  /* bytes allocated, the NUL's included */
    size_t max_bytes; /* len never exceeds it */
    bool cut;         /* something did not fit */
};

void buf_init(struct buf *buf, size_t max_bytes);
void buf_fini(struct buf *buf);

/* Empty it and keep the memory for the next use. */
void buf_clear(struct buf *buf);

/* True if all of it was kept. Callers may ignore the result and look at `cut` once, at the end. */
bool buf_append(struct buf *buf, const void *bytes, size_t len);
bool buf_append_text(struct buf *buf, const char *text);
bool buf_append_format(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The bytes, terminated; never NULL. Borrowed until the next call on this buffer. */
const char *buf_text(const struct buf *buf);

/* Give the bytes to the caller, who frees them; the buffer is empty afterwards, with the same maximum. len may be NULL.
 */
char *buf_take(struct buf *buf, size_t *len);

#endif
