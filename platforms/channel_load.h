/* SPDX-License-Identifier: MIT */
/*
 * channel_load: one channel of the configuration, read and checked. channel.c keeps the set.
 */
#ifndef LANDFALL_PLATFORMS_CHANNEL_LOAD_H
#define LANDFALL_PLATFORMS_CHANNEL_LOAD_H

#include "platforms/channel.h"

/* What all channels of a load have in common. */
struct channel_load {
    const char *file;        /* for errors */
    const char *config_path; /* NULL: none */
    struct descriptor_set *descriptors;
    const struct delivery_policy *defaults;
    bool bare; /* credentials must be named, and are not read */
};

/* *out is the caller's: channel_free(). */
MUSTCHECK bool channel_load_one(const struct channel_load *load, const char *name, const json_t *object,
                                struct channel **out, struct errbuf *err);
void channel_free(struct channel **channel);

/* The members of a channel, as the table that reads them. */
const struct shape *channel_shape(void);

#endif
