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
#include "platforms/request_file.h"
#include "runtime/errbuf.h"

struct channel;       /* platforms/channel.h */
struct content;       /* keys/content.h */
struct form;          /* platforms/form.h */
struct answer;        /* platforms/answer.h */
struct program_input; /* platforms/program_input.h */

#define REQUEST_FROZEN_MAX_BYTES (1024 * 1024)

/* What of the row a request depends on. Borrowed as long as the input that is made of it. */
struct request_row {
    struct content *content; /* what is published; NULL where it is given as a value */
    const char *key;         /* idempotency key, or NULL where the channel has none */
    int generation;
    int64_t approved_at_ms;
    int64_t dated_ms;                 /* the item's own date; 0: none */
    bool replay;                      /* an earlier attempt is in doubt */
    const char *after_id, *after_url; /* of the delivery that had to come first; NULL or "": none */
};

enum render_result {
    RENDER_OK,
    RENDER_UNFIT,  /* the item does not fit the channel; err says why, for whoever wrote it */
    RENDER_BROKEN, /* a program of the descriptor or of the channel fails over it; err names file and path */
};

/*
 * Checks the item and makes what the channel's programs see of the delivery: {item, text, text_facts, settings, ..,
 * prepared}. content: the item as merged for the channel, NULL where the row has it. program_input_free() ends it.
 */
MUSTCHECK enum render_result request_input(struct channel *channel, const json_t *content,
                                           const struct request_row *row, struct program_input **input,
                                           struct errbuf *err);

/* The checks of request_input() alone: would this item be taken? */
MUSTCHECK enum render_result request_check(struct channel *channel, const json_t *content, struct errbuf *err);

/* What a limit of the descriptor says of an input. */
struct request_measure {
    const char *what; /* how people call it: "text", "title", "the item"; borrowed from the descriptor */
    size_t what_len;
    const char *unit; /* "graphemes" */
    bool given;       /* false: the item has no such thing */
    size_t count;
    int64_t max; /* 0: no limit is set */
};

/* The i-th limit of the channel's descriptor. False: its program does not work; err names file and path. */
MUSTCHECK bool request_measure(struct channel *channel, size_t i, struct program_input *input,
                               struct request_measure *out, struct errbuf *err);

/* Renders the write request of an input, for form_fini(). */
MUSTCHECK bool request_render(struct channel *channel, struct program_input *input, struct form *form,
                              struct errbuf *err);

/*
 * True in *wanted if there is a request of this step of `prepare` to be sent; at: how many of them were. A step with
 * `each` has one for every element, which programs then see as input.each, others have one. Where the address is null
 * the item does not need the step; then, or where the list is empty, its result is null or [].
 */
MUSTCHECK bool request_step_wanted(struct channel *channel, size_t step, size_t at, struct program_input *input,
                                   bool *wanted, struct errbuf *err);

/* Renders the request of a step that is wanted. files: what steps before have kept. */
MUSTCHECK bool request_render_step(struct channel *channel, size_t step, size_t at, struct program_input *input,
                                   const struct request_files *files, struct form *form, struct errbuf *err);

/* True if the answer says that what the step waits for is not ready yet: the same is to be asked again. A program that
 * fails over it says no. */
bool request_again_step(struct channel *channel, size_t step, const struct answer *answer, struct program_input *input);

/* Puts what the step keeps of its answer into input.prepared, and its bytes into files. False: the answer does not have
 * it. */
MUSTCHECK bool request_keep_step(struct channel *channel, size_t step, size_t at, const struct answer *answer,
                                 struct program_input *input, struct request_files *files, struct errbuf *err);

/* The frozen bytes of a form, for free(), and their hash. False if they are longer than REQUEST_FROZEN_MAX_BYTES: then
 * the item does not fit. */
MUSTCHECK bool request_freeze(const struct form *form, char **bytes, size_t *len, char body_hash[HASH_HEX_BYTES],
                              struct errbuf *err);

/* The form of frozen bytes, for form_fini(). False if their hash is not body_hash or if they are not what
 * request_freeze() writes. */
MUSTCHECK bool request_thaw(const char *bytes, size_t len, const char *body_hash, struct form *form,
                            struct errbuf *err);

/*
 * True if both have the same method, scheme, host and port, and the same holes in the same places. A frozen request
 * comes from the ledger and is filled with the channel's credential. Before that it is compared with what the channel
 * renders today, so that whoever can write to the ledger can have the credential neither sent elsewhere nor published.
 */
bool request_agrees(const struct form *frozen, const struct form *rendered);

#endif
