/* SPDX-License-Identifier: MIT */
/*
 * drain_bar: how far a drain has come. On a terminal one line of standard error that is drawn over again; elsewhere
 * nothing is drawn, and drain_bar_is_due() says when a plain line is worth its place.
 */
#ifndef LANDFALL_RECONCILER_DRAIN_BAR_H
#define LANDFALL_RECONCILER_DRAIN_BAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DRAIN_BAR_TEXT_BYTES 256

struct drain_bar {
    bool terminal, drawn;
    int64_t started_boot_ms, next_boot_ms;
};

/* Where it stands. */
struct drain_progress {
    size_t done, total;
    const char *channel; /* that is being read; NULL: none */
    int pages;           /* of it */
};

void drain_bar_init(struct drain_bar *bar, int64_t now_boot_ms);
/* True if it is time to show it again: several times a second on a terminal, every ten seconds elsewhere. */
bool drain_bar_is_due(struct drain_bar *bar, int64_t now_boot_ms);
/* "120 of 400 done, 12 a second; blog/main: page 7". Returns out. */
const char *drain_bar_text(const struct drain_bar *bar, const struct drain_progress *progress, int64_t now_boot_ms,
                           char out[DRAIN_BAR_TEXT_BYTES]);
void drain_bar_draw(struct drain_bar *bar, const struct drain_progress *progress, int64_t now_boot_ms);
/* Takes it off the terminal, so that a line can be printed. */
void drain_bar_clear(struct drain_bar *bar);
/* Deliveries a second since the start. */
double drain_bar_rate(const struct drain_bar *bar, size_t done, int64_t now_boot_ms);

#endif
