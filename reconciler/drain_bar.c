/* SPDX-License-Identifier: MIT */
#include "reconciler/drain_bar.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/plain.h"

#define BAR_TERMINAL_MS 200
#define BAR_PLAIN_MS    10000
#define BAR_CELLS       24

void drain_bar_init(struct drain_bar *bar, int64_t now)
{
    bar->terminal = isatty(STDERR_FILENO) == 1;
    bar->drawn = false;
    bar->started_boot_ms = now;
    bar->next_boot_ms = now + (bar->terminal ? 0 : BAR_PLAIN_MS);
}

bool drain_bar_is_due(struct drain_bar *bar, int64_t now)
{
    if (now < bar->next_boot_ms) return false;
    bar->next_boot_ms = now + (bar->terminal ? BAR_TERMINAL_MS : BAR_PLAIN_MS);
    return true;
}

double drain_bar_rate(const struct drain_bar *bar, size_t done, int64_t now)
{
    const int64_t elapsed_ms = now - bar->started_boot_ms;
    return elapsed_ms > 0 ? (double)done * 1000.0 / (double)elapsed_ms : 0.0;
}

const char *drain_bar_text(const struct drain_bar *bar, const struct drain_progress *p, int64_t now,
                           char out[DRAIN_BAR_TEXT_BYTES])
{
    int len = snprintf(out, DRAIN_BAR_TEXT_BYTES, "%zu of %zu done, %.1f a second", p->done, p->total,
                       drain_bar_rate(bar, p->done, now));
    if (p->channel != NULL && len > 0 && len < DRAIN_BAR_TEXT_BYTES)
        (void)snprintf(out + len, (size_t)(DRAIN_BAR_TEXT_BYTES - len), "; %.120s: page %d", p->channel, p->pages);
    return out;
}

void drain_bar_draw(struct drain_bar *bar, const struct drain_progress *p, int64_t now)
{
    char cells[BAR_CELLS + 1], text[DRAIN_BAR_TEXT_BYTES];
    const size_t full = p->total > 0 && p->done < p->total ? BAR_CELLS * p->done / p->total : BAR_CELLS;
    memset(cells, '.', BAR_CELLS);
    memset(cells, '#', full);
    cells[BAR_CELLS] = '\0';
    fprintf(stderr, "\r\033[K[%s] ", cells);
    plain_print(stderr, "%s", drain_bar_text(bar, p, now, text));
    fflush(stderr);
    bar->drawn = true;
}

void drain_bar_clear(struct drain_bar *bar)
{
    if (!bar->drawn) return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    bar->drawn = false;
}
