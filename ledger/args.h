/* SPDX-License-Identifier: MIT */
/*
 * args: the argument vectors of one round's commands. For ledger/ only.
 *
 * Arguments are either borrowed (args_bytes, args_text: the caller's bytes must live until the round is over) or made
 * here (numbers, keys) and freed with args_fini(). Text never becomes a format string: commands are vectors of bytes.
 */
#ifndef LANDFALL_LEDGER_ARGS_H
#define LANDFALL_LEDGER_ARGS_H

#include <stddef.h>
#include <stdint.h>

#include "keys/names.h"
#include "ledger/link.h"

struct args_chunk;

struct args {
    const char **value;
    size_t *bytes;
    size_t count, room;
    size_t total_bytes; /* of all arguments so far */
    size_t *starts;     /* where each command begins */
    size_t command_count, command_room;
    struct args_chunk *chunks;
};

void args_init(struct args *args);
void args_fini(struct args *args);

/* Begins the next command, with its first word. */
void args_command(struct args *args, const char *word);

void args_bytes(struct args *args, const void *bytes, size_t len);
void args_text(struct args *args, const char *text); /* NULL: "" */
void args_number(struct args *args, int64_t number);
/* "<prefix><text>", copied. */
void args_joined(struct args *args, const char *prefix, const char *text);
/* A key of the ledger. suffix NULL for kinds that have none. */
void args_key(struct args *args, const struct names *names, enum names_kind kind, const char *suffix);

/* The commands, for link_exchange(); free() the array itself. Borrowed pointers into args. */
struct link_command *args_commands(const struct args *args);

/* Runs all commands in one exchange. replies has command_count places; all are set, NULL where no answer came. */
MUSTCHECK bool args_exchange(const struct args *args, struct redis_link *link, struct redisReply **replies,
                             int64_t limit_ms, struct errbuf *err);

/* As args_exchange, over link_ask(): every error reply is an answer, also one that forbids the command. */
MUSTCHECK bool args_ask(const struct args *args, struct redis_link *link, struct redisReply **replies, int64_t limit_ms,
                        struct errbuf *err);

/* As args_exchange, for plain reads: an error reply or a missing answer is a failure and err has its words. On success
 * *own_replies (command_count of them) is the caller's: args_free_replies(). On failure there is nothing to free. */
MUSTCHECK bool args_read(const struct args *args, struct redis_link *link, struct redisReply ***own_replies,
                         int64_t limit_ms, struct errbuf *err);
void args_free_replies(struct redisReply **replies, size_t count);

#endif
