/* SPDX-License-Identifier: MIT */
#include "ledger/comeback.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>

#include "ledger/args.h"
#include "runtime/clock.h"
#include "runtime/log.h"

void comeback_lost(struct comeback *comeback)
{
    if (comeback->lost_boot_ms == 0) comeback->lost_boot_ms = clock_boottime_ms();
}

static bool was_left(const struct comeback *comeback, const char *run_id)
{
    for (size_t i = 0; i < comeback->left_count && i < COMEBACK_SERVERS; i++)
        if (strcmp(comeback->left[i], run_id) == 0) return true;
    return false;
}

#define NO_SERVER "-"

/* The ledger has noticed a change since the other server was lost. */
static bool is_known(const struct comeback *comeback, const struct reads_overview *overview)
{
    const int64_t ago_ms = clock_boottime_ms() - comeback->lost_boot_ms;
    return overview->epoch.rewound_at_ms >= overview->now_ms - ago_ms;
}

static bool tell(const struct ledger *ledger, struct redis_link *link, int64_t limit_ms, struct errbuf *err)
{
    struct args args;
    struct redisReply **replies;
    args_init(&args);
    args_command(&args, "HSET");
    args_key(&args, &ledger->names, NAMES_EPOCH, NULL);
    args_text(&args, "run_id");
    args_text(&args, NO_SERVER);
    bool ok = args_read(&args, link, &replies, limit_ms, err);
    if (ok) args_free_replies(replies, 1);
    args_fini(&args);
    return ok;
}

bool comeback_home(struct comeback *comeback, const struct ledger *ledger, struct redis_link *link,
                   const struct reads_overview *overview, int64_t limit_ms, bool *returned, struct errbuf *err)
{
    const char *run_id = link_run_id(link);
    const bool same = strcmp(comeback->here, run_id) == 0;
    *returned = link_was_replica(link) || (!same && was_left(comeback, run_id));
    if (*returned && !is_known(comeback, overview)) {
        if (!tell(ledger, link, limit_ms, err)) return false;
        log_event(LOG_LEVEL_ERROR, "ledger.comeback", LOG_S("run_id", run_id),
                  LOG_S("why", "a server that was a replica, or was left for another one: it counts as set back"));
    }
    if (!same && comeback->here[0] != '\0')
        memcpy(comeback->left[comeback->left_count++ % COMEBACK_SERVERS], comeback->here, sizeof comeback->here);
    if (!same) snprintf(comeback->here, sizeof comeback->here, "%s", run_id);
    comeback->lost_boot_ms = 0;
    link_note_master(link);
    return true;
}
