/* SPDX-License-Identifier: MIT */
#include "ledger/feed.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/answer.h"
#include "ledger/args.h"
#include "ledger/feed_entry.h"
#include "ledger/script.h"
#include "runtime/die.h"

#define ERROR_PAUSE_MS 1000  /* after an error reply: a missing group must not become a hot loop */
#define REFUSED_KEEP   10000 /* entries of the stream `refused` */
#define REFUSED_BYTES  1024  /* of the input that is kept */
#define NO_GROUP       "NOGROUP"
#define GROUP_IS_THERE "BUSYGROUP"

enum asked { ASKED_NOTHING, ASKED_OWN, ASKED_NEW, ASKED_GROUP };

struct feed {
    const struct ledger *ledger;
    struct redis_link *link;
    char *consumer;
    enum asked asked;
    int64_t deadline_ms;    /* boot time at which an outstanding answer is given up */
    int64_t pause_until_ms; /* boot time before which nothing is asked */
    bool own_first;         /* own pending entries have to be read before new ones */
    char own_after[FEED_ENTRY_BYTES];
    bool group_missing;
    int failures; /* in a row */
    char reclaim_from[FEED_ENTRY_BYTES];
};

static void begin_again(struct feed *feed)
{
    feed->asked = ASKED_NOTHING;
    feed->own_first = true;
    snprintf(feed->own_after, sizeof feed->own_after, "0");
}

struct feed *feed_new(const struct ledger *ledger, struct redis_link *own_link, const char *consumer)
{
    struct feed *feed = xcalloc(1, sizeof *feed);
    feed->ledger = ledger;
    feed->link = own_link;
    feed->consumer = xstrdup(consumer);
    snprintf(feed->reclaim_from, sizeof feed->reclaim_from, "0-0");
    begin_again(feed);
    return feed;
}

void feed_free(struct feed **feed)
{
    if (!*feed) return;
    link_free(&(*feed)->link);
    free((*feed)->consumer);
    free(*feed);
    *feed = NULL;
}

void feed_set_password(struct feed *feed, const struct secret *password)
{
    link_set_password(feed->link, password);
}

int feed_fd(const struct feed *feed)
{
    return feed->asked != ASKED_NOTHING ? link_fd(feed->link) : -1;
}

int64_t feed_wake_ms(const struct feed *feed)
{
    if (!link_is_open(feed->link)) return link_next_try_ms(feed->link);
    return feed->asked != ASKED_NOTHING ? feed->deadline_ms : feed->pause_until_ms;
}

/* One alone is a connection that ended while nobody looked. */
bool feed_fails(const struct feed *feed)
{
    return feed->failures > 1;
}

/* ---- asking ---- */

static void put_read(struct args *args, const struct feed *feed, size_t room)
{
    args_command(args, "XREADGROUP");
    args_text(args, "GROUP");
    args_text(args, FEED_GROUP_WORKERS);
    args_text(args, feed->consumer);
    args_text(args, "COUNT");
    args_number(args, (int64_t)room);
    if (!feed->own_first) {
        args_text(args, "BLOCK");
        args_number(args, FEED_BLOCK_MS);
    }
    args_text(args, "STREAMS");
    args_key(args, &feed->ledger->names, NAMES_QUEUE, NULL);
    args_text(args, feed->own_first ? feed->own_after : ">");
}

static void put_group(struct args *args, const struct ledger *ledger)
{
    args_command(args, "XGROUP");
    args_text(args, "CREATE");
    args_key(args, &ledger->names, NAMES_QUEUE, NULL);
    args_text(args, FEED_GROUP_WORKERS);
    args_text(args, "0");
    args_text(args, "MKSTREAM");
}

