/* SPDX-License-Identifier: MIT */
/*
 * request: from a content item to the bytes of its write request.
 *
 * An item is checked against its channel (what it must have, how long it may be), rendered by the descriptor's programs
 * into a form, and the form is frozen: JSON bytes with named holes where secrets, sessions, signatures and their times
 * belong. The frozen bytes stand in the ledger before anything is sent, and a repeat sends exactly them. What comes
 * back from the ledger is not trusted: request_thaw() takes only what request_freeze() could have written.
 *
 * An item that does not fit its channel is an outcome for people, not an error of the process: it is refused before any
 * request, with words that count.
 */
#ifndef LANDFALL_PLATFORMS_REQUEST_H
#define LANDFALL_PLATFORMS_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keys/hash.h"
#include "runtime/errbuf.h"

struct channel; /* platforms/channel.h */
struct form;    /* platforms/form.h */
struct buf;     /* runtime/buf.h */

#define REQUEST_FROZEN_MAX_BYTES (1024 * 1024)

/* What of the row a request depends on. Borrowed for the call. */
struct request_row {
    const char *key; /* idempotency key, or NULL where the channel has none */
    int generation;
    int64_t approved_at_ms;
    int64_t dated_ms;       /* the item's own date; 0: none */
    const json_t *prepared; /* what `prepare` steps kept: object of step name to value; NULL: nothing yet */
};

enum request_result {
    REQUEST_OK,
    REQUEST_REFUSED, /* the item does not fit the channel; err says why, for the producer */
    REQUEST_BROKEN,  /* the descriptor or the channel's own program does not work; err names file and path */
};

/* What the channel's programs see of a delivery: {item, text, settings, channel, account, key, gen, approved_at_ms,
 * ..}. The caller owns *input. content: the merged content of the channel. */
MUSTCHECK enum request_result request_input(struct channel *channel, const json_t *content,
                                            const struct request_row *row, json_t **input, struct errbuf *err);

/* Checks what the item must have and how long it may be. Part of request_input() already; alone it answers "would this
 * item be taken?" without a row. */
MUSTCHECK enum request_result request_check(struct channel *channel, const json_t *content, struct errbuf *err);

/* Renders the write request of an input. The caller owns *form. */
MUSTCHECK enum request_result request_render(struct channel *channel, const json_t *input, struct form **form,
                                             struct errbuf *err);
/* The same for a step of `prepare`, by its index. */
MUSTCHECK enum request_result request_render_step(struct channel *channel, size_t step, const json_t *input,
                                                  struct form **form, struct errbuf *err);

/* The frozen bytes of a form. False if they are longer than REQUEST_FROZEN_MAX_BYTES. */
MUSTCHECK bool request_freeze(const struct form *form, struct buf *out, char body_hash[HASH_HEX_BYTES],
                              struct errbuf *err);
/* The form of frozen bytes whose hash is body_hash (NULL: not checked). The caller owns *form. */
MUSTCHECK bool request_thaw(const char *bytes, size_t len, const char *body_hash, struct form **form,
                            struct errbuf *err);

#endif
