/* SPDX-License-Identifier: MIT */
#include "reconciler/process.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/alive.h"
#include "ledger/setup.h"
#include "platforms/channel.h"
#include "runtime/clock.h"
#include "runtime/crash.h"
#include "runtime/die.h"
#include "runtime/log.h"
#include "runtime/random.h"

#define PROCESS_TURN_MAX_MS   1000  /* no turn of the loop waits longer */
#define PROCESS_DRAIN_TURN_MS 100   /* so long in a drain: somebody watches it, and its end is told in seconds */
#define PROCESS_CHORES_MS     10000 /* heartbeat and time */
#define PROCESS_ASK_MS        15000 /* the gauges that only the ledger knows */
#define PROCESS_GONE_MS       10000 /* so long without Redis, and process_work() ends */
#define PROCESS_NO_REDIS_MS   100   /* without Redis no step of a walk is hurried */
#define PROCESS_BASE_NAME     44    /* of the name; a walk lease holds 64 bytes */

const struct service_program process_program = {"landfall-reconciler", SERVICE_RECONCILER_PORT};

static const char *const crash_points[] = {
    "after_walk_begin", "after_page", "after_login", "after_session", "before_resolve", "after_resolve", NULL,
};

/* ---- opening ---- */

static bool ready(void *context, char *why, size_t why_size)
{
    const struct process *p = context;
    const struct reconciler *r = &p->reconciler;
    const struct setup_readiness facts = {r->lane_count,   r->stopping, link_is_open(r->link),
                                          p->takes_writes, false,       false};
    return setup_ready(p->config, &facts, why, why_size);
}

/* The holder of a walk lease is known by its name, so two processes of one configuration need two. */
static void make_name(struct reconciler *r)
{
    char base[64], unique[9];
    setup_name(r->config, base);
    random_hex(unique, sizeof unique);
    snprintf(r->name, sizeof r->name, "%.*s-r-%s", PROCESS_BASE_NAME, base, unique);
}

static bool open_reconciler(struct process *p, struct errbuf *err)
{
    struct reconciler *r = &p->reconciler;
    r->config = p->config;
    make_name(r);
    if (!fleet_load(p->config, &r->fleet, err)) return false;
    if (!setup_ledger(p->config, r->name, r->fleet.longest_window_ms, &r->ledger, err)) return false;
    r->link = setup_link(p->config, &r->ledger, r->name);
    r->round = round_new(&r->ledger);
    r->keepers = (struct keeper_fleet){
        .ledger = &r->ledger, .link = r->link, .name = r->name, .round_limit_ms = p->config->redis_round_limit_ms};
    r->lane_count = channel_set_count(r->fleet.channels);
    r->pool = transfer_pool_new(RECONCILER_WALKS_MAX + (int)r->lane_count, &p->config->fetch_allowed);
    transfer_pool_only(r->pool, &p->config->only_hosts);
    r->lanes = xcalloc(r->lane_count, sizeof *r->lanes);
    for (size_t i = 0; i < r->lane_count; i++) {
        r->lanes[i].channel = channel_set_at(r->fleet.channels, i);
        keeper_init(&r->lanes[i].keeper, r->lanes[i].channel, DESCRIPTOR_READ, &r->keepers);
    }
    return true;
}

bool process_open(struct process *p, const char *config_path, bool serve, struct errbuf *err)
{
    memset(p, 0, sizeof *p);
    p->exit_code = 1;
    p->is_service = serve;
    sweep_init(&p->sweep);
    gauges_init(&p->reconciler.gauges);
    secret_protect_process();
    service_init(&p->service, &process_program, p->reconciler.gauges.metrics);
    if (!config_load(config_path, &p->config, err)) goto failed;
    log_configure((enum log_level)p->config->log_level, (enum log_format)p->config->log_format);
    if (!crash_configure(p->config->environment, crash_points, err) || !open_reconciler(p, err) ||
        (serve &&
         !service_open_page(&p->service, p->config->metrics_listen, p->reconciler.gauges.metrics, ready, p, err)))
        goto failed;
    return true;
failed:
    process_close(p);
    return false;
}

