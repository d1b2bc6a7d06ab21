/* SPDX-License-Identifier: MIT */
/*
 * calls_channel: what is said about a whole channel, typed.
 */
#ifndef LANDFALL_LEDGER_CALLS_CHANNEL_H
#define LANDFALL_LEDGER_CALLS_CHANNEL_H

#include "ledger/request.h"
#include "ledger/row.h"

/* X(symbol, word of the script). In brackets: the members of channel_request that are read. */
#define CHANNEL_OPS(X)                                                                                                 \
    X(CHANNEL_PAUSE, "pause")           /* [text = why, user, host] user set: an operator's act, audited */            \
    X(CHANNEL_RESUME, "resume")         /* [text = why, user, host] */                                                 \
    X(CHANNEL_LIFT, "lift")             /* [text = why] resumes a channel that is paused for this reason */            \
    X(CHANNEL_BLOCK, "block")           /* [until_ms, text = why] for the whole fleet; afterwards one request first */ \
    X(CHANNEL_FAIL, "fail")             /* a transport failure; answers the failures in a row as value */              \
    X(CHANNEL_RECOVER, "recover")       /* it works again */                                                           \
    X(CHANNEL_WALK_BEGIN, "walk_begin") /* [text = reconciler, ttl_ms] again by its holder: prolonged */               \
    X(CHANNEL_WALK_END, "walk_end")     /* [text = reconciler, until_ms = next look, number = looks] */                \
    X(CHANNEL_LEAP, "leap")             /* [until_ms] the clock leapt: no absence, no replay in a window before */

#define X(symbol, word) symbol,
enum channel_op { CHANNEL_OPS(X) CHANNEL_OP_COUNT };
#undef X

#define CHANNEL_BREAKER "breaker" /* why a channel is blocked whose platform cannot be reached */

enum channel_answer { CHANNEL_OK, CHANNEL_BUSY, CHANNEL_ERROR };

struct channel_request {
    struct request base; /* base.delivery is NULL */
    enum channel_op op;
    const char *text, *user, *host;
    int64_t until_ms, ttl_ms, number;

    enum channel_answer answer;
    int64_t value;                 /* fail */
    char holder[ROW_WORKER_BYTES]; /* busy: who walks */
};

#endif
