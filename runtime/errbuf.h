/* SPDX-License-Identifier: MIT */
/*
 * errbuf: the text of a local error, in storage of the caller.
 *
 * A function that can fail returns false (or an enum) and writes one sentence here: what is wrong, where (file, field,
 * entry) and what to do about it. The text is for people; nobody parses it. It is always terminated and always valid
 * UTF-8 if its parts are, however long they were. Nothing is allocated, so nothing has to be freed. A secret never gets
 * in here.
 */
#ifndef RUNTIME_ERRBUF_H
#define RUNTIME_ERRBUF_H

#include <stdbool.h>

#define MUSTCHECK __attribute__((warn_unused_result))

struct errbuf {
    char text[512];
};

/* Write the text; what does not fit is cut between two characters and ends with "...". A NULL errbuf is allowed and
 * ignored. Returns false, so that a failing function can end with `return errbuf_set(err, ...)`. */
bool errbuf_set(struct errbuf *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Put "<prefix>: " in front of the text that is there. Returns false, as errbuf_set does. */
bool errbuf_prefix(struct errbuf *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
