/* SPDX-License-Identifier: MIT */
/*
 * round: all that a process wants to ask the ledger now, in one round trip.
 *
 *   round_settle(round, &settle); round_claim(round, &claim);
 *   if (!round_run(round, link, limit_ms, &err)) ...       what has no answer is REQUEST_UNKNOWN
 *   if (claim.base.result == REQUEST_ANSWERED && claim.answer == CLAIM_GRANTED) ...
 *
 * A round gathers the requests into calls of scripts (64 deliveries at most each), writes up to LINK_ROUND_MAX_BYTES of
 * them, reads the answers and fills the requests in. What did not fit stays REQUEST_PENDING and in the round for the
 * next time; so do the calls of a script that the server has forgotten, which then go with its text. Everything else
 * leaves it with a result.
 *
 * round_run() waits for the answers. A loop that has other things to do calls round_send(), and round_receive() when
 * there is something to read: the answers of a call are filled in when it is answered, those behind it later. One round
 * is under way at most; what is added meanwhile goes with the next one. Other questions may be asked on the same link
 * (link.h keeps the answers apart), but they wait for the round's answers first.
 *
 * Requests are borrowed from the round_ call until they have a result, or are forgotten. Everything else of them that a
 * call needs has been copied when it is sent.
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

/* Requests that wait to be sent. */
size_t round_pending(const struct ledger_round *round);

/* Takes a request out whose owner goes away, or asks something else with it: it is not sent any more, and where it is
 * under way its answer is read for nobody. Nothing happens if it is not in there. */
void round_forget(struct ledger_round *round, const struct request *request);

/* Writes what waits; the answers are to come within limit_ms. Not while a round is under way. Nothing to send is fine.
 * False: the link is closed, or was dropped; err says why. */
MUSTCHECK bool round_send(struct ledger_round *round, struct redis_link *link, int64_t limit_ms, struct errbuf *err);
bool round_under_way(const struct ledger_round *round);

/* Fills in what has been answered, without waiting. Also notes the server's time in link_clock(): a late look makes its
 * bounds wider, not wrong, since they are those of the moments of sending and of reading. */
enum round_news {
    ROUND_NOTHING, /* no call has been answered since the last time, or no round is under way */
    ROUND_ANSWERS, /* some, and not the last one */
    ROUND_OVER,    /* the last one */
    ROUND_LOST,    /* the link was dropped: what has no answer is REQUEST_UNKNOWN; err says why */
};
MUSTCHECK enum round_news round_receive(struct ledger_round *round, struct redis_link *link, struct errbuf *err);

/* What to poll for; -1 while no round is under way. */
int round_fd(const struct ledger_round *round, const struct redis_link *link);
/* Boot time (ms) at which round_receive() has something to say though the descriptor says nothing; INT64_MAX: never. */
int64_t round_wake_ms(const struct ledger_round *round, const struct redis_link *link);

/* One round trip (one more if the server has forgotten a script). False: the link was dropped; err says why. An empty
 * round is answered at once, without Redis. */
MUSTCHECK bool round_run(struct ledger_round *round, struct redis_link *link, int64_t limit_ms, struct errbuf *err);

#endif
