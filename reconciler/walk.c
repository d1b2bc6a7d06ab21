/* SPDX-License-Identifier: MIT */
/*
 * walk: one look at one account, the steps with the ledger.
 *
 * The lease comes first and is prolonged while the walk goes on; a walk that cannot prolong it drops everything. Then
 * the deliveries are read, then the server's time, then the platform (reading.c), then the ledger is told (apply.c),
 * then the lease is given back with the time of the next look. Every step can be made again: what had no answer is
 * asked again, and what was not written is as it was.
 */
#include "reconciler/reconciler.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platforms/channel.h"
#include "runtime/clock.h"
#include "runtime/crash.h"
#include "runtime/die.h"
#include "runtime/log.h"
#include "runtime/random.h"

#define WALK_TRIES_MAX   20    /* then the walk is given up */
#define WALK_BROKEN_MS   10000 /* an account whose keys cannot be read is left alone for so long */
#define WALK_LEFT_OUT_MS 60000 /* a row that cannot be read is looked at again after this */

static int64_t limit_ms(const struct reconciler *r)
{
    return r->config->redis_round_limit_ms;
}

static void tell(struct walk *w, struct channel_request *request, bool *due, enum channel_op op)
{
    memset(request, 0, sizeof *request);
    request->base.channel = w->lane->channel->name;
    request->op = op;
    *due = true;
}

/* ---- begin and end ---- */

static void ask_for_lease(struct reconciler *r, struct walk *w)
{
    tell(w, &w->lease, &w->lease_due, CHANNEL_WALK_BEGIN);
    w->lease.text = r->name;
    w->lease.ttl_ms = WALK_TTL_MS;
}

static void read_without_lease(struct walk *w)
{
    w->reads_only = true;
    w->phase = WALK_LOAD;
    w->lease_end_boot_ms = w->prolong_boot_ms = INT64_MAX;
}

bool walk_begin(struct reconciler *r, struct lane *lane)
{
    for (size_t i = 0; i < RECONCILER_WALKS_MAX; i++) {
        struct walk *w = &r->walks[i];
        if (w->phase != WALK_FREE) continue;
        memset(w, 0, sizeof *w);
        w->phase = WALK_BEGIN;
        w->lane = lane;
        w->result = "nothing_to_read";
        w->started_boot_ms = clock_boottime_ms();
        w->lease_end_boot_ms = w->started_boot_ms + WALK_TTL_MS;
        lane->walking = true;
        if (r->dry_run)
            read_without_lease(w);
        else
            ask_for_lease(r, w);
        return true;
    }
    return false;
}

void walk_drop(struct reconciler *r, struct walk *w)
{
    if (w->phase == WALK_FREE) return;
    if (w->transfer != NULL) transfer_abort(w->transfer);
    round_forget(r->round, &w->lease.base);
    round_forget(r->round, &w->note.base);
    for (size_t i = 0; i < w->item_count; i++)
        round_forget(r->round, &w->items[i].request.base);
    free(w->items);
    search_free(&w->search);
    for (size_t i = 0; i < w->subject_count; i++)
        subject_fini(&w->subjects[i]);
    free(w->subjects);
    mark_index_free(&w->table);
    free(w->names);
    w->lane->walking = false;
    memset(w, 0, sizeof *w);
}

static struct resolve_moment moment_of(const struct reconciler *r, const struct walk *w)
{
    return (struct resolve_moment){reconciler_now_ms(r), w->no_absence_before_ms, random_below(UINT32_MAX)};
}

static void end(struct reconciler *r, struct walk *w)
{
    const struct resolve_moment moment = moment_of(r, w);
    const int64_t looks = w->changed || w->left == 0 ? 0 : w->looks + 1;
    int64_t next_ms = resolve_next_look_ms(&w->outlook, looks, &w->lane->channel->policy, &moment);
    if (w->more || next_ms == 0) next_ms = moment.now_ms + RESOLVE_LOOK_MIN_MS;
    tell(w, &w->lease, &w->lease_due, CHANNEL_WALK_END);
    w->lease.text = r->name;
    w->lease.until_ms = next_ms;
    w->lease.number = looks;
    w->phase = WALK_END;
}

/* Somebody else may walk the account at once. */
static void end_unfinished(struct reconciler *r, struct walk *w)
{
    w->result = "stopped";
    tell(w, &w->lease, &w->lease_due, CHANNEL_WALK_END);
    w->lease.text = r->name;
    w->lease.until_ms = reconciler_now_ms(r);
    w->lease.number = w->looks;
    w->phase = WALK_END;
}

