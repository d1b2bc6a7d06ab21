/* SPDX-License-Identifier: MIT */
/*
 * link: one connection to Redis, used in rounds: write all commands, then read all answers, within one time limit.
 *
 * link_exchange() waits for its answers. link_send() does not: link_answer() looks for them, while the caller does
 * something else. Answers come in the order of their questions, and the link counts those that are awaited, so they
 * cannot be taken for each other's: a question that waits for its answer (link_exchange, link_ask) first reads the ones
 * that are awaited and keeps them for link_answer(); a second link_send() before they are taken is a mistake in the
 * program, and ends it. What is awaited is lost with the connection.
 *
 * link_open() finds the server (by its address, by asking sentinels, or by following a cluster to the node that holds
 * this partition), connects, authenticates, selects the database and believes only a master; link_open.c has all of
 * that. Any error drops the connection, which is never used again; a command whose answer did not come is unknown, and
 * whoever sent it asks again. Nothing is repeated in here. link_keep() is for loops: it opens a connection that is not
 * open when its time has come (waits are capped first and jittered afterwards, so that a fleet does not come back all
 * at once).
 *
 * The password is read at every connect and never stands in an error text. Bytes from Redis are checked, never trusted.
 */
#ifndef LANDFALL_LEDGER_LINK_H
#define LANDFALL_LEDGER_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/clock.h"
#include "runtime/errbuf.h"
#include "runtime/secret.h"

#define LINK_RUN_ID_BYTES     48                /* 40 hex digits, and room */
#define LINK_ROUND_MAX_BYTES  ((size_t)1 << 20) /* written in one round; the rest goes with the next */
#define LINK_CONNECT_LIMIT_MS 3000              /* the caller's loop stands still meanwhile */
#define LINK_BACKOFF_BASE_MS  100
#define LINK_BACKOFF_CAP_MS   5000

/* Where Redis is. Everything is copied by link_new(). NULL or "" where there is none. */
struct link_address {
    const char *url;                        /* one that config_redis_parse() takes; anything else ends the process */
    const struct secret *password;          /* of Redis, for the user in the URL */
    const struct secret *sentinel_password; /* of the sentinels, where the URL names some */
    const char *ca_file, *cert_file, *key_file; /* for TLS, PEM; read at every connect */
    const char *probe_key; /* a key of this partition: on a cluster, its node is where the link goes */
    const char *name;      /* shown by CLIENT LIST */
};

struct redis_link;
struct redisReply;

/* Nothing is connected yet. */
struct redis_link *link_new(const struct link_address *address);
void link_free(struct redis_link **link);

/* A new password, after a reload of the configuration; takes effect at the next connect. */
void link_set_password(struct redis_link *link, const struct secret *password);

/* One try of each host that the URL names, now, within LINK_CONNECT_LIMIT_MS for each step. err says what failed last
 * and what to do. */
MUSTCHECK bool link_open(struct redis_link *link, struct errbuf *err);

/* True if it is open; else tries one host if link_next_try_ms() has come, the next one at the next call: a loop is kept
 * no longer than one dead host takes. err is empty if it was too early to try. */
MUSTCHECK bool link_keep(struct redis_link *link, struct errbuf *err);

/* Boot time (ms) before which link_keep() does not try; 0 while it is open. */
int64_t link_next_try_ms(const struct redis_link *link);

void link_close(struct redis_link *link);
bool link_is_open(const struct redis_link *link);

/* The run id of the server this connection speaks to; "" while closed. Borrowed until the next link_ call. */
const char *link_run_id(const struct redis_link *link);

/* What this connection knows of the server's time; noted by every round that brings it. */
struct server_clock *link_clock(struct redis_link *link);

/* Rounds that were answered in full, since link_new(). */
uint64_t link_round_trips(const struct redis_link *link);

/* True after an error of kind ERRORS_STOP: reconnecting does not help. err of that call has the words. */
bool link_must_stop(const struct redis_link *link);

/* ---- for ledger/ only ---- */

/* A server that it came to, perhaps this one, said that it is a replica; until link_note_master(). */
bool link_was_replica(const struct redis_link *link);
void link_note_master(struct redis_link *link);

/* One command as it goes over the wire (args.h makes them). The bytes are borrowed for the call only. */
struct link_command {
    const char *bytes;
    size_t len;
};

/* Write all, read all. replies[i] is NULL where no answer came; others are freed with answer_free(). False if the
 * link was dropped (time limit, closed, bad protocol): whatever is NULL then is unknown, not undone. An error reply is
 * an answer. limit_ms is for the whole round. */
MUSTCHECK bool link_exchange(struct redis_link *link, const struct link_command *commands, size_t count,
                             struct redisReply **replies, int64_t limit_ms, struct errbuf *err);

/* As link_exchange(), but no error reply drops the connection: for questions that a server may forbid. */
MUSTCHECK bool link_ask(struct redis_link *link, const struct link_command *commands, size_t count,
                        struct redisReply **replies, int64_t limit_ms, struct errbuf *err);

/* The server's time stood in an answer of the newest link_exchange() or link_ask(). */
void link_note_time(struct redis_link *link, int64_t server_ms);

/* The socket, -1 while closed. */
int link_fd(const struct redis_link *link);

/* Writes all commands and waits for no answer. limit_ms is for writing, and for link_answer(). False: as
 * link_exchange(). */
MUSTCHECK bool link_send(struct redis_link *link, const struct link_command *commands, size_t count, int64_t limit_ms,
                         struct errbuf *err);

/* The next answer to what link_send() wrote. LINK_NOTHING: it is not here yet, and waited for until `until_boot_ms`
 * only (0: not at all). LINK_LOST: the link was dropped, also because the time limit is over; no more answers come.
 * LINK_ANSWER: *reply is the caller's. An error reply that says that the connection, or the server, is the wrong one is
 * an answer, too, and drops the link behind the last one that is awaited; err says why. */
enum link_poll { LINK_ANSWER, LINK_NOTHING, LINK_LOST };
MUSTCHECK enum link_poll link_answer(struct redis_link *link, int64_t until_boot_ms, struct redisReply **reply,
                                     struct errbuf *err);

/* As link_answer(), for who keeps the time limit himself: it never waits, and such an error reply drops the link at
 * once (LINK_LOST). */
MUSTCHECK enum link_poll link_receive(struct redis_link *link, struct redisReply **reply, struct errbuf *err);

/* True if link_answer() has something to say, whatever the socket says: it is here already, or lost. */
bool link_answer_is_here(const struct redis_link *link);

#endif
