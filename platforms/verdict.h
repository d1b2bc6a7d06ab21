/* SPDX-License-Identifier: MIT */
/*
 * verdict: what became of an attempt.
 *
 * The one function that turns the facts of a transfer into an outcome: first how far the transfer got, then the
 * descriptor's `accept` rules in their order, then an error surface that states its own commit state, then the table of
 * statuses in docs/contract.md. The transfer's own end is looked at before the status, always: a status without a
 * complete answer proves nothing. Whatever is not named is unknown, and so is every answer that a rule stumbles over.
 *
 * It remembers nothing, sends nothing and decides nothing about the delivery: core/delivery.c does, with the event that
 * is named here. So a refusal is reported as one whether or not an earlier attempt is in doubt.
 */
#ifndef LANDFALL_PLATFORMS_VERDICT_H
#define LANDFALL_PLATFORMS_VERDICT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/delivery.h"
#include "core/reason.h"

struct channel;        /* platforms/channel.h */
struct answer;         /* platforms/answer.h */
struct transfer_facts; /* platforms/transfer.h */

#define VERDICT_URL_BYTES    2049
#define VERDICT_DETAIL_BYTES 512 /* of the answer, the final NUL included */

struct program_input; /* platforms/program_input.h */

/* What an attempt was about. Everything is borrowed for the call. */
struct verdict_context {
    struct program_input *input; /* what programs see of the delivery: request_input(); NULL: nothing */
    bool replay;                 /* an earlier attempt with the same key may have committed; programs see .replay */
    bool session;                /* the request carried a session: 401 means that it is over */
    int64_t now_ms;              /* Unix time as the caller knows it; an answer's own Date header wins */
};

/* An outcome. Strings are never NULL: "" is none. */
struct outcome {
    enum delivery_event kind;    /* EV_COMMITTED .. EV_DELETED */
    enum delivery_reason reason; /* RS_NONE: the event's own word */
    char ext_id[DELIVERY_EXT_ID_MAX + 1];
    char url[VERDICT_URL_BYTES];
    char duplicate[DELIVERY_EXT_ID_MAX + 1]; /* EV_COMMITTED: another post of this delivery, as the rule names it */
    bool changed;                            /* EV_COMMITTED: the answer says that another text than ours was stored */
    char detail[VERDICT_DETAIL_BYTES]; /* the answer's beginning or the transfer's error: printable, secrets masked */
    int status;                        /* 0: none */
    int64_t wait_ms;                   /* EV_WAIT, EV_NOT_COMMITTED: as stated by the platform; 0: own backoff */
    int64_t
        spent_ms; /* nothing remains in the platform's window: the channel may send nothing for so long; 0: not so */
    bool session_expired; /* EV_CREDENTIAL and only the session was refused: log in anew, send once more */
};

/* Fills *out completely. */
void verdict(struct channel *channel, const struct transfer_facts *facts, const struct answer *answer,
             const struct verdict_context *context, struct outcome *out);

/* A request that had to succeed before the write could be sent. */
enum verdict_prelude {
    VERDICT_STEP,
    VERDICT_FETCH, /* a step without the channel's credential: no refusal of it, and no limit of the channel's */
};

/*
 * The outcome of an attempt whose prelude failed: it had no answer, or one without what was needed. Nothing of the
 * write has left, so the outcome is never EV_UNKNOWN: EV_NOT_SENT, EV_WAIT, EV_CREDENTIAL, EV_REFUSED and,
 * so that a step that always fails uses up the budget, EV_NOT_COMMITTED.
 */
void verdict_prelude(struct channel *channel, enum verdict_prelude prelude, const struct transfer_facts *facts,
                     const struct answer *answer, const struct verdict_context *context, struct outcome *out);

#endif