static bool ask(struct feed *feed, size_t room, int64_t now_ms, struct errbuf *err)
{
    struct args args;
    args_init(&args);
    if (feed->group_missing)
        put_group(&args, feed->ledger);
    else
        put_read(&args, feed, room < FEED_COUNT_MAX ? room : FEED_COUNT_MAX);
    feed->asked = feed->group_missing ? ASKED_GROUP : feed->own_first ? ASKED_OWN : ASKED_NEW;
    feed->deadline_ms = now_ms + FEED_BLOCK_MS + FEED_GRACE_MS;
    struct link_command *commands = args_commands(&args);
    bool ok = link_send(feed->link, commands, 1, LINK_CONNECT_LIMIT_MS, err);
    free(commands);
    args_fini(&args);
    if (!ok) begin_again(feed);
    return ok;
}

static void count_failure(struct feed *feed)
{
    if (feed->failures < 2) feed->failures++;
}

/* ---- taking ---- */

/* An error reply: a missing group is made, everything else is tried again after a pause. */
static bool take_error(struct feed *feed, const char *text, int64_t now_ms, struct errbuf *err)
{
    char word[ERRORS_WORD_BYTES];
    bool making = feed->group_missing;
    if (strncmp(text, NO_GROUP, strlen(NO_GROUP)) == 0 && !making) {
        feed->group_missing = true;
        return true;
    }
    if (making && strncmp(text, GROUP_IS_THERE, strlen(GROUP_IS_THERE)) == 0) {
        feed->group_missing = false;
        return true;
    }
    feed->pause_until_ms = now_ms + ERROR_PAUSE_MS;
    count_failure(feed);
    return errbuf_set(err, "redis: reading the queue: %s: %s", errors_word(text, word), errors_advice(text));
}

static bool take_answer(struct feed *feed, enum asked asked, const struct redisReply *reply, int64_t now_ms,
                        struct feed_batch *out, struct errbuf *err)
{
    const char *error = answer_error(reply);
    if (error) return take_error(feed, error, now_ms, err);
    if (asked == ASKED_GROUP) {
        feed->group_missing = false;
        return true;
    }
    feed->failures = 0;
    size_t before = out->count;
    size_t senseless = feed_entries(out, feed_stream_list(reply), asked == ASKED_OWN);
    if (asked == ASKED_OWN && out->count == before) feed->own_first = false;
    if (asked == ASKED_OWN && out->count > before)
        snprintf(feed->own_after, sizeof feed->own_after, "%s", out->entries[out->count - 1].id);
    return senseless == 0 || errbuf_set(err, "redis: %zu entries of the queue cannot be read", senseless);
}

/* Looks for the outstanding answer. False: lost, or an error. */
static bool receive(struct feed *feed, int64_t now_ms, struct feed_batch *out, struct errbuf *err)
{
    struct redisReply *reply;
    enum asked asked = feed->asked;
    switch (link_receive(feed->link, &reply, err)) {
    case LINK_LOST:
        begin_again(feed);
        count_failure(feed);
        if (asked == ASKED_GROUP) { /* it may not be made, by this user: somebody else may make it */
            feed->group_missing = false;
            feed->pause_until_ms = now_ms + ERROR_PAUSE_MS;
        }
        return false;
    case LINK_NOTHING:
        if (now_ms < feed->deadline_ms) return true;
        link_close(feed->link);
        begin_again(feed);
        count_failure(feed);
        return errbuf_set(err, "redis: the queue's connection is dead: no answer %d ms after the block time",
                          FEED_GRACE_MS);
    case LINK_ANSWER: break;
    }
    feed->asked = ASKED_NOTHING;
    bool ok = take_answer(feed, asked, reply, now_ms, out, err);
    answer_free(reply);
    return ok;
}

bool feed_step(struct feed *feed, size_t room, struct feed_batch *out, struct errbuf *err)
{
    memset(out, 0, sizeof *out);
    if (!link_is_open(feed->link)) {
        begin_again(feed);
        struct errbuf words;
        if (!link_keep(feed->link, &words)) return words.text[0] == '\0' || errbuf_set(err, "%s", words.text);
    }
    int64_t now_ms = clock_boottime_ms();
    if (feed->asked != ASKED_NOTHING && !receive(feed, now_ms, out, err)) return false;
    if (feed->asked != ASKED_NOTHING || out->count >= room || now_ms < feed->pause_until_ms) return true;
    return ask(feed, room - out->count, now_ms, err);
}