static void ended(struct reconciler *r, struct walk *w)
{
    const struct search_result *pages = w->search != NULL ? search_result(w->search) : NULL;
    const size_t stay = w->passed_over + (w->reads_only ? w->name_count : w->left);
    w->lane->next_offset = w->more ? w->lane->next_offset + stay : 0;
    w->lane->carried = w->outlook;
    const int64_t next_ms = !w->reads_only && (w->left > 0 || w->more) ? w->lease.until_ms : 0;
    gauges_walk(&r->gauges, w->lane->channel->name, w->result);
    log_event(w->out_of_reach ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, "walk.ended", LOG_S("channel", w->lane->channel->name),
              LOG_S("result", w->result), LOG_I("deliveries", (int64_t)w->subject_count),
              LOG_I("settled", (int64_t)w->settled), LOG_I("uncertain", (int64_t)w->left),
              LOG_I("pages", pages != NULL ? pages->pages : 0),
              LOG_I("next_ms", next_ms > 0 ? next_ms - reconciler_now_ms(r) : 0),
              LOG_I("elapsed_ms", clock_boottime_ms() - w->started_boot_ms),
              LOG_S("why", w->why[0] != '\0' ? w->why : NULL));
    if (r->tell_walk != NULL) r->tell_walk(r->tell_context, w, next_ms);
    walk_drop(r, w);
}

void walk_stop(struct reconciler *r, struct walk *w)
{
    if (w->phase == WALK_FREE || w->phase == WALK_RESOLVE || w->phase == WALK_END) return;
    w->lease_in_round = false;
    if (w->transfer != NULL) {
        transfer_abort(w->transfer);
        w->transfer = NULL;
    }
    round_forget(r->round, &w->lease.base);
    if (w->reads_only)
        ended(r, w);
    else
        end_unfinished(r, w);
}

/* ---- what the ledger says ---- */

static void lost(struct reconciler *r, struct walk *w, const char *why, int64_t ask_again_ms)
{
    gauges_walk(&r->gauges, w->lane->channel->name, "lease_lost");
    log_event_limited(LOG_LEVEL_WARN, "walk.lost", LOG_S("channel", w->lane->channel->name), LOG_S("why", why));
    w->lane->ask_boot_ms = clock_boottime_ms() + ask_again_ms;
    walk_drop(r, w);
}

static void lease_answered(struct reconciler *r, struct walk *w)
{
    const struct channel_request *lease = &w->lease;
    if (lease->base.result != REQUEST_ANSWERED) { /* the same again, later or with the next round */
        if (lease->base.result != REQUEST_REFUSED) return;
        meters_error(&r->gauges.ledger, lease->base.error);
        w->retry_boot_ms = clock_boottime_ms() + ERRORS_RETRY_MS;
        return;
    }
    w->lease_due = false;
    if (lease->op == CHANNEL_WALK_BEGIN && lease->answer == CHANNEL_OK)
        w->lease_end_boot_ms = w->lease_asked_boot_ms + WALK_TTL_MS;
    if (lease->op == CHANNEL_WALK_END) {
        ended(r, w);
        return;
    }
    if (lease->answer == CHANNEL_BUSY && w->phase == WALK_BEGIN) {
        w->lane->ask_boot_ms = clock_boottime_ms() + RECONCILER_BUSY_MS;
        log_event(LOG_LEVEL_DEBUG, "walk.busy", LOG_S("channel", w->lane->channel->name), LOG_S("by", lease->holder));
        walk_drop(r, w);
        return;
    }
    if (lease->answer != CHANNEL_OK) {
        lost(r, w, lease->answer == CHANNEL_BUSY ? "somebody else walks the account" : lease->base.error,
             WALK_BROKEN_MS);
        return;
    }
    if (w->phase != WALK_BEGIN) return;
    crash_point("after_walk_begin");
    w->phase = WALK_LOAD;
}

static void prolong(struct reconciler *r, struct walk *w, int64_t now)
{
    if (w->lease_due || w->phase == WALK_BEGIN || w->phase == WALK_END || now < w->prolong_boot_ms) return;
    ask_for_lease(r, w);
}

/* Something is left to be decided, or to be seen as decided. */
static bool wants_apply(const struct walk *w)
{
    return w->phase == WALK_RESOLVE && (w->item_count > 0 || w->decided < w->subject_count || !w->lease_due);
}

bool walk_wants_round(const struct walk *w, int64_t now)
{
    if (w->phase == WALK_FREE) return false;
    if (wants_apply(w) && now >= w->apply_boot_ms) return true;
    const bool prolong = w->phase != WALK_BEGIN && w->phase != WALK_END && now >= w->prolong_boot_ms;
    return (w->lease_due || w->note_due || prolong) && now >= w->retry_boot_ms;
}

