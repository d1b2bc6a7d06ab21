/* SPDX-License-Identifier: MIT */
/*
 * drain_say: what people (or programs: --json) read about a drain. Text, or one JSON object a line:
 *
 *   {"line": "plan", "dry_run", "uncertain", "channels": {name: n}, "not_configured": {name: n}, "passed_over", "now",
 *    "later", "later_within_ms", "later_why"}
 *   {"line": "delivery", "delivery", "before": {"state", "reason"}, "evidence": {"event", "by", "ext_id", "url",
 *    "duplicate"} or null where no walk of this drain settled it, "after": {"state", "reason", "due_ms"}, "why"}
 *   {"line": "progress", "done", "total", "per_second", "channel", "pages"}
 *   {"line": "wait", "channel", "uncertain", "wait_ms", "result", "why"}     with --wait: looked at again after wait_ms
 *   {"line": "busy", "channel"}                                              another reconciler did not let go of it
 *   {"line": "summary", "dry_run", "deliveries", "after": {state: n}, "left": [{"channel", "state", "reason",
 *    "deliveries", "why"}], "not_configured", "passed_over", "timed_out", "elapsed_ms", "exit"}
 *
 * `after` of a dry run is what would become of it.
 */
#ifndef LANDFALL_RECONCILER_DRAIN_SAY_H
#define LANDFALL_RECONCILER_DRAIN_SAY_H

#include "reconciler/drain_bar.h"
#include "reconciler/drain_list.h"

#define DRAIN_WHY_BYTES 384

struct drain_voice {
    bool json, dry_run;
    struct drain_bar bar;
};

/* The first line. */
void drain_say_plan(struct drain_voice *voice, const struct drain_list *list, int64_t now_ms);
/* Why a decision was made, in words that hold for every delivery of the same kind. Returns out. */
const char *drain_why(const struct resolved *resolved, char out[DRAIN_WHY_BYTES]);
void drain_say_delivery(struct drain_voice *voice, const struct resolved *resolved, const char *why, int64_t now_ms);
/* One that no walk of this drain settled. */
void drain_say_other(struct drain_voice *voice, const struct drain_item *item);
/* A walk has ended and the account is walked again after wait_ms. */
void drain_say_waits(struct drain_voice *voice, const struct walk *walk, int64_t wait_ms);
void drain_say_busy(struct drain_voice *voice, const char *channel);
void drain_say_progress(struct drain_voice *voice, const struct drain_progress *progress, int64_t now_boot_ms);
void drain_say_summary(struct drain_voice *voice, const struct drain_list *list, bool timed_out, int64_t elapsed_ms,
                       int exit_code);

#endif
