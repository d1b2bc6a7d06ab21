/* SPDX-License-Identifier: MIT */
/*
 * leap: whether the Redis server's clock leaps, and that the ledger is told.
 *
 * Whether an attempt can still commit, and whether a key's window is open, is measured on the server's clock. Scripts
 * see only that clock; a process has a monotonic one beside it. So whoever speaks to Redis compares the two, and after
 * a leap the ledger says for how long no absence and no window counts: until everything that was sent before is over.
 */
#ifndef LANDFALL_LEDGER_LEAP_H
#define LANDFALL_LEDGER_LEAP_H

#include "ledger/round.h"
#include "runtime/clock.h"

struct leap {
    struct server_clock seen; /* the answer that was looked at last */
    int64_t until_ms;         /* server's time: before this nothing counts; 0: it has not leapt */
    struct channel_request request;
    bool due, in_round;
    int64_t retry_boot_ms; /* it was refused: no round goes for it alone before */
};

/* Looks at the newest answer's time (link_clock()). A leap is logged, and due to be told. */
void leap_look(struct leap *leap, const struct server_clock *newest, int64_t longest_window_ms);

/* Puts what is due into the round, under the name of some channel of the partition, and takes what came back. */
void leap_add(struct leap *leap, struct ledger_round *round, const char *channel);
void leap_answered(struct leap *leap);

#endif