void walk_add(struct reconciler *r, struct walk *w)
{
    const int64_t now = clock_boottime_ms();
    if (w->phase == WALK_FREE) return;
    prolong(r, w, now);
    if (w->note_due && !w->note_in_round) round_channel(r->round, &w->note);
    w->note_in_round = w->note_due;
    if (w->lease_due && !w->lease_in_round) {
        w->lease_asked_boot_ms = now; /* the lease is counted from before the request left */
        w->prolong_boot_ms = now + WALK_PROLONG_MS;
        round_channel(r->round, &w->lease);
    }
    w->lease_in_round = w->lease_due;
    if (w->phase == WALK_RESOLVE && now >= w->apply_boot_ms) (void)apply_fill(r, w);
}

void walk_answered(struct reconciler *r, struct walk *w)
{
    if (w->phase == WALK_FREE) return;
    if (w->phase == WALK_RESOLVE) apply_answered(r, w);
    if (w->note_in_round && w->note.base.result != REQUEST_PENDING) {
        w->note_in_round = false;
        w->note_due = w->note.base.result != REQUEST_ANSWERED;
    }
    if (w->lease_in_round && w->lease.base.result != REQUEST_PENDING) {
        w->lease_in_round = false;
        lease_answered(r, w); /* the walk may be over now */
    }
    if (w->phase == WALK_RESOLVE && w->decided == w->subject_count && w->item_count == 0 && !w->lease_due) end(r, w);
}

/* ---- reading the deliveries ---- */

static void read_failed(struct reconciler *r, struct walk *w, const struct errbuf *err)
{
    w->resume_boot_ms = clock_boottime_ms() + ERRORS_RETRY_MS;
    log_event_limited(LOG_LEVEL_WARN, "ledger.lost", LOG_S("why", err->text));
    if (++w->tries >= WALK_TRIES_MAX) lost(r, w, err->text, WALK_BROKEN_MS);
}

/* What was not asked for keeps the account on the agenda. */
static void pick_names(const struct reconciler *r, struct walk *w)
{
    size_t kept = 0;
    if (r->picks == NULL) return;
    for (size_t i = 0; i < w->name_count; i++)
        if (r->picks(r->tell_context, w->names[i].delivery)) w->names[kept++] = w->names[i];
    w->passed_over = w->name_count - kept;
    w->name_count = kept;
    if (w->passed_over > 0) resolve_outlook_add(&w->outlook, reconciler_now_ms(r), 0);
}

static void take_asked(struct walk *w)
{
    w->name_count = w->lane->asked_count;
    w->names = xcalloc(w->name_count, sizeof *w->names);
    memcpy(w->names, w->lane->asked, w->name_count * sizeof *w->names);
}

static bool read_names(struct reconciler *r, struct walk *w, struct errbuf *err)
{
    struct lane *lane = w->lane;
    const char *channel = lane->channel->name;
    if (lane->asked != NULL)
        take_asked(w);
    else if (!reads_uncertain(&r->ledger, r->link, channel, lane->next_offset, WALK_DELIVERIES_MAX, &w->names,
                              &w->name_count, limit_ms(r), err))
        return false;
    if (w->name_count == 0 && lane->next_offset > 0) { /* behind the end: from the beginning again */
        lane->next_offset = 0;
        free(w->names);
        w->names = NULL;
        return read_names(r, w, err);
    }
    w->more = lane->asked == NULL && w->name_count == WALK_DELIVERIES_MAX;
    if (lane->next_offset > 0) w->outlook = lane->carried;
    pick_names(r, w);
    w->subjects = xcalloc(w->name_count, sizeof *w->subjects);
    const struct descriptor *d = lane->channel->descriptor;
    w->table = mark_index_new(d->listing.given && d->listing.floor == FLOOR_SERVER_TIME);
    return true;
}

/* Not ours to settle: it stays where it is, and the account is looked at again. */
static void leave_out(const struct reconciler *r, struct walk *w, const char *delivery, const char *why)
{
    w->left++;
    resolve_outlook_add(&w->outlook, reconciler_now_ms(r) + WALK_LEFT_OUT_MS, 0);
    log_event_limited(LOG_LEVEL_ERROR, "delivery.unreadable", LOG_S("delivery", delivery), LOG_S("why", why));
}

static void take_delivery(const struct reconciler *r, struct walk *w, const char *name, struct reads_delivery *read)
{
    const struct lane *lane = w->lane;
    const enum delivery_state state = read->row.core.state;
    struct errbuf why;
    if (!read->readable) {
        leave_out(r, w, name, read->error);
        return;
    }
    if (lane->asked != NULL ? state == DS_NONE : state != DS_UNCERTAIN) return; /* somebody was faster */
    if (lane->asked_id != NULL) snprintf(read->row.core.ext_id, sizeof read->row.core.ext_id, "%s", lane->asked_id);
    subject_init(&w->subjects[w->subject_count++], name, read, lane->channel, w->table, &why);
    if (why.text[0] != '\0')
        log_event_limited(LOG_LEVEL_WARN, "delivery.unmarked", LOG_S("delivery", name), LOG_S("why", why.text));
}