void process_close(struct process *p)
{
    struct reconciler *r = &p->reconciler;
    for (size_t i = 0; i < RECONCILER_WALKS_MAX; i++)
        walk_drop(r, &r->walks[i]);
    transfer_pool_free(&r->pool);
    round_free(&r->round);
    sweep_fini(&p->sweep);
    for (size_t i = 0; i < r->lane_count; i++)
        keeper_fini(&r->lanes[i].keeper);
    link_free(&r->link);
    free(r->lanes);
    free(r->strangers);
    fleet_fini(&r->fleet);
    service_close(&p->service);
    gauges_fini(&r->gauges);
    config_free(&p->config);
}

/* ---- the end ---- */

void reconciler_stop(struct reconciler *r, int exit_code)
{
    if (exit_code != 0 && r->exit_code == 0) r->exit_code = exit_code;
    if (r->stopping) return;
    r->stopping = true;
    if (!r->draining) log_event(LOG_LEVEL_INFO, "reconciler.stopping", LOG_I("exit", exit_code));
}

static bool is_walking(const struct reconciler *r)
{
    for (size_t i = 0; i < RECONCILER_WALKS_MAX; i++)
        if (r->walks[i].phase != WALK_FREE) return true;
    return false;
}

/* Without Redis a lease cannot be given back; it ends by itself. */
bool process_over(const struct process *p)
{
    const struct reconciler *r = &p->reconciler;
    return p->service.stop_at_once ||
           (r->stopping && ((!is_walking(r) && !reading_logs_in(r)) || !link_is_open(r->link)));
}

/* ---- a turn ---- */

static bool may_sweep(const struct process *p)
{
    const struct reconciler *r = &p->reconciler;
    return p->is_service && !r->stopping && link_is_open(r->link) && r->clock_known;
}

static int wait_ms(const struct process *p)
{
    const struct reconciler *r = &p->reconciler;
    const int64_t now = clock_boottime_ms();
    const bool redis = link_is_open(r->link);
    int64_t until = now + (r->draining ? PROCESS_DRAIN_TURN_MS : PROCESS_TURN_MAX_MS);
    const int64_t next = redis ? lanes_wake_boot_ms(r) : link_next_try_ms(r->link);
    if (next < until) until = next;
    if (may_sweep(p) && sweep_due_ms(&p->sweep) < until) until = sweep_due_ms(&p->sweep);
    for (size_t i = 0; i < RECONCILER_WALKS_MAX; i++) {
        int64_t wake = walk_wake_boot_ms(&r->walks[i], now);
        if (!redis && wake < now + PROCESS_NO_REDIS_MS) wake = now + PROCESS_NO_REDIS_MS;
        if (wake < until) until = wake;
    }
    return until > now ? (int)(until - now) : 0;
}

static void wait_for_something(struct process *p)
{
    struct transfer_fd fds[] = {{.fd = p->service.signal_fd}, {.fd = metrics_http_fd(p->service.http)}};
    transfer_wait(p->reconciler.pool, fds, sizeof fds / sizeof fds[0], service_timeout_ms(&p->service, wait_ms(p)));
    service_turned(&p->service);
}

static void reload(struct process *p)
{
    struct reconciler *r = &p->reconciler;
    (void)setup_reload(p->config, r->link);
    for (size_t i = 0; i < r->lane_count; i++) {
        struct lane *lane = &r->lanes[i];
        if (!channel_reload(lane->channel)) continue;
        keeper_renew(&lane->keeper);
        lane->refusal_told = false;
    }
}

static void handle_signals(struct process *p)
{
    const struct service_wanted wanted = service_wanted(&p->service, p->reconciler.stopping);
    if (wanted.reload) reload(p);
    if (wanted.stop) reconciler_stop(&p->reconciler, 0);
}

static void keep_link(struct reconciler *r)
{
    struct errbuf err = {{0}};
    struct reads_overview overview;
    if (!link_is_open(r->link)) comeback_lost(&r->comeback);
    if (link_keep(r->link, &err)) {
        if (r->clock_known || r->stopping) return;
        if (reconciler_read_time(r, &overview, &err)) return;
    }
    r->clock_known = false; /* another connection may be another server */
    if (err.text[0] != '\0') log_event_limited(LOG_LEVEL_WARN, "ledger.away", LOG_S("why", err.text));
    if (link_must_stop(r->link)) reconciler_stop(r, 2);
}

