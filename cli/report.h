/* SPDX-License-Identifier: MIT */
/*
 * report: what verb_report.c has read, for who tells it: people, programs, a pull request.
 *
 * What was published, rejected or held comes from the stream of outcomes and is true for the span that was asked about.
 * What waits, is being sent or is uncertain has no outcome yet: that is how it stands now. How the fleet itself fares
 * stands in `notes`, apart from both.
 */
#ifndef LANDFALL_CLI_REPORT_H
#define LANDFALL_CLI_REPORT_H

#include <jansson.h>

#include "cli/cli.h"

struct report_channel {
    char name[IDENTITY_CHANNEL_BYTES];
    int64_t outcome[DS_COUNT]; /* in the span: published, rejected, held */
    int64_t now[DS_COUNT];     /* approved, claimed, uncertain, held */
};

struct report {
    struct cli *cli;
    int64_t since_ms, now_ms;
    json_t *outcomes;                /* delivery -> the newest entry's fields; in their order */
    json_t *counts;                  /* "channel state source" -> n */
    struct report_channel *channels; /* sorted by name */
    size_t channel_count;
    int64_t of_state[DS_COUNT]; /* outcomes of all channels */
    int64_t uncertain;          /* now, of all channels */
    int64_t refused_input;      /* in the span: input that never became a delivery */
    int64_t kept_from_ms;       /* outcomes before are not kept, and the span reaches beyond; 0: it does not */
    json_t *notes;
};

/* The delivery's own number of things to do: what was selected for a channel. */
int64_t report_selected(const struct report_channel *channel);

void report_print_text(const struct report *report);
/* Markdown, for the summary of a job. */
void report_print_github(const struct report *report);
json_t *report_document(const struct report *report);

#endif
