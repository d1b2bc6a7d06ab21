/* SPDX-License-Identifier: MIT */
#include "worker/process.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/alive.h"
#include "ledger/reads.h"
#include "ledger/setup.h"
#include "runtime/clock.h"
#include "runtime/crash.h"
#include "runtime/die.h"
#include "runtime/log.h"
#include "runtime/plain.h"
#include "worker/spool.h"

#define PROCESS_ASK_MS        15000 /* the gauges that only the ledger knows */
#define PROCESS_LAST_ROUND_MS 3000  /* after the grace time, to write down what was given up */

const struct service_program process_program = {"landfall-worker", SERVICE_WORKER_PORT};

static const char *const crash_points[] = {
    "after_read",        "before_claim",    "after_claim",  "after_login",   "after_session", "after_prepare",
    "before_first_byte", "after_last_byte", "after_answer", "before_settle", "after_settle",  NULL,
};

/* ---- opening ---- */

static bool ready(void *context, char *why, size_t why_size)
{
    const struct process *p = context;
    const struct worker *w = &p->worker;
    const struct setup_readiness facts = {w->lane_count,   w->stopping,         work_connected(w),
                                          p->takes_writes, feed_fails(w->feed), !copies_open(w->copies)};
    return setup_ready(p->config, &facts, why, why_size);
}

static void open_lanes(struct worker *w)
{
    w->lane_count = channel_set_count(w->channels);
    w->lanes = xcalloc(w->lane_count, sizeof *w->lanes);
    w->session_lanes = xcalloc(w->lane_count, sizeof(struct lane *));
    for (size_t i = 0; i < w->lane_count; i++) {
        w->lanes[i].owner.kind = OWNER_LANE;
        w->lanes[i].channel = channel_set_at(w->channels, i);
        keeper_init(&w->lanes[i].keeper, w->lanes[i].channel, DESCRIPTOR_WRITE, &w->fleet);
        if (channel_has_session(w->lanes[i].channel)) w->session_lanes[w->session_lane_count++] = &w->lanes[i];
    }
}

static bool open_worker(struct process *p, struct errbuf *err)
{
    struct worker *w = &p->worker;
    w->config = p->config;
    w->channels = p->fleet.channels;
    w->unknown_policy = p->fleet.defaults;
    setup_name(p->config, p->name);
    if (!setup_ledger(p->config, p->name, p->fleet.longest_window_ms, &w->ledger, err)) return false;
    w->link = setup_link(p->config, &w->ledger, p->name);
    w->feed = feed_new(&w->ledger, setup_link(p->config, &w->ledger, p->name), p->name);
    w->copies = copies_new(p->config, &w->ledger, setup_link(p->config, &w->ledger, p->name));
    w->round = round_new(&w->ledger);
    if (!spool_open(p->config, p->name, &w->spool, err)) return false;
    w->slot_count = (int)p->config->worker_slots;
    w->slots = xcalloc((size_t)w->slot_count, sizeof *w->slots);
    w->fleet = (struct keeper_fleet){
        .ledger = &w->ledger, .link = w->link, .name = p->name, .round_limit_ms = p->config->redis_round_limit_ms};
    open_lanes(w);
    w->pool = transfer_pool_new(w->slot_count + (int)w->lane_count, &p->config->fetch_allowed);
    transfer_pool_only(w->pool, &p->config->only_hosts);
    return true;
}

bool process_open(struct process *p, const char *config_path, bool until_idle, bool serve, struct errbuf *err)
{
    memset(p, 0, sizeof *p);
    p->exit_code = 1;
    gauges_init(&p->gauges);
    secret_protect_process();
    service_init(&p->service, &process_program, p->gauges.metrics);
    tally_init(&p->worker.tally, until_idle);
    p->worker.until_idle = until_idle;
    p->worker.gauges = &p->gauges;
    p->last_seen_boot_ms = clock_boottime_ms();
    if (!config_load(config_path, &p->config, err)) goto failed;
    log_configure((enum log_level)p->config->log_level, (enum log_format)p->config->log_format);
    if (!crash_configure(p->config->environment, crash_points, err) || !fleet_load(p->config, &p->fleet, err) ||
        !open_worker(p, err) ||
        (serve && !service_open_page(&p->service, p->config->metrics_listen, p->gauges.metrics, ready, p, err)))
        goto failed;
    if (!serve) return true;
    log_event(LOG_LEVEL_INFO, "worker.started", LOG_S("name", p->name), LOG_S("version", LANDFALL_VERSION),
              LOG_S("config", p->config->path != NULL ? p->config->path : "(none)"),
              LOG_I("channels", (int64_t)p->worker.lane_count), LOG_I("slots", p->worker.slot_count));
    if (p->worker.lane_count == 0) setup_say_no_channels(p->config);
    spool_say(p->worker.spool);
    return true;
failed:
    process_close(p);
    return false;
}

