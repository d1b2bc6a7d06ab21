/* SPDX-License-Identifier: MIT */
#include "ledger/agenda.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/answer.h"
#include "ledger/args.h"
#include "runtime/die.h"

#define PAGE_MEMBERS 128 /* read at once; what is passed over makes another page necessary */
#define PAGES_MAX    16  /* more than this many members that are not ours to take: the next call sees the rest */
#define ZMSCORE_MAX  256 /* members asked for in one command */

/* Channels that are due, while the agenda is read. */
struct due_channels {
    size_t count;
    struct {
        char name[IDENTITY_CHANNEL_BYTES];
        int64_t score_ms;
    } channel[AGENDA_DUE_MAX];
};

static const char *behind(const char *text, const char *prefix)
{
    size_t len = strlen(prefix);
    return strncmp(text, prefix, len) == 0 ? text + len : NULL;
}

static bool set_delivery(struct agenda_item *item, const char *name, int64_t score_ms)
{
    struct delivery_id id;
    char err[KEYS_ERR_BYTES];
    if (strlen(name) >= sizeof item->delivery || !identity_parse(name, &id, err)) return false;
    *item = (struct agenda_item){.score_ms = score_ms};
    snprintf(item->channel, sizeof item->channel, "%s", id.channel);
    snprintf(item->delivery, sizeof item->delivery, "%s", name);
    return true;
}

static bool add_channel(struct due_channels *channels, const char *name, int64_t score_ms)
{
    char err[KEYS_ERR_BYTES];
    if (!identity_channel_check(name, err)) return false;
    if (channels->count == AGENDA_DUE_MAX) return true; /* the next call sees it */
    snprintf(channels->channel[channels->count].name, IDENTITY_CHANNEL_BYTES, "%s", name);
    channels->channel[channels->count++].score_ms = score_ms;
    return true;
}

/* One page of members with scores. */
static void sort_page(const struct redisReply *page, size_t max, struct agenda_due *out, struct due_channels *channels)
{
    for (size_t i = 0; i + 1 < answer_count(page); i += 2) {
        size_t len;
        const char *member = answer_text(answer_at(page, i), &len);
        int64_t score_ms = 0;
        bool ours = strlen(member) == len && answer_number(answer_at(page, i + 1), &score_ms);
        const char *name;
        if (ours && behind(member, "walk:")) continue;
        if (ours && (name = behind(member, "delivery:")) != NULL) {
            if (out->count >= max) continue;
            ours = set_delivery(&out->item[out->count], name, score_ms);
            if (ours) out->count++;
        } else if (ours && (name = behind(member, "channel:")) != NULL) {
            ours = add_channel(channels, name, score_ms);
        } else {
            ours = false;
        }
        if (!ours) out->skipped++;
    }
}

static bool read_page(const struct ledger *ledger, struct redis_link *link, int64_t now_ms, size_t offset,
                      struct redisReply ***own_replies, int64_t limit_ms, struct errbuf *err)
{
    struct args args;
    args_init(&args);
    for (int due = 1; due >= 0; due--) { /* what is due, then the first that is not */
        args_command(&args, "ZRANGEBYSCORE");
        args_key(&args, &ledger->names, NAMES_AGENDA, NULL);
        if (due) {
            args_text(&args, "-inf");
            args_number(&args, now_ms);
        } else {
            args_number(&args, now_ms + 1);
            args_text(&args, "+inf");
        }
        args_text(&args, "WITHSCORES");
        args_text(&args, "LIMIT");
        args_number(&args, due ? (int64_t)offset : 0);
        args_number(&args, due ? PAGE_MEMBERS : 1);
    }
    bool ok = args_read(&args, link, own_replies, limit_ms, err);
    args_fini(&args);
    return ok;
}

static bool read_heads(const struct ledger *ledger, struct redis_link *link, int64_t now_ms,
                       const struct due_channels *channels, int (*room)(const char *channel, void *arg), void *arg,
                       struct redisReply ***own_replies, int64_t limit_ms, struct errbuf *err)
{
    struct args args;
    args_init(&args);
    for (size_t i = 0; i < channels->count; i++) {
        int wanted = room(channels->channel[i].name, arg);
        args_command(&args, "ZRANGEBYSCORE");
        args_key(&args, &ledger->names, NAMES_WAITING, channels->channel[i].name);
        args_text(&args, "-inf");
        args_number(&args, now_ms);
        args_text(&args, "WITHSCORES");
        args_text(&args, "LIMIT");
        args_number(&args, 0);
        args_number(&args, wanted < 0 ? 1 : wanted);
    }
    bool ok = args_read(&args, link, own_replies, limit_ms, err);
    args_fini(&args);
    return ok;
}

