/* SPDX-License-Identifier: MIT */
/*
 * next: what a delivery's state means and what will happen to it, in words. Pure.
 */
#ifndef LANDFALL_CLI_NEXT_H
#define LANDFALL_CLI_NEXT_H

#include <jansson.h>

#include "ledger/reads.h"

/* All borrowed. */
struct next_facts {
    const struct reads_delivery *delivery;
    const struct delivery_policy *policy; /* NULL: the channel is not configured here */
    const struct reads_channel *channel;  /* NULL: nothing is known of it */
    const struct reads_epoch *epoch;
    int64_t now_ms;
};

/* What a reason means, one sentence without its full stop; "" for RS_NONE. */
const char *next_why(enum delivery_reason reason);

/* What happens next: an array of sentences. */
json_t *next_explain(const struct next_facts *facts);

#endif