void process_close(struct process *p)
{
    struct worker *w = &p->worker;
    for (int i = 0; i < w->slot_count; i++) {
        if (w->slots[i].phase != SLOT_FREE) slot_release(w, &w->slots[i]);
    }
    transfer_pool_free(&w->pool);
    round_free(&w->round);
    spool_close(&w->spool);
    feed_batch_fini(&w->backlog);
    feed_free(&w->feed);
    copies_free(&w->copies);
    for (size_t i = 0; i < w->lane_count; i++)
        keeper_fini(&w->lanes[i].keeper);
    link_free(&w->link);
    free(w->session_lanes);
    free(w->lanes);
    free(w->slots);
    tally_fini(&w->tally);
    fleet_fini(&p->fleet);
    config_free(&p->config);
    service_close(&p->service);
    gauges_fini(&p->gauges);
}

/* ---- a turn's parts ---- */

void worker_stop(struct worker *w, int exit_code)
{
    if (w->stopping) return;
    w->stopping = true;
    w->exit_code = exit_code;
    w->grace_end_boot_ms = clock_boottime_ms() + w->config->worker_grace_ms;
    log_event(LOG_LEVEL_INFO, "worker.stopping", LOG_I("in_hand", w->slots_used),
              LOG_I("grace_ms", w->config->worker_grace_ms));
    for (int i = 0; i < w->slot_count; i++) { /* what was never claimed is somebody else's */
        if (w->slots[i].phase == SLOT_CLAIM && !w->slots[i].claim_sent) slot_release(w, &w->slots[i]);
    }
}

bool process_over(const struct process *p)
{
    const struct worker *w = &p->worker;
    if (p->service.stop_at_once) return true;
    if (!w->stopping) return false;
    return w->slots_used == 0 || clock_boottime_ms() >= w->grace_end_boot_ms + PROCESS_LAST_ROUND_MS;
}

/* The earliest moment at which something is to be done that no descriptor announces. What cannot be done now (no slot
 * is free, Redis is away) must not be waited for, or the loop would spin. */
static int64_t wake_of_work(const struct worker *w)
{
    int64_t until = work_has_room(w) ? feed_wake_ms(w->feed) : INT64_MAX;
    int64_t wake = link_next_try_ms(w->link);
    if (link_is_open(w->link) && !w->at_home) wake = w->next_home_check_ms;
    if (round_under_way(w->round)) { /* all that asks Redis comes after it */
        wake = round_wake_ms(w->round, w->link);
    } else if (work_connected(w)) {
        bool reads_agenda =
            !w->stopping && w->take_count == 0 && w->slots_used < w->slot_count && copies_open(w->copies);
        wake = reads_agenda && w->next_agenda_ms < w->next_heartbeat_ms ? w->next_agenda_ms : w->next_heartbeat_ms;
    }
    if (work_connected(w) && copies_wake_ms(w->copies) < wake) wake = copies_wake_ms(w->copies);
    return wake < until ? wake : until;
}

static bool waits_for_round(const struct worker *w, const struct slot *slot)
{
    if (slot->phase == SLOT_CLAIM) return slot->claim_sent || copies_open(w->copies);
    return slot->phase == SLOT_FREEZE || slot->phase == SLOT_SETTLE;
}

static int64_t wake_of_slot(const struct worker *w, const struct slot *slot, int64_t now)
{
    bool sends = work_connected(w) && !round_under_way(w->round);
    if (slot->phase == SLOT_LOGIN) return now + 100;
    if (slot->phase == SLOT_PREPARE && sends) return slot->renew_boot_ms;
    if (slot->phase == SLOT_PAUSE) return slot->pause_boot_ms;
    if (slot->phase == SLOT_COPIES) return slot->deadline_boot_ms;
    if (!sends || !waits_for_round(w, slot)) return INT64_MAX;
    if (slot->retry_boot_ms > now) return slot->retry_boot_ms;
    return now + (transfer_in_flight(w->pool) > 0 ? 1 : 0);
}

static int wait_ms(const struct process *p)
{
    const struct worker *w = &p->worker;
    int64_t now = clock_boottime_ms();
    int64_t until = now + WORKER_TURN_MAX_MS;
    int64_t wake = wake_of_work(w);
    if (wake < until) until = wake;
    for (int i = 0; i < w->slot_count; i++) {
        wake = wake_of_slot(w, &w->slots[i], now);
        if (wake < until) until = wake;
    }
    return until > now ? (int)(until - now) : 0;
}

