/* SPDX-License-Identifier: MIT */
/*
 * drain_list: the deliveries of a drain, which of them were asked for, and what became of each. Prints nothing.
 */
#ifndef LANDFALL_RECONCILER_DRAIN_LIST_H
#define LANDFALL_RECONCILER_DRAIN_LIST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reconciler/reconciler.h"

#define DRAIN_LIST_MAX 100000

struct drain_item {
    char channel[IDENTITY_CHANNEL_BYTES];
    char delivery[IDENTITY_NAME_BYTES];
    enum delivery_reason reason; /* why it is uncertain */
    int64_t since_ms;            /* uncertain since */
    int64_t ready_ms;            /* from then on it can be settled; 0: at any time */
    bool set_back;               /* it waits for that because the ledger was set back or its clock leapt */
    bool told;
    enum delivery_state after;
    enum delivery_reason after_reason;
    const char *why; /* it became or stayed that, interned; NULL: nobody looked */
};

/* Which of the uncertain deliveries are asked for; 0: no bound. */
struct drain_filter {
    int64_t since_ms, until_ms; /* uncertain since a moment between these */
    size_t limit;               /* so many, the oldest */
};

struct drain_list {
    struct drain_filter filter;
    struct drain_item *items;
    size_t count, capacity;
    size_t passed_over;        /* uncertain and not asked for */
    json_t *index;             /* delivery -> number of its item */
    json_t *whys;              /* every text that items point to */
    json_t *unreached;         /* channels whose last walk could not read the platform */
    size_t told;               /* number of items that are done with */
    size_t after[DS_COUNT];    /* they, by what they are now */
    size_t strangers;          /* of channels that are not configured here */
    json_t *stranger_channels; /* channel -> number */
};

void drain_list_init(struct drain_list *list, const struct drain_filter *filter);
void drain_list_fini(struct drain_list *list);

/* Reads the names of the channel's uncertain deliveries that are asked for, as far as there is room. Those beyond
 * DRAIN_LIST_MAX are worked and told all the same if all are asked for. */
MUSTCHECK bool drain_list_read(struct drain_list *list, const struct reconciler *r, const char *channel,
                               struct errbuf *err);
void drain_list_stranger(struct drain_list *list, const char *channel, int64_t uncertain);
/* When all names are there: keeps filter.limit of them, and reads why they are uncertain and what they wait for. */
MUSTCHECK bool drain_list_complete(struct drain_list *list, struct reconciler *r, int64_t no_absence_ms,
                                   struct errbuf *err);

/* False: all are asked for. */
bool drain_list_is_filtered(const struct drain_list *list);
/* True if the delivery is one of those that were asked for. */
bool drain_list_picks(const struct drain_list *list, const char *delivery);

/* What a walk found out about a delivery. `done`: it is done with; else it is looked at again. */
void drain_list_note(struct drain_list *list, const struct resolved *resolved, const char *why, bool done);
void drain_list_reach(struct drain_list *list, const char *channel, bool out_of_reach);
/* True if deliveries stay uncertain because a platform was out of reach. */
bool drain_list_unreached(const struct drain_list *list);

/* Reads what became of those that nobody has told of: somebody else settled them, or they wait still. `say` is called
 * for each. */
MUSTCHECK bool drain_list_finish(struct drain_list *list, const struct reconciler *r,
                                 void (*say)(void *context, const struct drain_item *item), void *context,
                                 struct errbuf *err);

#endif
