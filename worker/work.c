/* SPDX-License-Identifier: MIT */
/*
 * work: where work comes from: the agenda first (what comes again must not starve behind what is new), then the feed,
 * then what dead workers left.
 */
#include "worker/spool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/reads.h"
#include "ledger/setup.h"
#include "runtime/clock.h"
#include "runtime/die.h"
#include "runtime/log.h"

bool work_has_room(const struct worker *w)
{
    return w->backlog.count == 0 && slots_free(w) > 0 && !w->stopping && work_connected(w) && copies_open(w->copies);
}

bool work_connected(const struct worker *w)
{
    return link_is_open(w->link) && w->at_home;
}

void work_foreign(struct worker *w, const char *theirs)
{
    struct errbuf err = {{0}};
    if (setup_environment(&w->ledger, theirs, &err)) return;
    log_event_limited(LOG_LEVEL_FATAL, "ledger.environment", LOG_S("why", err.text));
    worker_stop(w, 1);
}

/* What these attempts were claimed of may be forgotten there: their reports are told so (attempt_report_to()). */
static void forget_servers(struct worker *w)
{
    for (int i = 0; i < w->slot_count; i++)
        if (w->slots[i].run_id[0] != '\0') snprintf(w->slots[i].run_id, sizeof w->slots[i].run_id, "-");
}

/* Not even taking is harmless in another environment's ledger: what is handed out again and again is put aside. */
static void come_home(struct worker *w)
{
    struct errbuf err = {{0}};
    struct reads_overview overview;
    bool returned = false;
    w->next_home_check_ms = clock_boottime_ms() + WORKER_HOME_MS;
    if (!reads_overview(&w->ledger, w->link, &overview, w->config->redis_round_limit_ms, &err)) {
        log_event_limited(LOG_LEVEL_WARN, "ledger.lost", LOG_S("why", err.text));
        return;
    }
    if (!setup_home(&w->ledger, &overview.epoch, &err)) {
        log_event_limited(LOG_LEVEL_FATAL, "ledger.environment", LOG_S("why", err.text));
        worker_stop(w, 1);
        return;
    }
    w->at_home =
        comeback_home(&w->comeback, &w->ledger, w->link, &overview, w->config->redis_round_limit_ms, &returned, &err);
    if (!w->at_home) log_event_limited(LOG_LEVEL_WARN, "ledger.lost", LOG_S("why", err.text));
    if (returned) forget_servers(w);
}

static void keep_link(struct worker *w)
{
    struct errbuf err = {{0}};
    if (!link_is_open(w->link)) {
        w->at_home = false; /* another connection may be another server */
        comeback_lost(&w->comeback);
    }
    if (link_keep(w->link, &err)) {
        if (!w->at_home && clock_boottime_ms() >= w->next_home_check_ms) come_home(w);
        return;
    }
    if (err.text[0] == '\0') return;
    log_event_limited(LOG_LEVEL_WARN, "ledger.away", LOG_S("why", err.text));
    if (link_must_stop(w->link)) {
        log_event(LOG_LEVEL_FATAL, "ledger.stop", LOG_S("why", err.text));
        worker_stop(w, 2);
    }
}

/* ---- the agenda ---- */

static int room_of(const char *channel, void *arg)
{
    struct worker *w = arg;
    struct lane *lane = lane_of(w, channel);
    if (lane == NULL) return TAKE_UNKNOWN_CHANNEL;
    lane->more = true;
    return lane_room(w, lane);
}

static struct take_channel *take_channel_of(struct worker *w, const char *name, size_t *count)
{
    for (size_t i = 0; i < *count; i++) {
        if (strcmp(w->take_channels[i].name, name) == 0) return &w->take_channels[i];
    }
    const struct lane *lane = lane_of(w, name);
    struct take_channel *out = &w->take_channels[(*count)++];
    *out = (struct take_channel){.name = name, .room = TAKE_UNKNOWN_CHANNEL, .burst = 1};
    if (lane != NULL)
        *out = (struct take_channel){
            .name = name,
            .room = lane_room(w, lane),
            .late_commit_ms = lane->channel->policy.late_commit_ms,
            .harmless = lane->channel->policy.harmless,
            .spacing_ms = lane->channel->spacing_ms,
            .burst = lane->channel->burst,
        };
    return out;
}

static void prepare_takes(struct worker *w)
{
    size_t channels = 0;
    for (size_t i = 0; i < w->due.count; i++) {
        const struct agenda_item *item = &w->due.item[i];
        w->takes[i] = (struct take_request){
            .base = {.channel = item->channel, .delivery = item->delivery[0] != '\0' ? item->delivery : NULL},
            .channel = take_channel_of(w, item->channel, &channels),
            .waiting = item->waiting,
            .score_ms = item->score_ms,
        };
    }
    w->take_count = w->due.count;
    w->takes_since_ms = clock_boottime_ms();
}

