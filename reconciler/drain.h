/* SPDX-License-Identifier: MIT */
/*
 * drain: settles what can be settled, now, for a person who waits for it.
 *
 * It says what there is and what can be done about it, walks the accounts as `run` does, says of every delivery what it
 * was, what was found and what it is now, and ends. Walk leases keep it and every other reconciler out of each other's
 * way, so it may be run twice, and beside `run`. It writes to standard output only; with --json one object a line:
 *
 *   {"line": "plan", "uncertain", "channels": {name: n}, "not_configured": {name: n}, "now", "later",
 * "later_within_ms"}
 *   {"line": "delivery", "delivery", "before": {"state", "reason"}, "evidence": {"event", "by", "ext_id", "url",
 *    "duplicate"} or null where somebody else settled it, "after": {"state", "reason", "due_ms"}}
 *   {"line": "wait", "channel", "uncertain", "wait_ms", "result", "why"}     with --wait: looked at again after wait_ms
 *   {"line": "busy", "channel"}                                              another reconciler did not let go of it
 *   {"line": "summary", "deliveries", "after": {state: n}, "not_configured", "timed_out", "exit"}
 */
#ifndef LANDFALL_RECONCILER_DRAIN_H
#define LANDFALL_RECONCILER_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reconciler/process.h"

struct drain_options {
    const char *const *channels; /* none: all that are configured */
    size_t channel_count;
    bool wait;          /* until nothing is uncertain any more */
    bool json;          /* one object a line */
    int64_t timeout_ms; /* 0: none */
};

/* Runs to its end and returns the exit code (docs/contract.md, section 10). */
int drain_run(struct process *p, const struct drain_options *options);

#endif
