/* SPDX-License-Identifier: MIT */
/*
 * keyscan: the names of keys, a page in a round trip. For ledger/ only.
 *
 * What was there all the time is named at least once, what came or went meanwhile may be; a name may come twice.
 */
#ifndef LANDFALL_LEDGER_KEYSCAN_H
#define LANDFALL_LEDGER_KEYSCAN_H

#include <stdbool.h>

#include "ledger/link.h"

struct keyscan {
    const char *pattern; /* borrowed; prefixes and channels hold no character that a pattern gives a meaning to */
    char cursor[24];
    bool complete; /* the last page was read */
};

void keyscan_init(struct keyscan *scan, const char *pattern);

/* The next page: its names are the elements of keyscan_names(reply). *own_reply is freed with args_free_replies(.., 1).
 */
MUSTCHECK bool keyscan_page(struct keyscan *scan, struct redis_link *link, struct redisReply ***own_reply,
                            int64_t limit_ms, struct errbuf *err);
const struct redisReply *keyscan_names(struct redisReply **reply);

#endif
