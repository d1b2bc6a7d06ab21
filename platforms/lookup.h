/* SPDX-License-Identifier: MIT */
/*
 * lookup: one post, asked for by its id or by our key. No I/O: the caller sends the request and brings the answer.
 *
 * A post that is there is found. One that is not is gone only where the descriptor's `gone` program recognises the
 * platform's own word for it: a 404 alone may be a proxy's, a private post's, or a replica's that lags behind. All else
 * is unseen and proves nothing.
 */
#ifndef LANDFALL_PLATFORMS_LOOKUP_H
#define LANDFALL_PLATFORMS_LOOKUP_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/delivery.h"
#include "runtime/errbuf.h"

struct answer;         /* platforms/answer.h */
struct channel;        /* platforms/channel.h */
struct form;           /* platforms/form.h */
struct transfer_facts; /* platforms/transfer.h */

#define LOOKUP_URL_BYTES 2049

enum lookup_by { LOOKUP_BY_ID, LOOKUP_BY_KEY };

enum lookup_kind {
    LOOKUP_FOUND,
    LOOKUP_GONE,       /* by id: it was there once and is not now; by key: no such post was made */
    LOOKUP_UNSEEN,     /* nothing can be said */
    LOOKUP_WAIT,       /* ask again, not before wait_ms have passed (0: own backoff) */
    LOOKUP_SESSION,    /* the session is over: log in anew, ask again */
    LOOKUP_CREDENTIAL, /* this credential may not read */
};

struct lookup {
    enum lookup_kind kind;
    char id[DELIVERY_EXT_ID_MAX + 1];        /* of a found one; "" */
    char url[LOOKUP_URL_BYTES];              /* "" where there is none, or it is longer */
    char duplicate[DELIVERY_EXT_ID_MAX + 1]; /* of a found one: the id of another post of the same delivery; "" */
    int64_t wait_ms;
    struct errbuf detail; /* why it is unseen */
};

/* True if the descriptor can look posts up this way. */
bool lookup_given(const struct channel *channel, enum lookup_by by);

/*
 * The request. input: channel_input() with ext_id or key, `marks` where they are known, and `prepared` where the
 * channel has reads.prepare steps (search_prepared()). False: the descriptor cannot do it, or a program of it does not
 * work; err says which.
 */
MUSTCHECK bool lookup_request(struct channel *channel, enum lookup_by by, const json_t *input, struct form *form,
                              struct errbuf *err);

/* What its answer says. Fills *out completely. now_ms: Unix time, for waits that the answer states. */
void lookup_take_answer(struct channel *channel, enum lookup_by by, const json_t *input,
                        const struct transfer_facts *facts, const struct answer *answer, int64_t now_ms,
                        struct lookup *out);

#endif