static void wait_for_something(struct process *p)
{
    struct worker *w = &p->worker;
    struct transfer_fd fds[] = {{.fd = feed_fd(w->feed)},
                                {.fd = p->service.signal_fd},
                                {.fd = metrics_http_fd(p->service.http)},
                                {.fd = round_fd(w->round, w->link)},
                                {.fd = work_connected(w) ? copies_fd(w->copies) : -1}}; /* else nobody reads it */
    transfer_wait(w->pool, fds, sizeof fds / sizeof fds[0], service_timeout_ms(&p->service, wait_ms(p)));
    service_turned(&p->service);
}

static void heartbeat(struct process *p, int64_t now)
{
    struct errbuf err;
    char text[192];
    struct worker *w = &p->worker;
    const char *copies = w->copies == NULL ? "" : copies_open(w->copies) ? " copies=enough" : " copies=missing";
    snprintf(text, sizeof text, "in_hand=%d writes=%" PRId64 " published=%" PRId64 " channels=%zu metrics=%s%s",
             w->slots_used, w->tally.writes, w->tally.state[DS_PUBLISHED], w->lane_count, p->service.address, copies);
    p->takes_writes = alive_tell(&w->ledger, w->link, "worker", p->service.started_wall_ms, text,
                                 p->config->redis_round_limit_ms, &err);
    leap_look(&w->leap, link_clock(w->link), w->ledger.longest_window_ms);
    w->next_heartbeat_ms = now + (p->takes_writes ? WORKER_HEARTBEAT_MS : ALIVE_RETRY_MS);
    if (!p->takes_writes) log_event_limited(LOG_LEVEL_WARN, "ledger.lost", LOG_S("why", err.text));
}

/* --until-idle: true when Redis, or copies of it, have been away for so long that nothing will be concluded. */
static bool redis_gone(struct process *p, int64_t now)
{
    if (work_connected(&p->worker) && copies_open(p->worker.copies)) p->last_seen_boot_ms = now;
    return now - p->last_seen_boot_ms > p->config->redis_away_limit_ms;
}

/* --until-idle: nothing in hand, nothing in the queue, nothing due. */
static void check_idle(struct process *p, int64_t now)
{
    struct worker *w = &p->worker;
    struct errbuf err;
    struct reads_overview overview;
    if (redis_gone(p, now)) {
        log_event(LOG_LEVEL_FATAL, "ledger.gone", LOG_I("away_limit_ms", p->config->redis_away_limit_ms));
        worker_stop(w, 2);
        return;
    }
    if (w->slots_used > 0 || w->take_count > 0 || w->backlog.count > 0 || now < w->next_idle_check_ms) return;
    w->next_idle_check_ms = now + WORKER_IDLE_CHECK_MS;
    if (!work_connected(w)) return;
    if (!reads_overview(&w->ledger, w->link, &overview, p->config->redis_round_limit_ms, &err)) return;
    bool due = w->due.count > 0 || (w->due.next_ms > 0 && w->due.next_ms <= overview.now_ms);
    if (overview.queue_length == 0 && !due && w->agenda_reads > p->agenda_reads_at_idle) {
        if (p->idle_seen) worker_stop(w, 0);
        p->idle_seen = true; /* and once more: an agenda that was read before the queue ran dry proves nothing */
    } else {
        p->idle_seen = false;
    }
    p->agenda_reads_at_idle = w->agenda_reads;
}

/* Once, when Redis answers first. A channel that was paused for its credential gets one try with the one that this
 * process was started with; one that the configuration pauses, or pauses no more, follows it. */
static bool compare_pauses(struct process *p)
{
    struct errbuf err;
    struct worker *w = &p->worker;
    struct reads_channel *channels = NULL;
    size_t count = 0;
    if (!reads_channels(&w->ledger, w->link, NULL, &channels, &count, p->config->redis_round_limit_ms, &err))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct lane *lane = lane_of(w, channels[i].channel);
        if (lane == NULL || !channels[i].paused) continue;
        settle_lift(w, lane,
                    strcmp(channels[i].paused_why, WORKER_PAUSED_BY_CONFIG) == 0 ? WORKER_PAUSED_BY_CONFIG
                                                                                 : WORKER_PAUSED_BY_CREDENTIAL);
    }
    reads_channels_free(&channels);
    for (size_t i = 0; i < w->lane_count; i++) {
        if (!w->lanes[i].channel->paused) continue;
        word_drop(&w->lanes[i].pause);
        settle_pause(w, &w->lanes[i], WORKER_PAUSED_BY_CONFIG);
    }
    return true;
}

static void give_up(struct process *p)
{
    struct worker *w = &p->worker;
    if (!w->stopping || p->given_up || clock_boottime_ms() < w->grace_end_boot_ms) return;
    p->given_up = true;
    send_give_up(w);
}

/* What asks Redis and waits for the answer, now and then. Between two rounds: then the answer comes at once, and while
 * Redis hangs a round is under way, and the loop turns. */
