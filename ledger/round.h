/* SPDX-License-Identifier: MIT */
/*
 * round: all that a process wants to ask the ledger now, in one round trip.
 *
 *   round_settle(round, &settle); round_claim(round, &claim);
 *   if (!round_run(round, link, limit_ms, &err)) ...       what has no answer is REQUEST_UNKNOWN
 *   if (claim.base.result == REQUEST_ANSWERED && claim.answer == CLAIM_GRANTED) ...
 *
 * round_run() gathers the requests into calls of scripts (64 deliveries at most each), writes up to
 * LINK_ROUND_MAX_BYTES of them, reads the answers and fills the requests in. What did not fit stays REQUEST_PENDING and
 * in the round for the next run; everything else leaves it. A server that has forgotten a script gets its text in the
 * same run. Requests are borrowed from the round_ call until they have a result.
 */
#ifndef LANDFALL_LEDGER_ROUND_H
#define LANDFALL_LEDGER_ROUND_H

#include "keys/names.h"
#include "ledger/calls_archive.h"
#include "ledger/calls_channel.h"
#include "ledger/calls_claim.h"
#include "ledger/calls_decide.h"
#include "ledger/calls_take.h"
#include "ledger/link.h"

/* What is the same for all calls of a process. Text is borrowed for the life of the round. */
struct ledger {
    struct names names;
    const char *environment;
    int64_t partitions;        /* of the fleet */
    const char *worker;        /* name in leases; unique per process */
    int64_t outcomes_max;      /* length of the outcomes stream */
    int64_t rejected_keep_ms;  /* how long a rejected delivery's content is kept */
    int64_t queue_max;         /* submit refuses more than this many unread entries; 0: any number */
    int64_t longest_window_ms; /* fleet.h; after a restart of Redis no absence counts before it is over */
    int64_t claim_valid_ms;    /* a claim that reaches Redis later than this is not executed */
};

struct ledger_round;

struct ledger_round *round_new(const struct ledger *ledger);
void round_free(struct ledger_round **round);

void round_channel(struct ledger_round *round, struct channel_request *request);
void round_settle(struct ledger_round *round, struct decide_request *request);
void round_resolve(struct ledger_round *round, struct decide_request *request);
void round_operate(struct ledger_round *round, struct decide_request *request);
void round_archive(struct ledger_round *round, struct archive_request *request);
void round_submit(struct ledger_round *round, struct submit_request *request);
void round_renew(struct ledger_round *round, struct renew_request *request);
void round_take(struct ledger_round *round, struct take_request *request);
void round_claim(struct ledger_round *round, struct claim_request *request);

/* Requests that wait in the round. */
size_t round_pending(const struct ledger_round *round);

/* Takes a request out that must not be sent any more (its owner goes away). Nothing happens if it is not in there. */
void round_forget(struct ledger_round *round, const struct request *request);

/* One round trip (two if the server has forgotten a script). False: the link was dropped; err says why. Also notes the
 * server's time in link_clock(). An empty round is answered at once, without Redis. */
MUSTCHECK bool round_run(struct ledger_round *round, struct redis_link *link, int64_t limit_ms, struct errbuf *err);

#endif
