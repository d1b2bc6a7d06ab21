/* SPDX-License-Identifier: MIT */
/*
 * sample: a channel to try a descriptor with, where nobody has configured one, and answers as fixtures write them.
 */
#ifndef LANDFALL_CLI_SAMPLE_H
#define LANDFALL_CLI_SAMPLE_H

#include <jansson.h>

#include "platforms/answer.h"
#include "platforms/channel.h"
#include "runtime/config.h"
#include "runtime/errbuf.h"

struct sample {
    struct descriptor_set *descriptors;
    struct channel_set *channels;
    struct channel *channel;
};

/* A JSON file. NULL: err names file, line and column. */
json_t *sample_file(const char *path, struct errbuf *err);

/* The channel "<platform>/brand" of <folder>/<platform>.json. channel: what its fixtures say of it ({settings, ..});
 * NULL: values are made up for settings that must be given. It has no credentials. For
 * sample_fini(), after a failure too. */
MUSTCHECK bool sample_open(const char *folder, const char *platform, const json_t *channel, const struct config *config,
                           struct sample *out, struct errbuf *err);
void sample_fini(struct sample *sample);

/* {status, headers, body} or {status, headers, text}; for answer_fini(). False: `described` is nothing like it. */
MUSTCHECK bool sample_answer(const json_t *described, struct answer *answer, struct errbuf *err);

#endif
