/* SPDX-License-Identifier: MIT */
#include "ledger/args.h"

#include <hiredis/hiredis.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/answer.h"
#include "runtime/die.h"
#include "runtime/digits.h"

#define FIRST_BYTES 1024
#define KEPT_BYTES  ((size_t)4 << 20) /* of what is used again; a round has 1 MiB, or one large item */
#define COUNT_BYTES 16                /* "*<number of arguments>\r\n" */

void args_init(struct args *args)
{
    memset(args, 0, sizeof *args);
}

void args_fini(struct args *args)
{
    free(args->wire);
    free(args->commands);
    args_init(args);
}

void args_clear(struct args *args)
{
    if (args->room > KEPT_BYTES) args_fini(args);
    args->len = args->command_count = 0;
}

/* Room for `more` bytes behind what is there. */
static char *reserve(struct args *args, size_t more)
{
    if (more > args->room - args->len) {
        if (more > SIZE_MAX / 4) die("ledger: an argument of %zu bytes", more);
        if (args->room == 0) args->room = FIRST_BYTES;
        while (args->room - args->len < more)
            args->room *= 2;
        args->wire = xrealloc(args->wire, args->room);
    }
    return args->wire + args->len;
}

/* "$<len>\r\n...\r\n"; returns where the argument's bytes go. */
static char *next_argument(struct args *args, size_t len)
{
    char text[DIGITS_BYTES], *const end = text + sizeof text, *first = digits_before(end, (int64_t)len);
    char *at = reserve(args, 1 + DIGITS_BYTES + 2 + len + 2);
    *at++ = '$';
    while (first < end)
        *at++ = *first++;
    memcpy(at, "\r\n", 2);
    at += 2;
    memcpy(at + len, "\r\n", 2);
    args->len = (size_t)(at + len + 2 - args->wire);
    args->commands[args->command_count - 1].count++;
    return at;
}

void args_bytes(struct args *args, const void *bytes, size_t len)
{
    char *at = next_argument(args, len);
    if (len > 0) memcpy(at, bytes, len);
}

void args_text(struct args *args, const char *text)
{
    args_bytes(args, text, text ? strlen(text) : 0);
}

void args_number(struct args *args, int64_t number)
{
    char text[DIGITS_BYTES], *end = text + sizeof text;
    char *at = digits_before(end, number);
    args_bytes(args, at, (size_t)(end - at));
}

void args_joined(struct args *args, const char *prefix, const char *text)
{
    const size_t prefix_len = strlen(prefix), text_len = strlen(text);
    char *at = next_argument(args, prefix_len + text_len);
    memcpy(at, prefix, prefix_len);
    memcpy(at + prefix_len, text, text_len);
}

void args_key(struct args *args, const struct names *names, enum names_kind kind, const char *suffix)
{
    char name[NAMES_KEY_BYTES];
    args_bytes(args, name, names_key(names, kind, suffix, name, sizeof name));
}

void args_command(struct args *args, const char *word)
{
    if (args->command_count == args->command_room) {
        args->command_room = args->command_room ? args->command_room * 2 : 16;
        args->commands = xrealloc_array(args->commands, args->command_room, sizeof *args->commands);
    }
    reserve(args, COUNT_BYTES);
    args->commands[args->command_count++] = (struct args_command){.at = args->len};
    args->len += COUNT_BYTES;
    args_text(args, word);
}

/* The number of a command's arguments goes in front of them, right before the first. */
static struct link_command finished(const struct args *args, size_t command)
{
    const struct args_command *c = &args->commands[command];
    const size_t end = command + 1 < args->command_count ? args->commands[command + 1].at : args->len;
    char *first = args->wire + c->at + COUNT_BYTES;
    first = digits_before(memcpy(first - 2, "\r\n", 2), (int64_t)c->count);
    *--first = '*';
    return (struct link_command){first, (size_t)(args->wire + end - first)};
}

struct link_command *args_commands(const struct args *args)
{
    struct link_command *commands = xcalloc(args->command_count, sizeof *commands);
    for (size_t i = 0; i < args->command_count; i++)
        commands[i] = finished(args, i);
    return commands;
}

const char *args_at(const struct args *args, size_t command, size_t i, size_t *len)
{
    *len = 0;
    if (i >= args->commands[command].count) return "";
    const char *at = args->wire + args->commands[command].at + COUNT_BYTES;
    for (;; i--) {
        char *text;
        *len = strtoul(at + 1, &text, 10); /* "$<length>\r\n" */
        if (i == 0) return text + 2;
        at = text + 2 + *len + 2;
    }
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
        answer_free(replies[i]);
    }
    free(replies);
}

/* "GET lf:{0}:epoch", so that somebody can look at it. A script's key comes later, and is named by its answer. */
static void describe(const struct args *args, size_t command, char *out, size_t out_size)
{
    size_t word_len, key_len;
    const char *word = args_at(args, command, 0, &word_len), *key = args_at(args, command, 1, &key_len);
    if (word_len == 4 && memcmp(word, "EVAL", 4) == 0) key_len = 0;
    snprintf(out, out_size, "%.*s%s%.*s", (int)word_len, word, key_len > 0 ? " " : "", (int)key_len, key);
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
        char what[32 + NAMES_KEY_BYTES];
        describe(args, i, what, sizeof what);
        ok = errbuf_set(err, "redis: %s: %s (%s)", what, words, errors_advice(answer_error(replies[i])));
    }
    if (ok) {
        *own_replies = replies;
        return true;
    }
    args_free_replies(replies, args->command_count);
    return false;
}
