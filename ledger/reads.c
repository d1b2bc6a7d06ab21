/* SPDX-License-Identifier: MIT */
#include "ledger/reads.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/answer.h"
#include "ledger/args.h"
#include "ledger/feed_entry.h"
#include "runtime/die.h"

#define AGENDA_FIRST 128 /* members that are asked for the oldest claim */

/* ---- one delivery ---- */

enum { ASK_ROW, ASK_REQUEST, ASK_LEASE, ASK_LEASE_LEFT, ASK_AGENDA, ASK_WAITING, ASKS_PER_DELIVERY };

static void ask_delivery(struct args *args, const struct names *names, const char *name, const char *channel)
{
    args_command(args, "HGETALL");
    args_key(args, names, NAMES_DELIVERY, name);
    args_command(args, "HGETALL");
    args_key(args, names, NAMES_REQUEST, name);
    args_command(args, "GET");
    args_key(args, names, NAMES_LEASE, name);
    args_command(args, "PTTL");
    args_key(args, names, NAMES_LEASE, name);
    args_command(args, "ZSCORE");
    args_key(args, names, NAMES_AGENDA, NULL);
    args_joined(args, "delivery:", name);
    args_command(args, "ZSCORE");
    args_key(args, names, NAMES_WAITING, channel);
    args_text(args, name);
}

static void read_delivery(struct redisReply **replies, struct reads_delivery *out)
{
    struct errbuf err = {""};
    const struct redisReply *request = replies[ASK_REQUEST];
    memset(out, 0, sizeof *out);
    out->readable = answer_is_array(replies[ASK_ROW]);
    if (!out->readable)
        answer_words(replies[ASK_ROW], out->error, sizeof out->error);
    else if (!answer_row(replies[ASK_ROW], 0, request, &out->row, &err)) {
        out->readable = false;
        snprintf(out->error, sizeof out->error, "%.*s", (int)sizeof out->error - 1, err.text);
    }
    answer_keep(answer_field(request, 0, "content"), &out->content);
    answer_keep(answer_field(request, 0, "frozen"), &out->frozen);
    answer_keep(answer_field(request, 0, "prepared"), &out->prepared);
    answer_keep(answer_field(request, 0, "detail"), &out->detail);
    if (!answer_is_nil(replies[ASK_LEASE]))
        (void)answer_lease(replies[ASK_LEASE], out->lease_holder, sizeof out->lease_holder, &out->lease_attempt,
                           out->lease_token, sizeof out->lease_token);
    out->lease_left_ms = answer_number_or_0(replies[ASK_LEASE_LEFT]);
    out->agenda_ms = answer_number_or_0(replies[ASK_AGENDA]);
    out->waiting_ms = answer_number_or_0(replies[ASK_WAITING]);
}

/* Second round: is the entry that a row names in the journal? */
static bool read_journal(const struct ledger *ledger, struct redis_link *link, size_t count, struct reads_delivery *out,
                         int64_t limit_ms, struct errbuf *err)
{
    struct args args;
    struct redisReply **replies;
    int64_t ms;
    args_init(&args);
    for (size_t i = 0; i < count; i++) {
        if (!feed_id(out[i].row.journal, &ms)) continue;
        args_command(&args, "XRANGE");
        args_key(&args, &ledger->names, NAMES_JOURNAL, NULL);
        args_text(&args, out[i].row.journal);
        args_text(&args, out[i].row.journal);
    }
    size_t asked = args.command_count, at = 0;
    bool ok = asked == 0 || args_read(&args, link, &replies, limit_ms, err);
    for (size_t i = 0; ok && asked > 0 && i < count; i++) {
        if (feed_id(out[i].row.journal, &ms)) out[i].in_journal = answer_count(replies[at++]) > 0;
    }
    if (ok && asked > 0) args_free_replies(replies, asked);
    args_fini(&args);
    return ok;
}

bool reads_deliveries(const struct ledger *ledger, struct redis_link *link, const char *const *names,
                      const char *const *channels, size_t count, struct reads_delivery *out, int64_t limit_ms,
                      struct errbuf *err)
{
    memset(out, 0, count * sizeof *out);
    for (size_t from = 0; from < count; from += REQUEST_BATCH_MAX) {
        size_t part = count - from < REQUEST_BATCH_MAX ? count - from : REQUEST_BATCH_MAX;
        struct args args;
        args_init(&args);
        for (size_t i = 0; i < part; i++)
            ask_delivery(&args, &ledger->names, names[from + i], channels[from + i]);
        /* An error reply belongs to one delivery (a key of another type), so the answers are read one by one. */
        struct redisReply **replies = xcalloc(args.command_count, sizeof *replies);
        bool ok = args_exchange(&args, link, replies, limit_ms, err);
        for (size_t i = 0; ok && i < part; i++)
            read_delivery(replies + i * ASKS_PER_DELIVERY, &out[from + i]);
        args_free_replies(replies, args.command_count);
        args_fini(&args);
        if (ok) ok = read_journal(ledger, link, part, out + from, limit_ms, err);
        if (ok) continue;
        for (size_t i = 0; i < count; i++)
            reads_delivery_fini(&out[i]);
        return false;
    }
    return true;
}

