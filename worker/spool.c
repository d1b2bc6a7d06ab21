/* SPDX-License-Identifier: MIT */
#include "worker/spool.h"

#include <stdlib.h>
#include <string.h>

#include "ledger/spool_replay.h"
#include "runtime/clock.h"
#include "runtime/die.h"
#include "runtime/log.h"
#include "worker/gauges.h"

#define SPOOL_LOOK_MS   30000
#define SPOOL_RETRY_MS  2000               /* after the disk refused a line */
#define SPOOL_ROTATE_AT ((int64_t)4 << 20) /* struck-out lines are dropped when a file is as large, and has doubled */

struct spool {
    const struct config *config;
    struct spool_stamp stamp;
    struct spool_file *file;
    int64_t pending;                   /* outcomes in the file */
    int64_t rotated_bytes;             /* of the file when it was new */
    int64_t next_try_ms, next_look_ms; /* boot time */
};

bool spool_open(const struct config *config, const char *name, struct spool **out, struct errbuf *err)
{
    *out = NULL;
    if (config->worker_spool_dir[0] == '\0') return true;
    struct spool *spool = xcalloc(1, sizeof *spool);
    spool->config = config;
    spool->stamp = (struct spool_stamp){.environment = config->environment,
                                        .prefix = config->redis_prefix,
                                        .partition = config->partition,
                                        .worker = name};
    if (!spool_file_create(config->worker_spool_dir, &spool->stamp, &spool->file, err)) {
        free(spool);
        return errbuf_prefix(err, "worker.spool_dir");
    }
    *out = spool;
    return true;
}

void spool_close(struct spool **spool)
{
    if (*spool == NULL) return;
    if ((*spool)->pending == 0)
        spool_file_remove(&(*spool)->file);
    else
        spool_file_leave(&(*spool)->file);
    free(*spool);
    *spool = NULL;
}

void spool_say(const struct spool *spool)
{
    if (spool != NULL)
        log_event(LOG_LEVEL_INFO, "worker.spool", LOG_S("file", spool_file_path(spool->file)));
    else
        log_event(LOG_LEVEL_INFO, "worker.memory_only",
                  LOG_S("why",
                        "worker.spool_dir is empty: outcomes that Redis has not taken yet are kept in memory, and "
                        "a worker that is killed while Redis is away leaves them uncertain"));
}

int64_t spool_pending(const struct spool *spool)
{
    return spool != NULL ? spool->pending : 0;
}

/* ---- writing down ---- */

static bool append(struct spool_file *file, const struct slot *slot, struct errbuf *err)
{
    struct buf line;
    buf_init(&line, SPOOL_LINE_MAX_BYTES);
    bool ok = spool_line_report(&line, &slot->report, clock_wall_ms(), err) && spool_file_append(file, &line, err);
    buf_fini(&line);
    return ok;
}

static bool wants_in(const struct worker *w, const struct slot *slot, bool all)
{
    bool waits = slot->phase == SLOT_SETTLE && slot->spooled == SPOOL_OUT;
    return waits && (all || slot->not_taken || !link_is_open(w->link));
}

/* A file for what is open alone: the old one has grown, or cannot be trusted any more. Until the new one is whole and
 * on the disk the old one stays. */
static bool rotate(struct worker *w, struct errbuf *err)
{
    struct spool *spool = w->spool;
    struct spool_file *file = NULL;
    bool ok = spool_file_create(spool->config->worker_spool_dir, &spool->stamp, &file, err);
    for (int i = 0; ok && i < w->slot_count; i++)
        ok = w->slots[i].spooled == SPOOL_OUT || append(file, &w->slots[i], err);
    ok = ok && spool_file_sync(file, err);
    if (!ok) {
        spool_file_remove(&file);
        return false;
    }
    spool_file_remove(&spool->file);
    spool->file = file;
    spool->rotated_bytes = spool_file_bytes(file);
    return true;
}

static bool is_worn(const struct spool *spool)
{
    int64_t bytes = spool_file_bytes(spool->file);
    return spool_file_broken(spool->file) || (bytes > SPOOL_ROTATE_AT && bytes > 2 * spool->rotated_bytes);
}

/* Lines first, then one wait for the disk. */
static bool write_down(struct worker *w, bool all, struct errbuf *err)
{
    struct spool *spool = w->spool;
    bool written = true;
    int64_t count = 0;
    for (int i = 0; written && i < w->slot_count; i++) {
        struct slot *slot = &w->slots[i];
        if (!wants_in(w, slot, all)) continue;
        written = append(spool->file, slot, err);
        slot->spooled = written ? SPOOL_WRITTEN : SPOOL_OUT;
        count += written;
    }
    bool synced = count > 0 && spool_file_sync(spool->file, err);
    for (int i = 0; count > 0 && i < w->slot_count; i++) {
        if (w->slots[i].spooled == SPOOL_WRITTEN) w->slots[i].spooled = synced ? SPOOL_IN : SPOOL_OUT;
    }
    if (!synced) return written && count == 0;
    spool->pending += count;
    log_event_limited(LOG_LEVEL_WARN, "spool.kept", LOG_I("outcomes", count), LOG_I("pending", spool->pending),
                      LOG_S("file", spool_file_path(spool->file)));
    return written;
}

