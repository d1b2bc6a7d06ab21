/* SPDX-License-Identifier: MIT */
/*
 * rehearse: what would be done. A made-up row of a channel meets an outcome, or what reading back says, and the
 * protocol decides as it always does. For who explains a descriptor (landfall platform check) and for the printed table
 * of all of them; nothing is sent, asked or written.
 *
 * All of it plays at REHEARSE_NOW_MS, a second after the request of the row's newest attempt was sent.
 */
#ifndef LANDFALL_PLATFORMS_REHEARSE_H
#define LANDFALL_PLATFORMS_REHEARSE_H

#include "core/delivery.h"
#include "platforms/channel.h"
#include "platforms/verdict.h"

#define REHEARSE_NOW_MS   INT64_C(1790000000000)
#define REHEARSE_SEND_MS  (REHEARSE_NOW_MS - 1000)
#define REHEARSE_AGAIN_MS 10000 /* from the first attempt to the one that repeats it; inside every key window */
#define REHEARSE_TOKEN    "tok"

/* A row that is being sent, or is uncertain; again: for the second time, with the first attempt in doubt. */
struct delivery_row rehearse_row(const struct delivery_policy *policy, enum delivery_state state, bool again);

/* What an attempt's outcome does to a row that is being sent; what the worker adds (a first wait) is added. */
struct delivery_decision rehearse_report(const struct channel *channel, const struct outcome *outcome, bool again);

/* The status by which the descriptor knows a success. */
int rehearse_success_status(const struct descriptor *descriptor);

/* What reading back says of a row that is uncertain. */
struct rehearse_look {
    enum delivery_event event; /* EV_UNSEEN, EV_ABSENT, EV_FOUND, EV_GONE */
    int64_t now_ms;
    bool two;       /* found, and another one */
    bool known_id;  /* the row knows the post's id */
    bool last_miss; /* all but one of the clean misses were seen before */
};
struct delivery_decision rehearse_look(const struct delivery_policy *policy, const struct rehearse_look *look);

#endif
