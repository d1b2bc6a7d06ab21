/* SPDX-License-Identifier: MIT */
/*
 * drain_say: what people (or programs: --json) read about a drain. Text, or the JSON lines of docs/contract.md, section
 * 12. Everything goes to standard output, line by line; only the bar is drawn on standard error, and it is taken off
 * before a line is printed. Decides nothing and asks nobody.
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
