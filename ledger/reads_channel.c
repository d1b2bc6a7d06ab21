/* SPDX-License-Identifier: MIT */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/answer.h"
#include "ledger/args.h"
#include "ledger/reads.h"
#include "runtime/die.h"

enum {
    ASK_CHANNEL,
    ASK_WAITING,
    ASK_UNCERTAIN,
    ASK_WAITING_HEAD,
    ASK_UNCERTAIN_HEAD,
    ASK_WALK_DUE,
    ASK_WALKER,
    ASK_COUNTS,
    ASKS_PER_CHANNEL
};

#define CHANNELS_PER_ROUND 128

static void ask_head(struct args *args, const struct names *names, enum names_kind kind, const char *channel)
{
    args_command(args, "ZRANGE");
    args_key(args, names, kind, channel);
    args_text(args, "0");
    args_text(args, "0");
    args_text(args, "WITHSCORES");
}

static void ask_channel(struct args *args, const struct names *names, const char *channel)
{
    args_command(args, "HGETALL");
    args_key(args, names, NAMES_CHANNEL, channel);
    args_command(args, "ZCARD");
    args_key(args, names, NAMES_WAITING, channel);
    args_command(args, "ZCARD");
    args_key(args, names, NAMES_UNCERTAIN, channel);
    ask_head(args, names, NAMES_WAITING, channel);
    ask_head(args, names, NAMES_UNCERTAIN, channel);
    args_command(args, "ZSCORE");
    args_key(args, names, NAMES_AGENDA, NULL);
    args_joined(args, "walk:", channel);
    args_command(args, "GET");
    args_key(args, names, NAMES_WALK, channel);
    args_command(args, "HMGET");
    args_key(args, names, NAMES_COUNTS, NULL);
    for (int state = DS_NONE + 1; state < DS_COUNT; state++) {
        char field[IDENTITY_CHANNEL_BYTES + 24];
        snprintf(field, sizeof field, "%s %s", channel, delivery_state_name((enum delivery_state)state));
        args_text(args, field);
    }
}

static int64_t fact(const struct redisReply *hash, const char *name)
{
    return answer_number_or_0(answer_field(hash, 0, name));
}

static void read_channel(struct redisReply **replies, struct reads_channel *out)
{
    const struct redisReply *hash = replies[ASK_CHANNEL];
    const struct redisReply *paused = answer_field(hash, 0, "paused");
    out->waiting = answer_number_or_0(replies[ASK_WAITING]);
    out->uncertain = answer_number_or_0(replies[ASK_UNCERTAIN]);
    out->waiting_since_ms = answer_number_or_0(answer_at(replies[ASK_WAITING_HEAD], 1));
    out->uncertain_since_ms = answer_number_or_0(answer_at(replies[ASK_UNCERTAIN_HEAD], 1));
    out->walk_due_ms = answer_number_or_0(replies[ASK_WALK_DUE]);
    answer_words(replies[ASK_WALKER], out->walker, sizeof out->walker);
    out->next_at_ms = fact(hash, "next_at");
    out->turn_at_ms = fact(hash, "turn_at");
    out->blocked_until_ms = fact(hash, "blocked_until");
    out->paused_at_ms = fact(hash, "paused_at");
    out->ramp = fact(hash, "ramp");
    out->failures = fact(hash, "failures");
    out->looks = fact(hash, "looks");
    out->paused = paused != NULL;
    answer_words(paused, out->paused_why, sizeof out->paused_why);
    answer_words(answer_field(hash, 0, "blocked_why"), out->blocked_why, sizeof out->blocked_why);
    for (int state = DS_NONE + 1; state < DS_COUNT; state++)
        out->counts[state] = answer_number_or_0(answer_at(replies[ASK_COUNTS], (size_t)(state - DS_NONE - 1)));
}

/* The names of all channels, checked; channels that somebody else wrote there are left out. */
static bool read_names(const struct ledger *ledger, struct redis_link *link, struct reads_channel **own_channels,
                       size_t *count, int64_t limit_ms, struct errbuf *err)
{
    struct args args;
    struct redisReply **replies;
    args_init(&args);
    args_command(&args, "SMEMBERS");
    args_key(&args, &ledger->names, NAMES_CHANNELS, NULL);
    bool ok = args_read(&args, link, &replies, limit_ms, err);
    args_fini(&args);
    if (!ok) return false;
    size_t found = answer_count(replies[0]);
    *own_channels = xcalloc(found ? found : 1, sizeof **own_channels);
    for (size_t i = 0; i < found; i++) {
        char words[KEYS_ERR_BYTES];
        char *name = (*own_channels)[*count].channel;
        if (answer_copy(answer_at(replies[0], i), name, IDENTITY_CHANNEL_BYTES) && identity_channel_check(name, words))
            ++*count;
    }
    args_free_replies(replies, 1);
    return true;
}

static bool read_part(const struct ledger *ledger, struct redis_link *link, struct reads_channel *channels,
                      size_t count, int64_t limit_ms, struct errbuf *err)
{
    struct args args;
    args_init(&args);
    for (size_t i = 0; i < count; i++)
        ask_channel(&args, &ledger->names, channels[i].channel);
    /* An error reply belongs to one channel (a key of another type): its facts are then 0. */
    struct redisReply **replies = xcalloc(args.command_count, sizeof *replies);
    bool ok = args_exchange(&args, link, replies, limit_ms, err);
    for (size_t i = 0; ok && i < count; i++)
        read_channel(replies + i * ASKS_PER_CHANNEL, &channels[i]);
    args_free_replies(replies, args.command_count);
    args_fini(&args);
    return ok;
}

bool reads_channels(const struct ledger *ledger, struct redis_link *link, const char *channel,
                    struct reads_channel **own_channels, size_t *count, int64_t limit_ms, struct errbuf *err)
{
    *own_channels = NULL;
    *count = 0;
    bool ok = true;
    if (channel) {
        *own_channels = xcalloc(1, sizeof **own_channels);
        snprintf((*own_channels)->channel, sizeof(*own_channels)->channel, "%s", channel);
        *count = 1;
    } else {
        ok = read_names(ledger, link, own_channels, count, limit_ms, err);
    }
    for (size_t from = 0; ok && from < *count; from += CHANNELS_PER_ROUND) {
        size_t part = *count - from < CHANNELS_PER_ROUND ? *count - from : CHANNELS_PER_ROUND;
        ok = read_part(ledger, link, *own_channels + from, part, limit_ms, err);
    }
    if (!ok) reads_channels_free(own_channels);
    return ok;
}

void reads_channels_free(struct reads_channel **channels)
{
    free(*channels);
    *channels = NULL;
}