static void add_heads(struct agenda_due *out, size_t max, const char *channel, int64_t score_ms,
                      const struct redisReply *heads)
{
    size_t before = out->count;
    for (size_t i = 0; i + 1 < answer_count(heads) && out->count < max; i += 2) {
        size_t len;
        int64_t due_ms;
        const char *name = answer_text(answer_at(heads, i), &len);
        struct agenda_item *item = &out->item[out->count];
        bool ours = strlen(name) == len && answer_number(answer_at(heads, i + 1), &due_ms) &&
                    set_delivery(item, name, due_ms) && strcmp(item->channel, channel) == 0;
        if (!ours) {
            out->skipped++;
            continue;
        }
        item->waiting = true;
        out->count++;
    }
    if (out->count > before || out->count >= max) return;
    struct agenda_item *item = &out->item[out->count++]; /* nothing to take: the channel's place is worked out anew */
    *item = (struct agenda_item){.score_ms = score_ms};
    snprintf(item->channel, sizeof item->channel, "%s", channel);
}

bool agenda_read(const struct ledger *ledger, struct redis_link *link, int64_t now_ms, size_t max,
                 int (*room)(const char *channel, void *arg), void *arg, struct agenda_due *out, int64_t limit_ms,
                 struct errbuf *err)
{
    if (max > AGENDA_DUE_MAX) max = AGENDA_DUE_MAX;
    struct due_channels *channels =
        xmalloc(sizeof *channels); /* the lists are long, and their ends are not looked at */
    channels->count = out->count = 0;
    out->next_ms = 0;
    out->skipped = 0;
    struct redisReply **replies = NULL;
    size_t members = PAGE_MEMBERS;
    bool ok = true;
    for (int page = 0; ok && page < PAGES_MAX && members == PAGE_MEMBERS && out->count < max; page++) {
        ok = read_page(ledger, link, now_ms, (size_t)page * PAGE_MEMBERS, &replies, limit_ms, err);
        if (!ok) break;
        sort_page(replies[0], max, out, channels);
        members = answer_count(replies[0]) / 2;
        out->next_ms = answer_number_or_0(answer_at(replies[1], 1));
        args_free_replies(replies, 2);
    }
    if (ok && channels->count > 0 && out->count < max) {
        ok = read_heads(ledger, link, now_ms, channels, room, arg, &replies, limit_ms, err);
        for (size_t i = 0; ok && i < channels->count; i++)
            add_heads(out, max, channels->channel[i].name, channels->channel[i].score_ms, replies[i]);
        if (ok) args_free_replies(replies, channels->count);
    }
    free(channels);
    return ok;
}

/* ---- walks ---- */

static int by_due(const void *a, const void *b)
{
    const struct agenda_walk *x = a, *y = b;
    return x->due_ms < y->due_ms ? -1 : x->due_ms > y->due_ms;
}

/* The scores of the walk: members of names[0..count). */
static bool ask_walks(const struct ledger *ledger, struct redis_link *link, const struct redisReply *names,
                      struct redisReply ***own_replies, int64_t limit_ms, struct errbuf *err)
{
    struct args args;
    args_init(&args);
    for (size_t i = 0; i < answer_count(names); i++) {
        if (i % ZMSCORE_MAX == 0) {
            args_command(&args, "ZMSCORE");
            args_key(&args, &ledger->names, NAMES_AGENDA, NULL);
        }
        char channel[IDENTITY_CHANNEL_BYTES];
        (void)answer_copy(answer_at(names, i), channel, sizeof channel);
        args_joined(&args, "walk:", channel);
    }
    bool ok = args_read(&args, link, own_replies, limit_ms, err);
    args_fini(&args);
    return ok;
}

bool agenda_walks(const struct ledger *ledger, struct redis_link *link, struct agenda_walk **own_walks, size_t *count,
                  int64_t limit_ms, struct errbuf *err)
{
    *own_walks = NULL;
    *count = 0;
    struct args args;
    struct redisReply **names = NULL, **scores = NULL;
    args_init(&args);
    args_command(&args, "SMEMBERS");
    args_key(&args, &ledger->names, NAMES_CHANNELS, NULL);
    bool ok = args_read(&args, link, &names, limit_ms, err);
    args_fini(&args);
    if (!ok) return false;
    size_t channels = answer_count(names[0]);
    if (channels > 0) ok = ask_walks(ledger, link, names[0], &scores, limit_ms, err);
    if (ok && channels > 0) {
        struct agenda_walk *walks = xcalloc(channels, sizeof *walks);
        for (size_t i = 0; i < channels; i++) {
            struct agenda_walk *walk = &walks[*count];
            char words[KEYS_ERR_BYTES];
            if (answer_number(answer_at(scores[i / ZMSCORE_MAX], i % ZMSCORE_MAX), &walk->due_ms) &&
                answer_copy(answer_at(names[0], i), walk->channel, sizeof walk->channel) &&
                identity_channel_check(walk->channel, words))
                ++*count;
        }
        qsort(walks, *count, sizeof *walks, by_due);
        *own_walks = walks;
    }
    args_free_replies(scores, (channels + ZMSCORE_MAX - 1) / ZMSCORE_MAX);
    args_free_replies(names, 1);
    return ok;
}
