/* SPDX-License-Identifier: MIT */
/*
 * calls_take: what is due, handed to one worker and to nobody else.
 *
 * agenda_read() (agenda.h) says what is due; a take_request for each of it goes into a round. Every member that a take
 * names gets a new score in the same step, so a taker that dies delays a delivery by 30 s and loses nothing. Work that
 * was handed out is claimed next, with `entry` NULL. take_fini() frees what the answer brought.
 */
#ifndef LANDFALL_LEDGER_CALLS_TAKE_H
#define LANDFALL_LEDGER_CALLS_TAKE_H

#include <stdbool.h>

#include "core/delivery.h"
#include "keys/hash.h"
#include "keys/key.h"
#include "ledger/request.h"

#define TAKE_UNKNOWN_CHANNEL (-1)

/* X(symbol, word of the script) */
#define TAKE_ANSWERS(X)                                                                                                \
    X(TAKE_WORK, "work")           /* everything to render and claim it */                                             \
    X(TAKE_MOVED, "moved")         /* until: not now, or somebody else has it; nothing to do */                        \
    X(TAKE_UNCERTAIN, "uncertain") /* its lease was lost; it stands in the journal now */                              \
    X(TAKE_REMOVED, "removed")     /* it is settled or gone; the member was left over */                               \
    X(TAKE_HELD, "held")           /* reason: handed out too often without an answer to a claim */                     \
    X(TAKE_ERROR, "error")         /* error: the row cannot be read; it comes again in an hour */

#define X(symbol, word) symbol,
enum take_answer { TAKE_ANSWERS(X) TAKE_ANSWER_COUNT };
#undef X

/* What the worker says about a channel; the same for all requests of a round that name it. */
struct take_channel {
    const char *name;
    int room; /* deliveries of this channel it has slots for now; TAKE_UNKNOWN_CHANNEL: it does not know the channel */
    int64_t late_commit_ms;
    bool harmless;
    int64_t spacing_ms;
    int burst;
};

struct take_request {
    struct request base; /* delivery NULL: only the channel's own member is looked at again; answered TAKE_MOVED */
    const struct take_channel *channel;
    bool waiting;     /* it stands in the channel's waiting list, not on the agenda itself */
    int64_t score_ms; /* as agenda_read() saw it: whoever took it meanwhile has changed it */

    enum take_answer answer;
    enum delivery_reason reason;
    int64_t until_ms;
    struct request_text content; /* the item as it was given */
    char content_hash[HASH_HEX_BYTES];
    int64_t approved_at_ms, not_before_ms, not_after_ms, dated_ms;
    int generation, attempt;
    bool in_doubt;
    struct request_text frozen; /* in doubt: this is sent, if it is there */
    char key[KEY_BYTES];
    char body_hash[HASH_HEX_BYTES];
};

void take_fini(struct take_request *take);

#endif
