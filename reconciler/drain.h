/* SPDX-License-Identifier: MIT */
/*
 * drain: settles what can be settled, now, for a person who waits for it.
 *
 * It says what there is and what can be done about it, walks the accounts as `run` does, says of every delivery what it
 * was, what was found and what it is now, and ends. Walk leases keep it and every other reconciler out of each other's
 * way, so it may be run twice, and beside `run`. A dry run takes no lease and tells the ledger nothing: it reads Redis
 * and the platforms and says what would become of each. What only the ledger can refuse (an id that it knows as another
 * delivery's) shows in a drain alone. What is said goes to standard output, the bar to standard error (drain_say.h).
 */
#ifndef LANDFALL_RECONCILER_DRAIN_H
#define LANDFALL_RECONCILER_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keys/when.h"
#include "reconciler/process.h"

struct drain_options {
    const char *const *channels; /* none: all that are configured */
    size_t channel_count;
    struct when since;     /* uncertain since then or later, or for at most so long; 0: any */
    int64_t older_than_ms; /* uncertain for at least so long; 0: any */
    size_t limit;          /* so many, those that are uncertain for longest; 0: all */
    bool dry_run;          /* changes nothing */
    bool wait;             /* until nothing is uncertain any more */
    bool json;             /* one object a line */
    int64_t timeout_ms;    /* 0: none */
};

/* Runs to its end and returns the exit code (docs/contract.md, section 10); of a dry run the one that it would be. */
int drain_run(struct process *p, const struct drain_options *options);

#endif
