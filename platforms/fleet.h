/* SPDX-License-Identifier: MIT */
/*
 * fleet: the channels that a configuration names, with all that they need: what every program of the house begins with.
 */
#ifndef PLATFORMS_FLEET_H
#define PLATFORMS_FLEET_H

#include <stdint.h>
#include "platforms/channel.h"
#include "platforms/descriptor.h"
#include "runtime/config.h"
#include "runtime/errbuf.h"

struct fleet {
    struct descriptor_set *descriptors;
    struct channel_set *channels;
    struct delivery_policy defaults; /* of channels that the configuration does not name */
    int64_t longest_window_ms;       /* for so long may something that was sent still matter, on any channel */
};

/* What holds for a channel that nobody has described: nothing is taken for granted. */
struct delivery_policy fleet_defaults(const struct config *config);

/* err names file and JSON path. *out is the caller's (fleet_fini); the configuration must live as long. */
MUSTCHECK bool fleet_load(const struct config *config, struct fleet *out, struct errbuf *err);
/* The same without credentials (channel_set_load_bare): for programs that send nothing. */
MUSTCHECK bool fleet_load_bare(const struct config *config, struct fleet *out, struct errbuf *err);
void fleet_fini(struct fleet *fleet);

#endif
