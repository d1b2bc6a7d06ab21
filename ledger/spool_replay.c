/* SPDX-License-Identifier: MIT */
#include "ledger/spool_replay.h"

#include <stdlib.h>
#include <string.h>

#include "ledger/reads.h"
#include "runtime/clock.h"
#include "runtime/die.h"
#include "runtime/random.h"

#define DECISIONS_MAX 8 /* of one report, while others change its row; then it is left for the next look */

/* A report on its way into its row. */
struct item {
    struct attempt_report *report;
    const struct delivery_policy *policy;
    struct row row;
    struct delivery_decision decision;
    struct decide_request request;
    bool open;  /* request is to be sent */
    bool ended; /* its line is done with */
};

/* One file's work. */
struct work {
    struct spool_replay *replay;
    const char *name;
    struct spool_file *file;
    struct ledger_round *round;
    struct item *items; /* REQUEST_BATCH_MAX */
    size_t count;
    struct spool_replayed *out;
};

static void end(struct work *w, struct item *item, enum spool_result result, const char *why)
{
    const struct delivery_decision *d = &item->decision;
    const struct spool_told told = {
        .file = w->name,
        .report = item->report,
        .result = result,
        .state = d->state,
        .reason = d->reason,
        .duplicate = result == SPOOL_SETTLED && d->duplicate,
        .alert = result == SPOOL_SETTLED && d->alert,
        .why = why,
    };
    item->open = false;
    item->ended = result != SPOOL_LEFT;
    if (item->ended)
        w->out->settled++;
    else
        w->out->left++;
    w->replay->told(w->replay->context, &told);
}

static void decide(struct work *w, struct item *item)
{
    int64_t now_ms = server_clock_now(link_clock(w->replay->link), clock_boottime_ms());
    item->report->input.jitter = random_below(UINT32_MAX);
    (void)!attempt_report_to(item->report, link_run_id(w->replay->link));
    item->open =
        attempt_report_decide(item->report, &item->row.core, item->policy, now_ms, &item->decision, &item->request);
    if (!item->open) end(w, item, SPOOL_ALREADY, NULL);
}

static void answered(struct work *w, struct item *item)
{
    struct decide_request *q = &item->request;
    if (q->base.result != REQUEST_ANSWERED) {
        end(w, item, SPOOL_LEFT, q->base.error[0] != '\0' ? q->base.error : "Redis did not answer");
        return;
    }
    switch (q->answer) {
    case DECIDE_OK: end(w, item, SPOOL_SETTLED, NULL); break;
    case DECIDE_STALE:
        item->row = q->current;
        decide(w, item);
        break;
    case DECIDE_FOREIGN:
        attempt_report_foreign(item->report);
        decide(w, item);
        break;
    case DECIDE_NO_CONTENT: end(w, item, SPOOL_NOTHING, NULL); break;
    case DECIDE_EARLY:
    case DECIDE_ENVIRONMENT:
    case DECIDE_ERROR:
    case DECIDE_ANSWER_COUNT: end(w, item, SPOOL_LEFT, q->base.error); break;
    }
}

/* One round trip or more, until each open request has an answer. */
static bool ask(struct work *w, struct errbuf *err)
{
    bool ok = true;
    for (size_t i = 0; i < w->count; i++)
        if (w->items[i].open) round_settle(w->round, &w->items[i].request);
    while (ok && round_pending(w->round) > 0)
        ok = round_run(w->round, w->replay->link, w->replay->limit_ms, err);
    for (size_t i = 0; i < w->count; i++) {
        if (!w->items[i].open) continue;
        round_forget(w->round, &w->items[i].request.base);
        answered(w, &w->items[i]);
    }
    return ok;
}

static bool read_rows(struct work *w, struct errbuf *err)
{
    const char *names[REQUEST_BATCH_MAX], *channels[REQUEST_BATCH_MAX];
    struct spool_replay *r = w->replay;
    struct reads_delivery *rows = xcalloc(REQUEST_BATCH_MAX, sizeof *rows);
    for (size_t i = 0; i < w->count; i++) {
        names[i] = w->items[i].report->delivery;
        channels[i] = w->items[i].report->channel;
    }
    bool ok = reads_deliveries(r->ledger, r->link, names, channels, w->count, rows, r->limit_ms, err);
    for (size_t i = 0; ok && i < w->count; i++) {
        struct item *item = &w->items[i];
        item->row = rows[i].row;
        item->policy = r->policy_of(r->context, item->report->channel);
        if (item->policy == NULL)
            end(w, item, SPOOL_LEFT, "its channel is not configured here");
        else if (!rows[i].readable)
            end(w, item, SPOOL_LEFT, rows[i].error);
        else
            decide(w, item);
        reads_delivery_fini(&rows[i]);
    }
    free(rows);
    return ok;
}

