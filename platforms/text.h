/* SPDX-License-Identifier: MIT */
/*
 * text: what platforms count and mark in a text, and the normal form in which two texts are compared.
 *
 * Lengths are counted as platforms count them: extended grapheme clusters (UAX 29), code points, UTF-8 bytes, or
 * characters that weigh one or two; a link may count as a fixed number, and of a mention the name alone. Positions are
 * byte offsets into the exact text that is sent. Nothing here changes a text that is to be published, and nothing cuts
 * one: what is too long is refused before it is sent.
 *
 * The texts are UTF-8. A byte that is not counts as one character of its own.
 */
#ifndef LANDFALL_PLATFORMS_TEXT_H
#define LANDFALL_PLATFORMS_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "runtime/buf.h"

#define TEXT_SPANS_MAX 1000 /* links or tags of one text; what comes after is not looked at */

/*
 * X(symbol, name in a descriptor, name for people)
 *   weighted   of the text in NFC: an emoji two, whatever it is made of; of the other code points those up to U+10FF
 * and some of general punctuation one, all others two (the ranges of version 3 of twitter-text's configuration)
 */
#define TEXT_UNITS(X)                                                                                                  \
    X(TEXT_GRAPHEMES, "graphemes", "graphemes")                                                                        \
    X(TEXT_CODE_POINTS, "code_points", "code points")                                                                  \
    X(TEXT_BYTES, "bytes", "bytes")                                                                                    \
    X(TEXT_WEIGHTED, "weighted", "weighted characters")

enum text_unit {
#define X(symbol, name, words) symbol,
    TEXT_UNITS(X)
#undef X
        TEXT_UNIT_COUNT
};

/* How a platform measures a text. */
struct text_measure {
    enum text_unit unit;
    size_t url_counts;   /* > 0: every link counts as that many units, whatever its length */
    bool short_mentions; /* of "@name@host" the "@host" does not count */
};

/* Bytes start .. end-1 of a text. */
struct text_span {
    size_t start;
    size_t end;
};

/*
 * The next link at or after `from`: "http://" or "https://" (ASCII case ignored) not directly behind a letter or digit,
 * up to white space, a quote, an angle bracket or punctuation that closes a sentence. False: no more.
 */
bool text_next_link(const char *text, size_t len, size_t from, struct text_span *link);

/*
 * The next tag outside of links at or after `from`: "#" and letters, digits, marks or "_", at least one of them no
 * digit; the span includes the "#". False: no more.
 */
bool text_next_tag(const char *text, size_t len, size_t from, struct text_span *tag);

/* Length in units. */
size_t text_count(const char *text, size_t len, const struct text_measure *measure);

/*
 * What programs see as .text_facts: {"graphemes", "code_points", "bytes", "links": [{"url", "start", "end"}],
 * "tags": [{"tag", "start", "end"}]}, "tag" without its "#", offsets in bytes. The caller owns the new object.
 */
json_t *text_facts_json(const char *text);

/*
 * Appends the form in which texts are compared: NFC, every run of white space (line ends included) one space, none at
 * either end; typographic quotes, dashes and dots as ASCII, a row of dashes as one (platforms set type by themselves);
 * zero-width spaces, soft hyphens and byte order marks left out; bytes that are not UTF-8 as U+FFFD.
 */
void text_normalize(const char *text, size_t len, struct buf *out);

/* The same as a new string that the caller frees. */
char *text_normal(const char *text);

#endif
