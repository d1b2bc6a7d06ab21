/* SPDX-License-Identifier: MIT */
/*
 * answer: what a platform answered: status, headers, body, and the body as JSON where it is JSON.
 *
 * The transfer feeds it line by line and chunk by chunk; answer_finish() reads the body. Reading does not fail over
 * fields that nobody asked for: a number that a double does not hold exactly becomes a string of its digits, the last
 * of several members of one name wins. It does fail over bytes that are no UTF-8, over what is no JSON and over depth;
 * then `json` is NULL and json_error says why. Everything is bounded. No byte of an answer is ever asserted on.
 */
#ifndef LANDFALL_PLATFORMS_ANSWER_H
#define LANDFALL_PLATFORMS_ANSWER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "runtime/buf.h"

#define ANSWER_BODY_MAX_BYTES   ((size_t)4 << 20)
#define ANSWER_HEADERS_MAX      100
#define ANSWER_HEADER_MAX_BYTES 8192 /* of one value, joined */
#define ANSWER_COOKIES_MAX      50
#define ANSWER_TEXT_MAX_BYTES   ((size_t)64 << 10)
#define ANSWER_DEPTH_MAX        100

struct answer {
    int status;       /* 0: no final status line came */
    json_t *headers;  /* object: lower-case name -> value; repeated ones joined by ", " */
    bool headers_cut; /* there were more or longer ones */
    json_t *cookies;  /* object: name -> value, as set; apart from the headers, for they are secrets */
    struct buf body;  /* body.cut: there was more */
    bool json_type;   /* the declared content type is application/json or ends in +json */
    json_t *json;     /* NULL: see json_error */
    char json_error[160];
};

void answer_init(struct answer *answer, size_t body_max_bytes);
void answer_fini(struct answer *answer);

/* Forget everything, keep memory and maximum. */
void answer_clear(struct answer *answer);

/* One line as it came, with or without CR LF. A status line begins anew (an interim 1xx answer came before); lines that
 * are no header are ignored. */
void answer_header_line(struct answer *answer, const char *line, size_t len);

/* False if it did not fit; the rest may be thrown away. */
bool answer_body(struct answer *answer, const void *bytes, size_t len);

/* Read the body as JSON, whatever type was declared. Call it once, when the body is complete. */
void answer_finish(struct answer *answer);

/* Value of a header by its lower-case name, or NULL. */
const char *answer_header(const struct answer *answer, const char *name);

/* For programs: {status, headers, body, text}: body is the JSON or null, text the first 64 KiB, invalid bytes replaced;
 * and cookies, as the value of a header Cookie, where some were set. A new reference. */
json_t *answer_to_json(const struct answer *answer);

#endif
