/* SPDX-License-Identifier: MIT */
/*
 * word: what is to be told to the ledger about a channel, one thing after the other.
 *
 * Of what waits the first word counts. Once it is in a round it is not changed any more, and neither swallows what
 * comes up meanwhile nor is replaced by it: that is told after it. What the ledger refused or did not answer is told
 * again, with the next round that goes anyway or ERRORS_RETRY_MS later.
 */
#ifndef LANDFALL_WORKER_WORD_H
#define LANDFALL_WORKER_WORD_H

#include "ledger/round.h"

struct word {
    struct channel_request request;
    bool due;              /* it is to be told, or in the round */
    bool in_round;         /* its answer was not looked at */
    int64_t retry_boot_ms; /* no round goes for it alone before */
    struct channel_request next;
    bool next_due; /* came up while `request` was in the round */
};

/* Something is to be told. Returns what waits now, be it this or what waited before; what the operation takes besides
 * is filled in there. channel and text are borrowed. */
struct channel_request *word_put(struct word *word, const char *channel, enum channel_op op, const char *text);

/* True if a round is to go for it. */
bool word_waits(const struct word *word, int64_t now_boot_ms);

/* Nothing waits any more. What the round has is told all the same. */
void word_drop(struct word *word);

/* Into the round, if it is to be told and not there. */
void word_add(struct word *word, struct ledger_round *round);

/* After a round, or a part of it: true if the ledger knows of it now, and *told is what it was told and answered. */
bool word_told(struct word *word, struct channel_request *told, int64_t now_boot_ms);

#endif
