/* SPDX-License-Identifier: MIT */
/*
 * entry: one post as a listing or a look-up gives it: {id, url, at_ms, urls, keys, html, text, skip}.
 *
 * The object comes from a platform by way of a descriptor's program, so nothing about it is believed: a wrong shape is
 * an answer, sizes are bounded. entry_head() reads what a walk needs of every entry, entry_read() all that an entry can
 * be recognised by, in normal forms. Strings of the JSON are borrowed; entry_fini() frees the rest.
 */
#ifndef LANDFALL_PLATFORMS_ENTRY_H
#define LANDFALL_PLATFORMS_ENTRY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/delivery.h"
#include "runtime/buf.h"
#include "runtime/errbuf.h"

#define ENTRY_LINKS_MAX      1000              /* addresses that are looked at */
#define ENTRY_TEXT_MAX_BYTES ((size_t)1 << 20) /* of text or HTML; more is not looked at */

struct entry_head {
    char id[DELIVERY_EXT_ID_MAX + 1]; /* a string, or an integer in decimal digits; "" where there is none */
    int64_t at_ms;                    /* Unix ms; 0: it has none, or none that a calendar knows */
    bool skip;                        /* not ours by its kind: a boost, a reply, a pull request */
};

struct entry {
    struct entry_head head;
    const char *url;    /* the post's own address; "" where there is none */
    const json_t *keys; /* array of strings and integers, or NULL */
    struct buf links;   /* normal forms, each followed by a NUL: html_next_link(); of urls, html and text */
    struct buf text;    /* what a reader sees, line by line: of text, or of html */
    struct buf normal;  /* that text in its normal form */
};

/* False where it is no object or has no readable id. */
MUSTCHECK bool entry_head(const json_t *json, struct entry_head *out);

/* The same for all of it; false also where a member has another type than it should. Nothing is to be freed then. */
MUSTCHECK bool entry_read(const json_t *json, struct entry *out);
void entry_fini(struct entry *entry);

/* Appends the normal form of what a platform says it has stored, {html} or {text}. False: it says nothing of the kind.
 */
MUSTCHECK bool entry_stored_text(const json_t *json, struct buf *normal);

/* A string, or an integer in decimal digits written to `digits`; NULL for anything else. */
const char *entry_text(const json_t *value, char digits[24]);

#endif