static bool read_deliveries(struct reconciler *r, struct walk *w, struct errbuf *err)
{
    const char *names[REQUEST_BATCH_MAX], *channels[REQUEST_BATCH_MAX];
    size_t count = w->name_count - w->loaded;
    if (count > REQUEST_BATCH_MAX) count = REQUEST_BATCH_MAX;
    for (size_t i = 0; i < count; i++) {
        names[i] = w->names[w->loaded + i].delivery;
        channels[i] = w->lane->channel->name;
    }
    struct reads_delivery *read = xcalloc(count, sizeof *read);
    const bool ok = count == 0 || reads_deliveries(&r->ledger, r->link, names, channels, count, read, limit_ms(r), err);
    for (size_t i = 0; ok && i < count; i++) {
        take_delivery(r, w, names[i], &read[i]);
        reads_delivery_fini(&read[i]);
    }
    free(read);
    if (ok) w->loaded += count;
    return ok;
}

static void load(struct reconciler *r, struct walk *w)
{
    struct errbuf err = {{0}};
    if ((w->names == NULL && w->table == NULL && !read_names(r, w, &err)) || !read_deliveries(r, w, &err)) {
        read_failed(r, w, &err);
        return;
    }
    w->tries = 0;
    if (w->loaded == w->name_count) w->phase = WALK_CLOCK;
}

/* ---- the server's time ---- */

static int64_t floor_of(const struct walk *w)
{
    int64_t floor_ms = 0;
    for (size_t i = 0; i < w->subject_count; i++) {
        const int64_t from_ms = subject_attempt_from_ms(&w->subjects[i].row);
        if (i == 0 || from_ms < floor_ms) floor_ms = from_ms;
    }
    return floor_ms;
}

static bool read_clock(struct reconciler *r, struct walk *w, struct errbuf *err)
{
    struct reads_overview overview;
    struct reads_channel *channel = NULL;
    size_t count = 0;
    if (!reads_channels(&r->ledger, r->link, w->lane->channel->name, &channel, &count, limit_ms(r), err)) return false;
    if (count > 0) {
        w->looks = channel[0].looks;
        w->channel_paused = channel[0].paused;
    }
    reads_channels_free(&channel);
    if (!reconciler_read_time(r, &overview, err)) return false;
    w->searched_from_ms = overview.now_ms;
    w->no_absence_before_ms = overview.epoch.no_absence_before_ms;
    return true;
}

static void start_reading(struct reconciler *r, struct walk *w)
{
    struct errbuf err = {{0}};
    if (!read_clock(r, w, &err)) {
        read_failed(r, w, &err);
        return;
    }
    w->tries = 0;
    w->search = search_new(w->lane->channel, w->table, floor_of(w));
    w->phase = WALK_READ;
}

/* ---- steps ---- */

void walk_step(struct reconciler *r, struct walk *w)
{
    const int64_t now = clock_boottime_ms();
    if (w->phase == WALK_FREE) return;
    if (now >= w->lease_end_boot_ms) {
        lost(r, w, "the lease could not be prolonged", RECONCILER_BUSY_MS);
        return;
    }
    if (now < w->resume_boot_ms) return;
    const bool redis = link_is_open(r->link);
    switch (w->phase) {
    case WALK_LOAD:
        if (redis) load(r, w);
        break;
    case WALK_CLOCK:
        if (redis) start_reading(r, w);
        break;
    case WALK_WAIT:
    case WALK_READ: reading_step(r, w); break;
    case WALK_RESOLVE:
        if (!w->reads_only) break;
        apply_dry_run(r, w);
        ended(r, w);
        break;
    case WALK_FREE:
    case WALK_BEGIN:
    case WALK_SENT:
    case WALK_END: break;
    }
}

int64_t walk_wake_boot_ms(const struct walk *w, int64_t now)
{
    switch (w->phase) {
    case WALK_LOAD:
    case WALK_CLOCK:
    case WALK_READ:
    case WALK_WAIT: return w->resume_boot_ms > now ? w->resume_boot_ms : now;
    case WALK_RESOLVE:
        if (wants_apply(w)) return w->apply_boot_ms > now ? w->apply_boot_ms : now;
        return w->retry_boot_ms > now ? w->retry_boot_ms : now;
    case WALK_BEGIN:
    case WALK_END: return w->retry_boot_ms > now ? w->retry_boot_ms : now;
    case WALK_SENT: return w->prolong_boot_ms > w->retry_boot_ms ? w->prolong_boot_ms : w->retry_boot_ms;
    case WALK_FREE: break;
    }
    return INT64_MAX;
}
