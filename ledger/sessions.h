/* SPDX-License-Identifier: MIT */
/*
 * sessions: the one session that the fleet has with an account, as the ledger keeps it.
 *
 * What it holds is sealed and opaque here. Every call is one round trip of its own: sessions are asked for when a
 * process starts to use a channel and when one is over, not per delivery. A lock with an end says who renews it; a
 * holder that died delays the others until then and no longer. A call without an answer is unknown and may be repeated.
 */
#ifndef LANDFALL_LEDGER_SESSIONS_H
#define LANDFALL_LEDGER_SESSIONS_H

#include "ledger/round.h"

#define SESSIONS_TOKEN_BYTES 112 /* who it is, and what makes it unique */
#define SESSIONS_MARK_BYTES  40

enum sessions_op {
    SESSIONS_LOOK,
    SESSIONS_LOCK,    /* [ttl_ms] */
    SESSIONS_BEGIN,   /* [mark] a refresh goes out */
    SESSIONS_STORE,   /* [rev, sealed] in place of the one with this rev */
    SESSIONS_FAIL,    /* [until_ms, failures, spent] */
    SESSIONS_RELEASE, /* gives the lock back */
};

enum sessions_answer {
    SESSIONS_OK,
    SESSIONS_BUSY,  /* lock: somebody else has it */
    SESSIONS_STALE, /* store: there is another one by now */
    SESSIONS_LOST,  /* begin, fail: the lock is not ours any more */
};

/* As the ledger knows it after the call. */
struct sessions_record {
    int64_t now_ms;
    int64_t rev; /* 0: there never was one */
    struct request_text sealed;
    char begun[SESSIONS_MARK_BYTES]; /* mark of a refresh of which nobody said how it ended; "": none */
    int64_t not_before_ms, failures;
    int64_t lock_left_ms; /* of somebody else's lock; 0: none */
};

struct sessions_request {
    const char *channel;
    enum sessions_op op;
    const char *token; /* whose lock it is */
    const char *sealed, *mark;
    int64_t ttl_ms, rev, until_ms, failures;
    bool spent; /* fail: nobody knows how the refresh ended */

    enum sessions_answer answer;
    struct sessions_record record; /* sessions_fini() */
};

/* False: no answer, or none that can be read; err says why. */
MUSTCHECK bool sessions_ask(const struct ledger *ledger, struct redis_link *link, struct sessions_request *request,
                            int64_t limit_ms, struct errbuf *err);
void sessions_fini(struct sessions_request *request);

#endif