/* ---- entries of consumers that died ---- */

/* How often each of them was handed out, from the pending list. */
static bool read_counts(const struct ledger *ledger, struct redis_link *link, struct feed_batch *batch,
                        int64_t limit_ms, struct errbuf *err)
{
    struct args args;
    struct redisReply **replies;
    args_init(&args);
    for (size_t i = 0; i < batch->count; i++) {
        args_command(&args, "XPENDING");
        args_key(&args, &ledger->names, NAMES_QUEUE, NULL);
        args_text(&args, FEED_GROUP_WORKERS);
        args_text(&args, batch->entries[i].id);
        args_text(&args, batch->entries[i].id);
        args_number(&args, 1);
    }
    bool ok = args_read(&args, link, &replies, limit_ms, err);
    for (size_t i = 0; ok && i < batch->count; i++) {
        int64_t times = answer_number_or_0(answer_at(answer_at(replies[i], 0), 3));
        batch->entries[i].handed_out = times > 0 && times < INT32_MAX ? (int)times : 0;
    }
    if (ok) args_free_replies(replies, batch->count);
    args_fini(&args);
    return ok;
}

bool feed_hold(struct feed *feed, struct redis_link *link, const char *const *ids, size_t count, int64_t limit_ms,
               struct errbuf *err)
{
    struct args args;
    struct redisReply *reply = NULL;
    if (count == 0) return true;
    args_init(&args);
    args_command(&args, "XCLAIM");
    args_key(&args, &feed->ledger->names, NAMES_QUEUE, NULL);
    args_text(&args, FEED_GROUP_WORKERS);
    args_text(&args, feed->consumer);
    args_number(&args, 0);
    for (size_t i = 0; i < count && i < FEED_COUNT_MAX; i++)
        args_text(&args, ids[i]);
    args_text(&args, "JUSTID"); /* with it, nothing is counted */
    bool ok = args_exchange(&args, link, &reply, limit_ms, err);
    args_fini(&args);
    answer_free(reply); /* an error: what it is, the claims are told as well */
    return ok;
}

bool feed_reclaim(struct feed *feed, struct redis_link *link, int64_t idle_ms, size_t room, struct feed_batch *out,
                  int64_t limit_ms, struct errbuf *err)
{
    memset(out, 0, sizeof *out);
    if (room == 0) return true;
    struct args args;
    struct redisReply *reply = NULL;
    args_init(&args);
    args_command(&args, "XAUTOCLAIM");
    args_key(&args, &feed->ledger->names, NAMES_QUEUE, NULL);
    args_text(&args, FEED_GROUP_WORKERS);
    args_text(&args, feed->consumer);
    args_number(&args, idle_ms);
    args_text(&args, feed->reclaim_from);
    args_text(&args, "COUNT");
    args_number(&args, (int64_t)(room < FEED_COUNT_MAX ? room : FEED_COUNT_MAX));
    bool ok = args_exchange(&args, link, &reply, limit_ms, err);
    args_fini(&args);
    const char *error = answer_error(reply);
    char word[ERRORS_WORD_BYTES];
    if (ok && error && strncmp(error, NO_GROUP, strlen(NO_GROUP)) != 0) /* the feed makes the group */
        ok = errbuf_set(err, "redis: reclaiming: %s: %s", errors_word(error, word), errors_advice(error));
    if (ok && !error) {
        int64_t ms;
        if (!answer_copy(answer_at(reply, 0), feed->reclaim_from, sizeof feed->reclaim_from) ||
            !feed_id(feed->reclaim_from, &ms))
            snprintf(feed->reclaim_from, sizeof feed->reclaim_from, "0-0");
        (void)feed_entries(out, answer_at(reply, 1), true);
        feed_deleted(out, answer_at(reply, 2));
        if (out->count > 0) ok = read_counts(feed->ledger, link, out, limit_ms, err);
    }
    answer_free(reply);
    return ok;
}

