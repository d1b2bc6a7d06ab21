/* SPDX-License-Identifier: MIT */
#include "ledger/args.h"

#include <hiredis/hiredis.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/answer.h"
#include "runtime/die.h"

#define CHUNK_BYTES  8192
#define NUMBER_BYTES 24

struct args_chunk {
    struct args_chunk *next;
    size_t used;
    char bytes[CHUNK_BYTES];
};

void args_init(struct args *args)
{
    memset(args, 0, sizeof *args);
}

void args_fini(struct args *args)
{
    while (args->chunks) {
        struct args_chunk *next = args->chunks->next;
        free(args->chunks);
        args->chunks = next;
    }
    free(args->value);
    free(args->bytes);
    free(args->starts);
    args_init(args);
}

/* Room for len bytes that stay where they are. */
static char *reserve(struct args *args, size_t len)
{
    if (len > CHUNK_BYTES) die("ledger: an argument of %zu bytes is made here", len);
    if (!args->chunks || args->chunks->used + len > CHUNK_BYTES) {
        struct args_chunk *chunk = xmalloc(sizeof *chunk);
        chunk->next = args->chunks;
        chunk->used = 0;
        args->chunks = chunk;
    }
    char *at = args->chunks->bytes + args->chunks->used;
    args->chunks->used += len;
    return at;
}

void args_bytes(struct args *args, const void *bytes, size_t len)
{
    if (args->count == args->room) {
        args->room = args->room ? args->room * 2 : 256;
        args->value = xrealloc_array(args->value, args->room, sizeof *args->value);
        args->bytes = xrealloc_array(args->bytes, args->room, sizeof *args->bytes);
    }
    args->value[args->count] = len > 0 ? bytes : "";
    args->bytes[args->count] = len;
    args->count++;
    args->total_bytes += len;
}

void args_text(struct args *args, const char *text)
{
    args_bytes(args, text, text ? strlen(text) : 0);
}

/* A delivery costs a dozen numbers, and printf a thousand instructions each. Written from the last digit on. */
void args_number(struct args *args, int64_t number)
{
    char *start = reserve(args, NUMBER_BYTES), *end = start + NUMBER_BYTES, *at = end;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do
        *--at = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (number < 0) *--at = '-';
    args_bytes(args, at, (size_t)(end - at));
}

void args_joined(struct args *args, const char *prefix, const char *text)
{
    size_t len = strlen(prefix) + strlen(text);
    char *at = reserve(args, len + 1);
    snprintf(at, len + 1, "%s%s", prefix, text);
    args_bytes(args, at, len);
}

void args_key(struct args *args, const struct names *names, enum names_kind kind, const char *suffix)
{
    char name[NAMES_KEY_BYTES];
    size_t len = names_key(names, kind, suffix, name, sizeof name);
    char *at = reserve(args, len + 1);
    memcpy(at, name, len + 1);
    args_bytes(args, at, len);
}

void args_command(struct args *args, const char *word)
{
    if (args->command_count == args->command_room) {
        args->command_room = args->command_room ? args->command_room * 2 : 16;
        args->starts = xrealloc_array(args->starts, args->command_room, sizeof *args->starts);
    }
    args->starts[args->command_count++] = args->count;
    args_text(args, word);
}

struct link_command *args_commands(const struct args *args)
{
    struct link_command *commands = xcalloc(args->command_count, sizeof *commands);
    for (size_t i = 0; i < args->command_count; i++) {
        size_t end = i + 1 < args->command_count ? args->starts[i + 1] : args->count;
        commands[i].argc = (int)(end - args->starts[i]);
        commands[i].argv = args->value + args->starts[i];
        commands[i].argv_bytes = args->bytes + args->starts[i];
    }
    return commands;
}

bool args_exchange(const struct args *args, struct redis_link *link, struct redisReply **replies, int64_t limit_ms,
                   struct errbuf *err)
{
    struct link_command *commands = args_commands(args);
    bool ok = link_exchange(link, commands, args->command_count, replies, limit_ms, err);
    free(commands);
    return ok;
}

bool args_ask(const struct args *args, struct redis_link *link, struct redisReply **replies, int64_t limit_ms,
              struct errbuf *err)
{
    struct link_command *commands = args_commands(args);
    bool ok = link_ask(link, commands, args->command_count, replies, limit_ms, err);
    free(commands);
    return ok;
}

void args_free_replies(struct redisReply **replies, size_t count)
{
    if (!replies) return;
    for (size_t i = 0; i < count; i++) {
        if (replies[i]) freeReplyObject(replies[i]);
    }
    free(replies);
}

/* The key that the command is about, so that somebody can look at it. A script's comes later, and is named by it. */
static const char *key_of(const struct args *args, size_t command)
{
    const size_t at = args->starts[command],
                 end = command + 1 < args->command_count ? args->starts[command + 1] : args->count;
    return at + 1 < end && strcmp(args->value[at], "EVAL") != 0 ? args->value[at + 1] : "";
}

bool args_read(const struct args *args, struct redis_link *link, struct redisReply ***own_replies, int64_t limit_ms,
               struct errbuf *err)
{
    *own_replies = NULL;
    struct redisReply **replies = xcalloc(args->command_count, sizeof *replies);
    bool ok = args_exchange(args, link, replies, limit_ms, err);
    for (size_t i = 0; ok && i < args->command_count; i++) {
        if (!answer_error(replies[i])) continue;
        char words[REQUEST_ERROR_SIZE];
        answer_words(replies[i], words, sizeof words);
        const char *key = key_of(args, i);
        ok = errbuf_set(err, "redis: %s%s%s: %s (%s)", args->value[args->starts[i]], key[0] ? " " : "", key, words,
                        errors_advice(answer_error(replies[i])));
    }
    if (ok) {
        *own_replies = replies;
        return true;
    }
    args_free_replies(replies, args->command_count);
    return false;
}
