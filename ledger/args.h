/* SPDX-License-Identifier: MIT */
/*
 * args: the commands of one round, as they go over the wire. For ledger/ only.
 *
 * Every argument is copied once, to where it is sent from: nothing that was put in need live any longer. Text never
 * becomes a format string: a command is an array of strings of bytes (RESP, redis.io/docs/reference/protocol-spec).
 */
#ifndef LANDFALL_LEDGER_ARGS_H
#define LANDFALL_LEDGER_ARGS_H

#include <stddef.h>
#include <stdint.h>

#include "keys/names.h"
#include "ledger/link.h"

struct args {
    char *wire; /* command behind command, each with room for its head in front */
    size_t len, room;
    struct args_command {
        size_t at; /* in wire */
        size_t count;
    } * commands;
    size_t command_count, command_room;
};

void args_init(struct args *args);
void args_fini(struct args *args);
/* No command again, but the memory is kept for the next ones. */
void args_clear(struct args *args);

/* Begins the next command, with its first word. */
void args_command(struct args *args, const char *word);

void args_bytes(struct args *args, const void *bytes, size_t len);
void args_text(struct args *args, const char *text); /* NULL: "" */
void args_number(struct args *args, int64_t number);
/* "<prefix><text>". */
void args_joined(struct args *args, const char *prefix, const char *text);
/* A key of the ledger. suffix NULL for kinds that have none. */
void args_key(struct args *args, const struct names *names, enum names_kind kind, const char *suffix);

/* The commands, for link_exchange(); free() the array itself. The bytes are borrowed from args until it is changed. */
struct link_command *args_commands(const struct args *args);

/* Argument i of a command, 0 being its first word; "" if it has fewer. Not terminated. Borrowed as above. */
const char *args_at(const struct args *args, size_t command, size_t i, size_t *len);

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
