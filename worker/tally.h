/* SPDX-License-Identifier: MIT */
/*
 * tally: what became of what this process had in its hands; for the report at the end, the exit code and the metrics.
 */
#ifndef LANDFALL_WORKER_TALLY_H
#define LANDFALL_WORKER_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/reason.h"

/* Where a delivery stood when it left this process's hands last; keyed by a hash of its name. */
struct tally_entry {
    uint64_t hash; /* 0: empty */
    uint8_t state;
};

struct tally {
    bool remember;               /* count deliveries, not hand-outs: for runs that end */
    struct tally_entry *entries; /* open addressing; size is a power of two */
    size_t size, used;
    int64_t state[DS_COUNT];    /* deliveries, or hand-outs, by where they stood at last; approved = it waits */
    int64_t skipped;            /* hand-outs of deliveries that were settled before */
    int64_t conflicts, refused; /* input that is no delivery */
    int64_t writes;             /* write requests that may have left */
    int64_t late_reports, lease_losses;
    int64_t uncopied; /* claims that were given back because too few copies of them were acknowledged */
};

void tally_init(struct tally *t, bool remember);
void tally_fini(struct tally *t);

/* The delivery left this process's hands in this state. */
void tally_note(struct tally *t, const char *delivery, enum delivery_state state);

/* One line for people and one exit code (docs/contract.md, section 10). */
void tally_print(const struct tally *t, uint64_t round_trips, FILE *out);
int tally_exit_code(const struct tally *t);

#endif