static void heartbeat(struct process *p)
{
    struct errbuf err = {{0}};
    char text[192];
    struct reconciler *r = &p->reconciler;
    int walking = 0;
    for (size_t i = 0; i < RECONCILER_WALKS_MAX; i++)
        walking += r->walks[i].phase != WALK_FREE;
    snprintf(text, sizeof text, "resolved=%" PRId64 " walking=%d channels=%zu metrics=%s", r->resolved_count, walking,
             r->lane_count, p->service.address);
    p->takes_writes = alive_tell(&r->ledger, r->link, "reconciler", p->service.started_wall_ms, text,
                                 p->config->redis_round_limit_ms, &err);
    if (p->takes_writes) return;
    p->next_chores_ms = clock_boottime_ms() + ALIVE_RETRY_MS;
    log_event_limited(LOG_LEVEL_WARN, "ledger.lost", LOG_S("why", err.text));
}

static void chores(struct process *p)
{
    struct errbuf err = {{0}};
    struct reads_overview overview;
    struct reconciler *r = &p->reconciler;
    const int64_t now = clock_boottime_ms();
    metrics_set(r->gauges.in_flight, "", transfer_in_flight(r->pool));
    meters_update(&r->gauges.ledger, r->link, link_is_open(r->link));
    if (r->stopping || !link_is_open(r->link) || now < p->next_chores_ms) return;
    p->next_chores_ms = now + PROCESS_CHORES_MS;
    if (!r->draining) heartbeat(p);
    if (link_is_open(r->link) && !reconciler_read_time(r, &overview, &err))
        log_event_limited(LOG_LEVEL_WARN, "ledger.lost", LOG_S("why", err.text));
    log_limited_flush(now);
    if (p->service.http == NULL || now < p->next_ask_ms || !link_is_open(r->link)) return;
    p->next_ask_ms = now + PROCESS_ASK_MS;
    if (!meters_ask(&r->gauges.ledger, &r->ledger, r->link, p->config->redis_round_limit_ms, &err))
        log_event_limited(LOG_LEVEL_WARN, "ledger.lost", LOG_S("why", err.text));
}

/* What a failed machine, or somebody's hand, has left on no list would be looked at by nobody. */
static void sweep(struct process *p)
{
    struct errbuf err = {{0}};
    struct reconciler *r = &p->reconciler;
    int64_t placed = 0;
    if (!may_sweep(p)) return;
    if (!sweep_step(&p->sweep, &r->ledger, r->link, p->config->redis_round_limit_ms, &placed, &err))
        log_event_limited(LOG_LEVEL_WARN, "ledger.lost", LOG_S("why", err.text));
    if (placed > 0)
        log_event(LOG_LEVEL_WARN, "ledger.placed", LOG_I("deliveries", placed),
                  LOG_S("why", "they were not settled and stood on no list; now they are on the agenda"));
}

void process_turn(struct process *p)
{
    struct reconciler *r = &p->reconciler;
    wait_for_something(p);
    handle_signals(p);
    reading_collect(r);
    keep_link(r);
    for (size_t i = 0; i < RECONCILER_WALKS_MAX; i++) {
        if (r->stopping) walk_stop(r, &r->walks[i]);
        walk_step(r, &r->walks[i]);
    }
    turn_round(r);
    lanes_turn(r);
    chores(p);
    sweep(p);
}

bool process_work(struct process *p, bool (*goes_on)(void *context), void *context)
{
    struct reconciler *r = &p->reconciler;
    int64_t redis_boot_ms = clock_boottime_ms();
    bool gone = false;
    while (!process_over(p)) {
        const int64_t now = clock_boottime_ms();
        if (link_is_open(r->link)) redis_boot_ms = now;
        gone = now - redis_boot_ms > PROCESS_GONE_MS;
        if (gone || (!r->stopping && !goes_on(context))) reconciler_stop(r, gone ? 2 : 0);
        if (!process_over(p)) process_turn(p);
    }
    return !gone;
}

bool process_check(struct process *p, struct errbuf *err)
{
    struct reads_overview overview;
    struct reconciler *r = &p->reconciler;
    if (!setup_channels(p->config, r->lane_count, err)) {
        r->exit_code = 1;
        return false;
    }
    if (!link_open(r->link, err) || !reconciler_read_time(r, &overview, err)) {
        setup_explain_away(p->config, err);
        return false;
    }
    return true;
}
