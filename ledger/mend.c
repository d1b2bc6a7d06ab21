/* SPDX-License-Identifier: MIT */
#include "ledger/mend.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/answer.h"
#include "ledger/args.h"
#include "ledger/feed.h"
#include "runtime/die.h"

/* Rows of one transaction: fewer, so that a busy ledger lets some of them through. */
#define MEND_BATCH 32

struct mending {
    const struct ledger *ledger;
    struct redis_link *link;
    int64_t now_ms, limit_ms;
    struct mended *out;
};

/* Runs the commands that were gathered. *done: the last one, EXEC, was executed; false where a WATCH stopped it. */
static bool run(struct args *args, struct redis_link *link, bool *done, int64_t limit_ms, struct errbuf *err)
{
    struct redisReply **replies;
    size_t count = args->command_count;
    bool ok = args_read(args, link, &replies, limit_ms, err);
    args_fini(args);
    if (!ok) return false;
    *done = answer_is_array(replies[count - 1]);
    args_free_replies(replies, count);
    return true;
}

bool mend_counts(const struct ledger *ledger, struct redis_link *link, const struct survey *survey, struct mended *out,
                 int64_t limit_ms, struct errbuf *err)
{
    struct args args;
    bool done = false;
    args_init(&args);
    const bool any = survey->counted && survey->count_count > 0;
    args_command(&args, any ? "MULTI" : "UNWATCH");
    for (size_t i = 0; any && i < survey->count_count; i++) {
        const struct survey_count *one = &survey->counts[i];
        char field[IDENTITY_CHANNEL_BYTES + 32];
        snprintf(field, sizeof field, "%s %s", one->channel, delivery_state_name(one->state));
        args_command(&args, "HSET");
        args_key(&args, &ledger->names, NAMES_COUNTS, NULL);
        args_text(&args, field);
        args_number(&args, one->found);
    }
    if (any) args_command(&args, "EXEC");
    if (!run(&args, link, &done, limit_ms, err)) return false;
    out->counts = done ? (int64_t)survey->count_count : 0;
    out->counts_left = !survey->counted || (any && !done);
    return true;
}

bool mend_group(const struct ledger *ledger, struct redis_link *link, struct mended *out, int64_t limit_ms,
                struct errbuf *err)
{
    struct args args;
    struct redisReply *reply[1] = {NULL};
    args_init(&args);
    args_command(&args, "XGROUP");
    args_text(&args, "CREATE");
    args_key(&args, &ledger->names, NAMES_QUEUE, NULL);
    args_text(&args, FEED_GROUP_WORKERS);
    args_text(&args, "0");
    args_text(&args, "MKSTREAM");
    bool ok = args_exchange(&args, link, reply, limit_ms, err);
    const char *refused = answer_error(reply[0]);
    if (ok && refused && strncmp(refused, "BUSYGROUP", 9) != 0)
        ok = errbuf_set(err, "redis: XGROUP CREATE: %s", refused);
    out->group = ok && !refused;
    answer_free(reply[0]);
    args_fini(&args);
    return ok;
}

/* ---- places */

static void put_due_now(const struct mending *m, struct args *args, const char *prefix, const char *name)
{
    args_command(args, "ZADD");
    args_key(args, &m->ledger->names, NAMES_AGENDA, NULL);
    args_text(args, "NX");
    args_number(args, m->now_ms);
    args_joined(args, prefix, name);
}

/* True if there was something to do. */
static bool put_repair(const struct mending *m, struct args *args, const struct survey_row *row, bool nowhere)
{
    if (!nowhere) {
        if (!survey_row_rests(row) || !row->on_agenda) return false;
        args_command(args, "ZREM");
        args_key(args, &m->ledger->names, NAMES_AGENDA, NULL);
        args_joined(args, "delivery:", row->delivery);
        return true;
    }
    if (survey_row_fault(row, m->now_ms, INT64_MAX / 2) != FAULT_NOWHERE) return false;
    if (row->state != DS_UNCERTAIN) {
        put_due_now(m, args, "delivery:", row->delivery);
        return true;
    }
    args_command(args, "ZADD");
    args_key(args, &m->ledger->names, NAMES_UNCERTAIN, row->channel);
    args_text(args, "NX");
    args_number(args, row->since_ms);
    args_text(args, row->delivery);
    put_due_now(m, args, "walk:", row->channel);
    return true;
}

static bool watch_rows(const struct mending *m, const struct survey_row *rows, size_t count, struct errbuf *err)
{
    struct args args;
    bool done;
    args_init(&args);
    args_command(&args, "WATCH");
    for (size_t i = 0; i < count; i++)
        args_key(&args, &m->ledger->names, NAMES_DELIVERY, rows[i].delivery);
    return run(&args, m->link, &done, m->limit_ms, err);
}

/* The rows are watched, read, and repaired only if none of them was changed since. */
static bool mend_rows(const struct mending *m, const struct survey_list *list, bool nowhere, struct errbuf *err)
{
    struct survey_row *rows = xcalloc(MEND_BATCH, sizeof *rows);
    bool ok = true;
    for (size_t from = 0; ok && from < list->kept; from += MEND_BATCH) {
        struct args args;
        bool done = false;
        int64_t repairs = 0;
        size_t count = list->kept - from < MEND_BATCH ? list->kept - from : MEND_BATCH;
        for (size_t i = 0; i < count; i++)
            snprintf(rows[i].delivery, sizeof rows[i].delivery, "%s", list->names[from + i]);
        ok = watch_rows(m, rows, count, err) && survey_rows_read(m->ledger, m->link, rows, count, m->limit_ms, err);
        if (!ok) break;
        args_init(&args);
        args_command(&args, "MULTI");
        for (size_t i = 0; i < count; i++)
            repairs += put_repair(m, &args, &rows[i], nowhere);
        args_command(&args, "EXEC");
        ok = run(&args, m->link, &done, m->limit_ms, err);
        *(nowhere ? &m->out->placed : &m->out->removed) += done ? repairs : 0;
        m->out->left += (int64_t)count - (done ? repairs : 0);
    }
    free(rows);
    return ok;
}

/* A worker that finds nothing waiting, or a reconciler that finds nothing uncertain, takes the member off again. */
static bool mend_channels(const struct mending *m, const struct survey *survey, struct errbuf *err)
{
    struct args args;
    bool done;
    args_init(&args);
    for (size_t i = 0; i < survey->deaf.kept; i++)
        put_due_now(m, &args, "channel:", survey->deaf.names[i]);
    for (size_t i = 0; i < survey->unwalked.kept; i++)
        put_due_now(m, &args, "walk:", survey->unwalked.names[i]);
    if (args.command_count == 0) {
        args_fini(&args);
        return true;
    }
    m->out->channels += (int64_t)args.command_count;
    return run(&args, m->link, &done, m->limit_ms, err);
}

bool mend_places(const struct ledger *ledger, struct redis_link *link, const struct survey *survey, int64_t now_ms,
                 struct mended *out, int64_t limit_ms, struct errbuf *err)
{
    const struct mending m = {.ledger = ledger, .link = link, .now_ms = now_ms, .limit_ms = limit_ms, .out = out};
    return mend_rows(&m, &survey->nowhere, true, err) && mend_rows(&m, &survey->stale, false, err) &&
           mend_channels(&m, survey, err);
}
