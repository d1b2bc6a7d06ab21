/* SPDX-License-Identifier: MIT */
/*
 * html: a listed post's HTML as plain text and the addresses that it links to. For comparing, never for showing.
 *
 * It is a tokenizer, no parser: tags vanish, <br> and the edges of blocks become line ends, script, style, comments and
 * declarations are left out, CDATA counts as text, character references become characters. Text of hidden elements is
 * kept, because platforms hide parts of a link's text ("https://" and the tail) and only all of it is the link again.
 * Any input gives some output: nothing fails, work is linear, and size is bounded by the callers' buffers.
 */
#ifndef LANDFALL_PLATFORMS_HTML_H
#define LANDFALL_PLATFORMS_HTML_H

#include <stddef.h>

#include "runtime/buf.h"

/*
 * Appends the plain text to `text` and the href of every <a> and <area> to `links`, decoded and trimmed, each followed
 * by a NUL. Either may be NULL. What does not fit is left out and the buffer says so (`cut`).
 */
void html_read(const char *html, size_t len, struct buf *text, struct buf *links);

/* Walks through `links`: the address behind `previous`, the first one for NULL, NULL at the end. */
const char *html_next_link(const struct buf *links, const char *previous);

#endif
