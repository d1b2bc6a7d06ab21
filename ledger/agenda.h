/* SPDX-License-Identifier: MIT */
/*
 * agenda: reads what is due; changes nothing. Taking it is calls_take.h.
 */
#ifndef LANDFALL_LEDGER_AGENDA_H
#define LANDFALL_LEDGER_AGENDA_H

#include "keys/identity.h"
#include "ledger/round.h"

#define AGENDA_DUE_MAX 64

struct agenda_item {
    char channel[IDENTITY_CHANNEL_BYTES];
    char delivery[IDENTITY_NAME_BYTES]; /* "": the channel's own member, whose waiting list had nothing due */
    bool waiting;                       /* from the channel's waiting list */
    int64_t score_ms;
};

struct agenda_due {
    size_t count;
    struct agenda_item item[AGENDA_DUE_MAX];
    int64_t next_ms;  /* score of the first member that is not due yet; 0: none */
    uint64_t skipped; /* members that are no names of ours (somebody's hand); they stay */
};

/* At most `max` deliveries that are due at server time now_ms, and of each channel that is due at most
 * room(channel, arg) from the head of its waiting list; a negative room means one (so that its member is moved). The
 * reconcilers' members are passed over. */
MUSTCHECK bool agenda_read(const struct ledger *ledger, struct redis_link *link, int64_t now_ms, size_t max,
                           int (*room)(const char *channel, void *arg), void *arg, struct agenda_due *out,
                           int64_t limit_ms, struct errbuf *err);

/* A channel whose uncertain deliveries are to be looked at. */
struct agenda_walk {
    char channel[IDENTITY_CHANNEL_BYTES];
    int64_t due_ms;
};

/* All channels with uncertain deliveries, by due time, the due ones first. *own_walks is freed with free(). */
MUSTCHECK bool agenda_walks(const struct ledger *ledger, struct redis_link *link, struct agenda_walk **own_walks,
                            size_t *count, int64_t limit_ms, struct errbuf *err);

#endif
