/* SPDX-License-Identifier: MIT */
/*
 * drain_list: the deliveries of a drain, what became of each, and what people (or programs: --json) read about it.
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
    int64_t ready_ms;            /* from then on it can be settled; 0: at any time */
    bool told;
    enum delivery_state after;
};

struct drain_list {
    bool json;
    struct drain_item *items;
    size_t count, capacity;
    json_t *index;             /* delivery -> number of its item */
    json_t *unreached;         /* channels whose last walk could not read the platform */
    size_t after[DS_COUNT];    /* deliveries by what they are now */
    size_t strangers;          /* of channels that are not configured here */
    json_t *stranger_channels; /* channel -> number */
};

void drain_list_init(struct drain_list *list, bool json);
void drain_list_fini(struct drain_list *list);

/* Reads the channel's uncertain deliveries, as far as there is room: those beyond DRAIN_LIST_MAX are worked and told
 * all the same. */
MUSTCHECK bool drain_list_read(struct drain_list *list, const struct reconciler *r, const struct channel *channel,
                               const struct reads_overview *overview, struct errbuf *err);
void drain_list_stranger(struct drain_list *list, const char *channel, int64_t uncertain);
/* The first lines. */
void drain_list_plan(const struct drain_list *list, int64_t now_ms);

/* One delivery is done with. */
void drain_list_tell(struct drain_list *list, const struct resolved *resolved, int64_t now_ms);
/* A walk has ended and the account is walked again after wait_ms. */
void drain_list_waits(const struct drain_list *list, const char *channel, size_t left, int64_t wait_ms,
                      const char *result, const char *why);
void drain_list_busy(const struct drain_list *list, const char *channel);
void drain_list_reach(struct drain_list *list, const char *channel, bool out_of_reach);
/* True if deliveries stay uncertain because a platform was out of reach. */
bool drain_list_unreached(const struct drain_list *list);

/* Reads what became of those that nobody has told of: somebody else settled them, or they wait still. */
MUSTCHECK bool drain_list_finish(struct drain_list *list, const struct reconciler *r, struct errbuf *err);
void drain_list_summary(const struct drain_list *list, bool timed_out, int exit_code);

#endif