void reads_delivery_fini(struct reads_delivery *delivery)
{
    answer_drop(&delivery->content);
    answer_drop(&delivery->frozen);
    answer_drop(&delivery->prepared);
    answer_drop(&delivery->detail);
}

/* ---- sets of names ---- */

static bool read_names(const struct ledger *ledger, struct redis_link *link, enum names_kind kind, const char *channel,
                       size_t offset, size_t max, struct reads_name **own_names, size_t *count, int64_t limit_ms,
                       struct errbuf *err)
{
    struct args args;
    struct redisReply **replies;
    *own_names = NULL;
    *count = 0;
    if (max == 0) return true;
    args_init(&args);
    args_command(&args, "ZRANGE");
    args_key(&args, &ledger->names, kind, channel);
    args_number(&args, (int64_t)offset);
    args_number(&args, (int64_t)(offset + max - 1));
    args_text(&args, "WITHSCORES");
    bool ok = args_read(&args, link, &replies, limit_ms, err);
    args_fini(&args);
    if (!ok) return false;
    size_t found = answer_count(replies[0]) / 2;
    struct reads_name *names = xcalloc(found ? found : 1, sizeof *names);
    for (size_t i = 0; i < found; i++) {
        struct delivery_id id;
        char words[KEYS_ERR_BYTES];
        struct reads_name *name = &names[*count];
        if (answer_copy(answer_at(replies[0], 2 * i), name->delivery, sizeof name->delivery) &&
            answer_number(answer_at(replies[0], 2 * i + 1), &name->ms) && identity_parse(name->delivery, &id, words))
            ++*count;
    }
    args_free_replies(replies, 1);
    *own_names = names;
    return true;
}

bool reads_uncertain(const struct ledger *ledger, struct redis_link *link, const char *channel, size_t offset,
                     size_t max, struct reads_name **own_names, size_t *count, int64_t limit_ms, struct errbuf *err)
{
    return read_names(ledger, link, NAMES_UNCERTAIN, channel, offset, max, own_names, count, limit_ms, err);
}

bool reads_waiting(const struct ledger *ledger, struct redis_link *link, const char *channel, size_t offset, size_t max,
                   struct reads_name **own_names, size_t *count, int64_t limit_ms, struct errbuf *err)
{
    return read_names(ledger, link, NAMES_WAITING, channel, offset, max, own_names, count, limit_ms, err);
}

/* ---- the whole ---- */

bool reads_overview(const struct ledger *ledger, struct redis_link *link, struct reads_overview *out, int64_t limit_ms,
                    struct errbuf *err)
{
    static const struct {
        const char *command;
        enum names_kind kind;
    } lengths[] = {{"XLEN", NAMES_QUEUE}, {"XLEN", NAMES_JOURNAL}, {"ZCARD", NAMES_AGENDA}, {"XLEN", NAMES_REFUSED}};
    struct args args;
    struct redisReply **r;
    memset(out, 0, sizeof *out);
    args_init(&args);
    args_command(&args, "HGETALL");
    args_key(&args, &ledger->names, NAMES_EPOCH, NULL);
    args_command(&args, "TIME");
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        args_command(&args, lengths[i].command);
        args_key(&args, &ledger->names, lengths[i].kind, NULL);
    }
    args_command(&args, "XRANGE");
    args_key(&args, &ledger->names, NAMES_QUEUE, NULL);
    args_text(&args, "-");
    args_text(&args, "+");
    args_text(&args, "COUNT");
    args_text(&args, "1");
    bool ok = args_read(&args, link, &r, limit_ms, err);
    if (ok) {
        struct reads_epoch *e = &out->epoch;
        answer_words(answer_field(r[0], 0, "environment"), e->environment, sizeof e->environment);
        answer_words(answer_field(r[0], 0, "run_id"), e->run_id, sizeof e->run_id);
        e->partitions = answer_number_or_0(answer_field(r[0], 0, "partitions"));
        e->server_ms = answer_number_or_0(answer_field(r[0], 0, "server_ms"));
        e->rewound_at_ms = answer_number_or_0(answer_field(r[0], 0, "rewound_at"));
        e->no_absence_before_ms = answer_number_or_0(answer_field(r[0], 0, "no_absence_before"));
        e->doubt_until_ms = answer_number_or_0(answer_field(r[0], 0, "doubt_until"));
        e->leap_until_ms = answer_number_or_0(answer_field(r[0], 0, "leap_until"));
        out->now_ms = answer_number_or_0(answer_at(r[1], 0)) * 1000 + answer_number_or_0(answer_at(r[1], 1)) / 1000;
        out->queue_length = answer_number_or_0(r[2]);
        out->journal_length = answer_number_or_0(r[3]);
        out->agenda_length = answer_number_or_0(r[4]);
        out->refused_length = answer_number_or_0(r[5]);
        /* an entry's id begins with the time (ms) at which it came */
        out->queued_since_ms = strtoll(answer_text(answer_at(answer_at(r[6], 0), 0), NULL), NULL, 10);
        args_free_replies(r, args.command_count);
    }
    args_fini(&args);
    return ok;
}