static void read_agenda(struct worker *w, int64_t now)
{
    struct errbuf err = {{0}};
    int free_slots = slots_free(w);
    int64_t server_now = server_clock_now(link_clock(w->link), now);
    size_t max = free_slots < AGENDA_DUE_MAX ? (size_t)free_slots : AGENDA_DUE_MAX;
    w->next_agenda_ms = now + WORKER_AGENDA_MS;
    if (!agenda_read(&w->ledger, w->link, server_now, max, room_of, w, &w->due, w->config->redis_round_limit_ms,
                     &err)) {
        log_event_limited(LOG_LEVEL_WARN, "ledger.lost", LOG_S("why", err.text));
        return;
    }
    w->agenda_reads++;
    if (w->due.count == max) /* there may be more: as soon as there are slots */
        w->next_agenda_ms = now;
    else if (w->due.next_ms > 0 && w->due.next_ms - server_now < WORKER_AGENDA_MS)
        w->next_agenda_ms = now + (w->due.next_ms > server_now ? w->due.next_ms - server_now : 0);
    prepare_takes(w);
}

/* ---- the feed ---- */

static void drain_backlog(struct worker *w)
{
    if (!w->stopping) w->backlog_at = intake_entries(w, &w->backlog, w->backlog_at);
    if (w->backlog_at < w->backlog.count && !w->stopping) return; /* a worker that ends leaves them to the others */
    feed_batch_fini(&w->backlog);
    w->backlog_at = 0;
}

static void backlog_add(struct worker *w, struct feed_batch *own_batch)
{
    size_t count = w->backlog.count + own_batch->count;
    w->backlog.entries = xrealloc_array(w->backlog.entries, count, sizeof *w->backlog.entries);
    memcpy(&w->backlog.entries[w->backlog.count], own_batch->entries, own_batch->count * sizeof *own_batch->entries);
    w->backlog.count = count;
    free(own_batch->entries); /* the entries themselves have moved */
}

static void read_feed(struct worker *w)
{
    struct errbuf err = {{0}};
    /* A try to connect to a Redis that does not answer takes the loop's time: one connection tries, the other follows.
     */
    if (!work_connected(w) && feed_fd(w->feed) < 0) return;
    int free_slots = slots_free(w);
    bool full = !work_has_room(w);
    struct feed_batch batch = {0};
    if (!feed_step(w->feed, full ? 0 : (size_t)free_slots, &batch, &err) && err.text[0] != '\0')
        log_event_limited(LOG_LEVEL_WARN, "feed.lost", LOG_S("why", err.text));
    if (batch.count == 0) return;
    backlog_add(w, &batch); /* an answer may have been under way when the slots were taken */
    drain_backlog(w);
}

/* Entries whose claims the ledger refuses (a full server, ..), or that wait for copies, stay with this worker: that
 * nobody comes to claim them is not their fault. */
static void hold_entries(struct worker *w)
{
    struct errbuf err = {{0}};
    const char *ids[FEED_COUNT_MAX];
    size_t count = 0;
    for (int i = 0; i < w->slot_count && count < FEED_COUNT_MAX; i++) {
        const struct slot *slot = &w->slots[i];
        if (slot->phase != SLOT_CLAIM || slot->entry_id[0] == '\0') continue;
        if (slot->claim_sent || !copies_open(w->copies)) ids[count++] = slot->entry_id;
    }
    if (!feed_hold(w->feed, w->link, ids, count, w->config->redis_round_limit_ms, &err))
        log_event_limited(LOG_LEVEL_WARN, "ledger.lost", LOG_S("why", err.text));
}

static void reclaim(struct worker *w, int64_t now)
{
    struct errbuf err = {{0}};
    int free_slots = slots_free(w);
    int64_t pause_ms = w->config->worker_reclaim_idle_ms / 2;
    w->next_reclaim_ms = now + (pause_ms < WORKER_RECLAIM_MS ? pause_ms : WORKER_RECLAIM_MS);
    hold_entries(w);
    if (w->backlog.count > 0 || free_slots <= 0 || !copies_open(w->copies)) return;
    if (!feed_reclaim(w->feed, w->link, w->config->worker_reclaim_idle_ms, (size_t)free_slots, &w->backlog,
                      w->config->redis_round_limit_ms, &err))
        log_event_limited(LOG_LEVEL_WARN, "ledger.lost", LOG_S("why", err.text));
    drain_backlog(w);
}

/* Not right after the start: a fleet that restarts together would remove together. */
static void tidy(struct worker *w, int64_t now)
{
    struct errbuf err = {{0}};
    const int64_t idle_ms = WORKER_TIDY_RECLAIMS * w->config->worker_reclaim_idle_ms;
    int64_t gone = 0;
    if (w->next_tidy_ms > 0 && !feed_tidy(w->feed, w->link, idle_ms, &gone, w->config->redis_round_limit_ms, &err))
        log_event_limited(LOG_LEVEL_WARN, "ledger.lost", LOG_S("why", err.text));
    if (gone > 0) log_event(LOG_LEVEL_INFO, "feed.tidied", LOG_I("consumers", gone), LOG_I("idle_ms", idle_ms));
    w->next_tidy_ms = now + idle_ms;
}

void work_ask(struct worker *w)
{
    int64_t now = clock_boottime_ms();
    keep_link(w);
    spool_look(w, now); /* what is known already comes before what is to be done */
    if (w->stopping || !work_connected(w)) return;
    bool takes = w->take_count == 0 && slots_free(w) > 0 && copies_open(w->copies);
    if (takes && now >= w->next_agenda_ms) read_agenda(w, now);
    if (now >= w->next_reclaim_ms) reclaim(w, now);
    if (now >= w->next_tidy_ms) tidy(w, now);
}

void work_take_in(struct worker *w)
{
    if (w->backlog.count > 0) drain_backlog(w);
    read_feed(w);
}
