/* SPDX-License-Identifier: MIT */
#include "ledger/leap.h"

#include <string.h>

#include "runtime/log.h"

void leap_look(struct leap *leap, const struct server_clock *newest, int64_t longest_window_ms)
{
    if (!newest->known) return;
    const int64_t leap_ms =
        server_clock_leap(&leap->seen, newest->server_ms, newest->sent_boot_ms, newest->received_boot_ms);
    leap->seen = *newest;
    if (leap_ms == 0) return;
    /* Set back, the clock has to come to where it was before anything that was sent then begins to be over. */
    const int64_t latest_ms = newest->server_ms + (leap_ms < 0 ? -leap_ms : 0);
    leap->until_ms = latest_ms + longest_window_ms;
    leap->due = true;
    log_event(LOG_LEVEL_ERROR, "ledger.leap", LOG_I("leap_ms", leap_ms),
              LOG_S("why", "the server's clock leapt: no absence counts until what was sent before is over"));
}

void leap_add(struct leap *leap, struct ledger_round *round, const char *channel)
{
    if (!leap->due || leap->in_round) return;
    memset(&leap->request, 0, sizeof leap->request);
    leap->request.base.channel = channel;
    leap->request.op = CHANNEL_LEAP;
    leap->request.until_ms = leap->until_ms;
    leap->in_round = true;
    round_channel(round, &leap->request);
}

void leap_answered(struct leap *leap)
{
    if (!leap->in_round || leap->request.base.result == REQUEST_PENDING) return;
    leap->in_round = false;
    leap->retry_boot_ms = leap->request.base.result == REQUEST_ANSWERED ? 0 : clock_boottime_ms() + ERRORS_RETRY_MS;
    if (leap->request.base.result == REQUEST_ANSWERED && leap->request.until_ms == leap->until_ms) leap->due = false;
}