/* Asks for the rows of those members that are deliveries. */
static void ask_claims(const struct redisReply *members, const struct names *names, struct args *args)
{
    static const char prefix[] = "delivery:";
    for (size_t i = 0; i < answer_count(members); i++) {
        struct delivery_id id;
        char words[KEYS_ERR_BYTES];
        size_t len;
        const char *member = answer_text(answer_at(members, i), &len);
        if (strlen(member) != len || strncmp(member, prefix, sizeof prefix - 1) != 0 ||
            !identity_parse(member + sizeof prefix - 1, &id, words))
            continue;
        args_command(args, "HMGET");
        args_key(args, names, NAMES_DELIVERY, member + sizeof prefix - 1);
        args_text(args, "state");
        args_text(args, "claimed_at");
    }
}

bool reads_oldest_claim(const struct ledger *ledger, struct redis_link *link, int64_t *since_ms, int64_t limit_ms,
                        struct errbuf *err)
{
    struct args first, second;
    struct redisReply **members;
    *since_ms = 0;
    args_init(&first);
    args_command(&first, "ZRANGE");
    args_key(&first, &ledger->names, NAMES_AGENDA, NULL);
    args_number(&first, 0);
    args_number(&first, AGENDA_FIRST - 1);
    bool ok = args_read(&first, link, &members, limit_ms, err);
    args_fini(&first);
    if (!ok) return false;
    args_init(&second);
    ask_claims(members[0], &ledger->names, &second);
    /* An error reply belongs to one delivery (a key of another type). */
    struct redisReply **rows = xcalloc(second.command_count + 1, sizeof *rows);
    ok = second.command_count == 0 || args_exchange(&second, link, rows, limit_ms, err);
    for (size_t i = 0; ok && i < second.command_count; i++) {
        const int64_t claimed_ms = answer_number_or_0(answer_at(rows[i], 1));
        if (!answer_is(answer_at(rows[i], 0), "claimed") || claimed_ms == 0) continue;
        if (*since_ms == 0 || claimed_ms < *since_ms) *since_ms = claimed_ms;
    }
    args_free_replies(rows, second.command_count);
    args_free_replies(members, 1);
    args_fini(&second);
    return ok;
}

bool reads_stream_lost(const struct ledger *ledger, struct redis_link *link, enum names_kind stream, int64_t *lost,
                       int64_t limit_ms, struct errbuf *err)
{
    struct args args;
    struct redisReply *reply = NULL;
    int64_t added, length;
    args_init(&args);
    args_command(&args, "XINFO");
    args_text(&args, "STREAM");
    args_key(&args, &ledger->names, stream, NULL);
    bool ok = args_ask(&args, link, &reply, limit_ms, err);
    bool known = answer_number(answer_field(reply, 0, "entries-added"), &added) &&
                 answer_number(answer_field(reply, 0, "length"), &length);
    *lost = known ? added - length : -1;
    answer_free(reply);
    args_fini(&args);
    return ok;
}

bool reads_stream(const struct ledger *ledger, struct redis_link *link, enum names_kind stream, const char *after,
                  size_t max, struct feed_batch *out, int64_t limit_ms, struct errbuf *err)
{
    struct args args;
    struct redisReply **replies;
    memset(out, 0, sizeof *out);
    args_init(&args);
    args_command(&args, "XREAD");
    args_text(&args, "COUNT");
    args_number(&args, (int64_t)max);
    args_text(&args, "STREAMS");
    args_key(&args, &ledger->names, stream, NULL);
    args_text(&args, after);
    bool ok = args_read(&args, link, &replies, limit_ms, err);
    args_fini(&args);
    if (!ok) return false;
    (void)feed_entries(out, feed_stream_list(replies[0]), false);
    args_free_replies(replies, 1);
    return true;
}