static void ask(struct process *p)
{
    struct errbuf err = {{0}};
    struct worker *w = &p->worker;
    work_ask(w);
    int64_t now = clock_boottime_ms();
    if (w->until_idle && !w->stopping) check_idle(p, now);
    if (!p->pauses_compared && work_connected(w)) p->pauses_compared = compare_pauses(p);
    if (!work_connected(w) || now < w->next_heartbeat_ms) return;
    heartbeat(p, now);
    log_limited_flush(now);
    if (p->service.http != NULL && now >= p->next_ask_ms) {
        p->next_ask_ms = now + PROCESS_ASK_MS;
        if (!meters_ask(&p->gauges.ledger, &w->ledger, w->link, p->config->redis_round_limit_ms, &err))
            log_event_limited(LOG_LEVEL_WARN, "ledger.lost", LOG_S("why", err.text));
    }
}

/* ---- credentials ---- */

static void reload(struct process *p)
{
    if (setup_reload(p->config, p->worker.link)) {
        feed_set_password(p->worker.feed, p->config->redis_password);
        copies_set_password(p->worker.copies, p->config->redis_password);
    }
    for (size_t i = 0; i < p->worker.lane_count; i++) {
        struct lane *lane = &p->worker.lanes[i];
        if (!channel_reload(lane->channel)) continue;
        keeper_renew(&lane->keeper);
        settle_lift(&p->worker, lane, WORKER_PAUSED_BY_CREDENTIAL);
    }
}

/* ---- a turn ---- */

static void handle_signals(struct process *p)
{
    const struct service_wanted wanted = service_wanted(&p->service, p->worker.stopping);
    if (wanted.reload) reload(p);
    if (wanted.stop) worker_stop(&p->worker, 0);
}

void process_turn(struct process *p)
{
    struct worker *w = &p->worker;
    wait_for_something(p);
    log_hold();
    handle_signals(p);
    send_collect(w);
    round_hear(w);
    if (!round_under_way(w->round)) ask(p);
    round_begin(w);
    round_heed(w);
    work_take_in(w);
    round_begin(w);
    copied_turn(w);
    spool_keep(w, false);
    send_waiting(w);
    prepare_waiting(w);
    give_up(p);
    gauges_update(&p->gauges, w);
    log_release();
}

/* ---- the check, the end ---- */

/* Else a program is compiled when it is needed first. */
static bool programs_compile(const struct worker *w)
{
    struct errbuf err = {{0}};
    bool compile = true;
    for (size_t i = 0; i < w->lane_count; i++) {
        struct channel *channel = w->lanes[i].channel;
        if (channel_compiles(channel, DESCRIPTOR_WRITE, &err)) continue;
        plain_line(stderr, "not ready: %s: %s", channel->name, err.text);
        compile = false;
    }
    return compile;
}

int process_check(struct process *p)
{
    struct errbuf err = {{0}};
    struct reads_overview overview;
    struct worker *w = &p->worker;
    int code = 1;
    if (!programs_compile(w) || !setup_channels(p->config, w->lane_count, &err)) goto out;
    code = 2;
    if (!link_open(w->link, &err) ||
        !reads_overview(&w->ledger, w->link, &overview, p->config->redis_round_limit_ms, &err)) {
        setup_explain_away(p->config, &err);
        goto out;
    }
    code = 1;
    if (!setup_home(&w->ledger, &overview.epoch, &err)) goto out;
    plain_line(stdout, "ready: %zu channels, Redis answers", w->lane_count);
    return 0;
out:
    if (err.text[0] != '\0') plain_line(stderr, "not ready: %s", err.text);
    return code;
}

int process_report(struct process *p)
{
    struct errbuf err;
    struct worker *w = &p->worker;
    spool_keep(w, true);
    int code = w->exit_code != 0 ? w->exit_code : w->until_idle ? tally_exit_code(&w->tally) : 0;
    if (w->slots_used > 0)
        log_event(
            LOG_LEVEL_WARN, "worker.left_over", LOG_I("in_hand", w->slots_used),
            LOG_I("spooled", spool_pending(w->spool)),
            LOG_S(
                "why",
                "what is spooled is settled by the next worker; the other leases end by themselves, and what may have "
                "been sent becomes uncertain and is read back"));
    if (link_is_open(w->link) && !feed_leave(w->feed, w->link, p->config->redis_round_limit_ms, &err))
        log_event(LOG_LEVEL_WARN, "worker.not_left", LOG_S("why", err.text));
    if (w->until_idle) tally_print(&w->tally, link_round_trips(w->link), stdout);
    log_event(LOG_LEVEL_INFO, "worker.stopped", LOG_I("exit", code));
    return code;
}