void spool_keep(struct worker *w, bool all)
{
    struct errbuf err = {{0}};
    struct spool *spool = w->spool;
    bool wanted = false;
    for (int i = 0; spool != NULL && !wanted && i < w->slot_count; i++)
        wanted = wants_in(w, &w->slots[i], all);
    int64_t now = clock_boottime_ms();
    if (!wanted || (now < spool->next_try_ms && !all)) return;
    if ((!is_worn(spool) || rotate(w, &err)) && write_down(w, all, &err)) return;
    spool->next_try_ms = now + SPOOL_RETRY_MS;
    log_event_limited(LOG_LEVEL_ERROR, "spool.failed", LOG_S("why", err.text),
                      LOG_S("so", "outcomes stay in memory; they are lost if this worker is killed"));
}

/* Without its line nothing is wrong either: whoever reads the file finds it settled. */
static void strike_out(struct spool *spool, const struct slot *slot)
{
    struct buf line;
    struct errbuf err;
    buf_init(&line, SPOOL_LINE_MAX_BYTES);
    if (!spool_line_done(&line, &slot->report, &err) || !spool_file_append(spool->file, &line, &err))
        log_event_limited(LOG_LEVEL_WARN, "spool.not_struck", LOG_S("why", err.text));
    buf_fini(&line);
}

void spool_settled(struct worker *w, const struct slot *slot)
{
    struct spool *spool = w->spool;
    if (spool == NULL || slot->spooled != SPOOL_IN) return;
    if (--spool->pending > 0)
        strike_out(spool, slot);
    else
        spool_file_clear(spool->file);
}

/* ---- what others have left ---- */

static const struct delivery_policy *policy_of(void *context, const char *channel)
{
    const struct lane *lane = lane_of(context, channel);
    return lane != NULL ? &lane->channel->policy : NULL;
}

static void told(void *context, const struct spool_told *t)
{
    struct worker *w = context;
    const struct attempt_report *r = t->report;
    if (t->result == SPOOL_LEFT) {
        log_event_limited(LOG_LEVEL_WARN, "spool.left", LOG_S("delivery", r->delivery), LOG_S("file", t->file),
                          LOG_S("why", t->why));
        return;
    }
    if (t->duplicate) {
        log_event(LOG_LEVEL_ERROR, "delivery.duplicate", LOG_S("delivery", r->delivery), LOG_S("other", r->ext_id));
        meters_duplicate(&w->gauges->ledger, r->channel);
    }
    if (t->alert)
        log_event(LOG_LEVEL_ERROR, "delivery.alert", LOG_S("delivery", r->delivery),
                  LOG_S("why", "it was rejected and exists"));
    if (t->result != SPOOL_NOTHING) tally_note(&w->tally, r->delivery, t->state);
    if (t->result == SPOOL_SETTLED) w->tally.late_reports++;
    log_event(LOG_LEVEL_INFO, t->result == SPOOL_SETTLED ? "delivery.settled" : "spool.already",
              LOG_S("delivery", r->delivery), LOG_S("state", delivery_state_name(t->state)),
              LOG_S("reason", delivery_reason_name(t->reason)), LOG_I("attempt", r->input.attempt),
              LOG_S("outcome", delivery_event_name(r->input.event)), LOG_S("ext_id", r->ext_id[0] ? r->ext_id : NULL),
              LOG_S("file", t->file));
}

static void say_replayed(const char *name, enum spool_end end, const struct spool_replayed *out,
                         const struct errbuf *err)
{
    if (out->torn_bytes > 0 && end != SPOOL_END_OTHERS)
        log_event(LOG_LEVEL_WARN, "spool.torn", LOG_S("file", name), LOG_I("bytes", (int64_t)out->torn_bytes),
                  LOG_S("why", "the last line was not written whole, and counts for nothing"));
    if (out->unreadable > 0 && end != SPOOL_END_OTHERS)
        log_event_limited(LOG_LEVEL_ERROR, "spool.unreadable", LOG_S("file", name),
                          LOG_I("lines", (int64_t)out->unreadable), LOG_I("line", (int64_t)out->first_bad_line),
                          LOG_S("why", out->why.text),
                          LOG_S("so", end == SPOOL_END_ASIDE ? "the file has been put aside for a person" : NULL));
    if (end == SPOOL_END_FAILED)
        log_event_limited(LOG_LEVEL_WARN, "spool.not_replayed", LOG_S("file", name), LOG_S("why", err->text));
    else if (end == SPOOL_END_REMOVED && out->settled > 0)
        log_event(LOG_LEVEL_INFO, "spool.replayed", LOG_S("file", name), LOG_I("outcomes", (int64_t)out->settled));
}

void spool_look(struct worker *w, int64_t now)
{
    struct errbuf err = {{0}};
    struct spool_names names;
    struct spool *spool = w->spool;
    if (spool == NULL || w->stopping || !link_is_open(w->link) || now < spool->next_look_ms) return;
    spool->next_look_ms = now + SPOOL_LOOK_MS;
    struct spool_replay replay = {
        .ledger = &w->ledger,
        .link = w->link,
        .limit_ms = w->config->redis_round_limit_ms,
        .folder = w->config->worker_spool_dir,
        .prefix = w->config->redis_prefix,
        .partition = w->config->partition,
        .policy_of = policy_of,
        .told = told,
        .context = w,
    };
    if (!spool_names(replay.folder, &names, &err)) {
        log_event_limited(LOG_LEVEL_WARN, "spool.not_replayed", LOG_S("why", err.text));
        return;
    }
    for (size_t i = 0; i < names.count && link_is_open(w->link); i++) {
        struct spool_replayed out;
        if (spool_name_is_aside(names.name[i])) continue;
        enum spool_end end = spool_replay_file(&replay, names.name[i], &out, &err);
        say_replayed(names.name[i], end, &out, &err);
    }
    spool_names_fini(&names);
}
