/* SPDX-License-Identifier: MIT */
/*
 * time: the server's time, and that its clock does not leap.
 *
 * An absence is proven by waiting: a search counts if it began after the last moment at which the attempt could commit,
 * on the server's clock. If that clock leaps ahead, the moment seems to have passed. So it is compared with our own
 * monotonic clock, and after a leap no absence counts until everything that was sent before it is over.
 */
#include "reconciler/reconciler.h"

#include "ledger/setup.h"
#include "runtime/clock.h"
#include "runtime/log.h"

int64_t reconciler_now_ms(const struct reconciler *r)
{
    return server_clock_now(link_clock(r->link), clock_boottime_ms());
}

static bool is_ours(struct reconciler *r, const struct reads_epoch *epoch, struct errbuf *err)
{
    if (setup_home(&r->ledger, epoch, err)) return true;
    log_event(LOG_LEVEL_FATAL, "ledger.environment", LOG_S("why", err->text));
    reconciler_stop(r, 1);
    return false;
}

bool reconciler_read_time(struct reconciler *r, struct reads_overview *overview, struct errbuf *err)
{
    const int64_t sent = clock_boottime_ms(), limit_ms = r->config->redis_round_limit_ms;
    bool returned;
    if (!reads_overview(&r->ledger, r->link, overview, limit_ms, err)) return false;
    if (!is_ours(r, &overview->epoch, err)) return false;
    const int64_t received = clock_boottime_ms();
    if (!comeback_home(&r->comeback, &r->ledger, r->link, overview, limit_ms, &returned, err)) return false;
    server_clock_note(link_clock(r->link), overview->now_ms, sent, received);
    leap_look(&r->leap, link_clock(r->link), r->ledger.longest_window_ms);
    r->clock_known = true;
    if (overview->epoch.no_absence_before_ms < r->leap.until_ms)
        overview->epoch.no_absence_before_ms = r->leap.until_ms;
    return true;
}
