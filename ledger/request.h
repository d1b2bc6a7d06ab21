/* SPDX-License-Identifier: MIT */
/*
 * request: what every question to the ledger has in common.
 *
 * A request is a struct of the caller: fill it, add it to a round (round.h), run the round, look at `result`. It stays
 * where it is until then. Requests of one kind travel together, up to 64 in one call of a script, and are answered one
 * by one.
 */
#ifndef LANDFALL_LEDGER_REQUEST_H
#define LANDFALL_LEDGER_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "ledger/errors.h"

#define REQUEST_BATCH_MAX  64  /* deliveries in one call of a script */
#define REQUEST_ERROR_SIZE 160 /* text of an error, the NUL included */
#define CLAIM_TOKEN_BYTES  17  /* 16 hex digits from random_hex(), the NUL included */

/* In this order they go out, whatever the order in which they were added: what frees comes before what takes. */
enum request_kind {
    REQUEST_CHANNEL, /* pause, block, walk, ...: channel_request */
    REQUEST_SETTLE,  /* decide_request */
    REQUEST_RESOLVE, /* decide_request */
    REQUEST_OPERATE, /* decide_request */
    REQUEST_ARCHIVE, /* archive_request */
    REQUEST_SUBMIT,  /* submit_request */
    REQUEST_RENEW,   /* renew_request */
    REQUEST_TAKE,    /* take_request */
    REQUEST_CLAIM,   /* claim_request */
    REQUEST_KIND_COUNT
};

enum request_result {
    REQUEST_PENDING,  /* not answered yet: it is under way, or waits for the next round */
    REQUEST_ANSWERED, /* the script answered; what, stands in the request */
    REQUEST_REFUSED,  /* an error reply: nothing was changed. `error` has its text, errors_action() what to do */
    REQUEST_UNKNOWN,  /* no answer came: it may have been done or not; ask again with the same arguments */
};

/* First member of every request. */
struct request {
    enum request_kind kind; /* set by the round_ function */
    enum request_result result;
    char error[REQUEST_ERROR_SIZE]; /* REFUSED, and answers that say "error" */
    const char *channel;            /* checked name; borrowed */
    const char *delivery;           /* checked name of the delivery; NULL for channel requests; borrowed */
};

/* Bytes that an answer brought; bytes[len] is NUL, but there may be others before. NULL: the answer had none. */
struct request_text {
    char *bytes;
    size_t len;
};

#endif