/* ---- refusing, leaving ---- */

/* Acknowledged and deleted only when it is written down elsewhere: a full server takes no XADD, and deletes all the
 * same. Deleted first: what is pending comes again and is found to be gone; what is not pending would stay for ever. */
static bool forget_entry(const struct ledger *ledger, struct redis_link *link, const char *id, int64_t limit_ms,
                         struct errbuf *err)
{
    struct args args;
    struct redisReply **replies;
    args_init(&args);
    args_command(&args, "XDEL");
    args_key(&args, &ledger->names, NAMES_QUEUE, NULL);
    args_text(&args, id);
    args_command(&args, "XACK");
    args_key(&args, &ledger->names, NAMES_QUEUE, NULL);
    args_text(&args, FEED_GROUP_WORKERS);
    args_text(&args, id);
    bool ok = args_read(&args, link, &replies, limit_ms, err);
    if (ok) args_free_replies(replies, args.command_count);
    args_fini(&args);
    return ok;
}

bool feed_refuse(const struct ledger *ledger, struct redis_link *link, const struct feed_entry *entry, const char *why,
                 int64_t limit_ms, struct errbuf *err)
{
    size_t len = 0;
    const char *item = feed_value(entry, "item", &len);
    if (!item && entry->field_count > 0) {
        item = entry->fields[0].value.bytes;
        len = entry->fields[0].value.len;
    }
    struct args args;
    struct redisReply **replies;
    args_init(&args);
    args_command(&args, "XADD");
    args_key(&args, &ledger->names, NAMES_REFUSED, NULL);
    args_text(&args, "MAXLEN");
    args_text(&args, "~");
    args_number(&args, REFUSED_KEEP);
    args_text(&args, "*");
    args_text(&args, "entry");
    args_text(&args, entry->id);
    args_text(&args, "why");
    args_text(&args, why);
    args_text(&args, "first_kb");
    args_bytes(&args, item, len < REFUSED_BYTES ? len : REFUSED_BYTES);
    bool ok = args_read(&args, link, &replies, limit_ms, err);
    if (ok) args_free_replies(replies, args.command_count);
    args_fini(&args);
    return ok && forget_entry(ledger, link, entry->id, limit_ms, err);
}

/* A script about the queue's group, with its last argument; its answer, a number. */
static bool run_script(const struct feed *feed, enum script_id id, const char *argument, struct redis_link *link,
                       int64_t *answer, int64_t limit_ms, struct errbuf *err)
{
    const struct script *script = &script_table[id];
    struct args args;
    struct redisReply **replies;
    args_init(&args);
    args_command(&args, "EVAL");
    args_bytes(&args, script->text, script->len);
    args_number(&args, 1);
    args_key(&args, &feed->ledger->names, NAMES_QUEUE, NULL);
    args_text(&args, FEED_GROUP_WORKERS);
    args_text(&args, argument);
    bool ok = args_read(&args, link, &replies, limit_ms, err);
    if (ok) *answer = answer_number_or_0(replies[0]);
    if (ok) args_free_replies(replies, 1);
    args_fini(&args);
    return ok;
}

bool feed_leave(struct feed *feed, struct redis_link *link, int64_t limit_ms, struct errbuf *err)
{
    int64_t gone;
    link_close(feed->link); /* what it still reads would be pending for nobody */
    begin_again(feed);
    return run_script(feed, SCRIPT_LEAVE, feed->consumer, link, &gone, limit_ms, err);
}

bool feed_tidy(const struct feed *feed, struct redis_link *link, int64_t idle_ms, int64_t *gone, int64_t limit_ms,
               struct errbuf *err)
{
    char idle[24];
    *gone = 0;
    snprintf(idle, sizeof idle, "%" PRId64, idle_ms);
    return run_script(feed, SCRIPT_TIDY, idle, link, gone, limit_ms, err);
}