static bool any_open(const struct work *w)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->items[i].open) return true;
    return false;
}

/* So that the next look has less to do. Where it fails, the next look finds everything settled. */
static void mark_ended(struct work *w)
{
    struct buf lines;
    struct errbuf ignored;
    bool ok = true;
    buf_init(&lines, SPOOL_LINE_MAX_BYTES);
    for (size_t i = 0; ok && i < w->count; i++)
        ok = !w->items[i].ended || spool_line_done(&lines, w->items[i].report, &ignored);
    if (lines.len > 0 && !spool_file_append(w->file, &lines, &ignored)) buf_clear(&lines);
    buf_fini(&lines);
}

static bool settle_batch(struct work *w, struct errbuf *err)
{
    bool ok = read_rows(w, err);
    for (int i = 0; ok && any_open(w) && i < DECISIONS_MAX; i++)
        ok = ask(w, err);
    for (size_t i = 0; i < w->count; i++)
        if (w->items[i].open) end(w, &w->items[i], SPOOL_LEFT, "its row changes all the time");
    mark_ended(w);
    return ok;
}

static bool settle_all(struct work *w, const struct spool_content *content, struct errbuf *err)
{
    bool ok = true;
    for (size_t from = 0; ok && from < content->count; from += w->count) {
        size_t left = content->count - from;
        w->count = left < REQUEST_BATCH_MAX ? left : REQUEST_BATCH_MAX;
        memset(w->items, 0, w->count * sizeof *w->items);
        for (size_t i = 0; i < w->count; i++)
            w->items[i].report = &content->reports[from + i]->report;
        ok = settle_batch(w, err);
    }
    return ok;
}

static bool is_ours(const struct spool_replay *r, const struct spool_stamp *stamp)
{
    return strcmp(stamp->environment, r->ledger->environment) == 0 && strcmp(stamp->prefix, r->prefix) == 0 &&
           stamp->partition == r->partition;
}

/* A Redis of another environment holds none of these rows, and must not get them. */
static bool check_environment(struct spool_replay *r, struct errbuf *err)
{
    struct reads_overview overview;
    if (r->environment_checked) return true;
    if (!reads_overview(r->ledger, r->link, &overview, r->limit_ms, err)) return false;
    const char *theirs = overview.epoch.environment;
    r->environment_checked = theirs[0] == '\0' || strcmp(theirs, r->ledger->environment) == 0;
    return r->environment_checked || errbuf_set(err, "this Redis belongs to the environment %s", theirs);
}

static enum spool_end finish(struct work *w, struct errbuf *err)
{
    if (w->out->left > 0) return SPOOL_END_LEFT;
    if (w->out->unreadable > 0) return spool_file_put_aside(&w->file, err) ? SPOOL_END_ASIDE : SPOOL_END_FAILED;
    spool_file_remove(&w->file);
    return SPOOL_END_REMOVED;
}

static enum spool_end replay_taken(struct work *w, const struct spool_content *content, struct errbuf *err)
{
    w->out->unreadable = content->unreadable;
    w->out->first_bad_line = content->first_bad_line;
    w->out->why = content->why;
    w->out->torn_bytes = content->torn_bytes;
    if (content->stamp != NULL && !is_ours(w->replay, &content->stamp->stamp)) return SPOOL_END_OTHERS;
    if (content->stamp == NULL) return finish(w, err); /* nobody knows whose it is: put aside; empty: removed */
    if (content->count == 0) return finish(w, err);
    if (!check_environment(w->replay, err)) return SPOOL_END_FAILED;
    spool_file_cut_torn(w->file, content->torn_bytes);
    w->round = round_new(w->replay->ledger);
    w->items = xcalloc(REQUEST_BATCH_MAX, sizeof *w->items);
    bool ok = settle_all(w, content, err);
    round_free(&w->round);
    free(w->items);
    return ok ? finish(w, err) : SPOOL_END_FAILED;
}

enum spool_end spool_replay_file(struct spool_replay *replay, const char *name, struct spool_replayed *out,
                                 struct errbuf *err)
{
    struct work w = {.replay = replay, .name = name, .out = out};
    struct spool_content content;
    memset(out, 0, sizeof *out);
    switch (spool_file_take(replay->folder, name, &w.file, err)) {
    case SPOOL_FILE_TAKEN: break;
    case SPOOL_FILE_ALIVE: return SPOOL_END_ALIVE;
    case SPOOL_FILE_GONE: return SPOOL_END_GONE;
    case SPOOL_FILE_ERROR: return SPOOL_END_FAILED;
    }
    enum spool_end end = SPOOL_END_FAILED;
    if (spool_file_read(replay->folder, name, &content, err)) {
        end = replay_taken(&w, &content, err);
        spool_content_fini(&content);
    }
    spool_file_leave(&w.file);
    return end;
}
