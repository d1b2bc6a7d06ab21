/* SPDX-License-Identifier: MIT */
/*
 * link_private: what link.c (rounds) and link_open.c (finding and opening the server) share. Nobody else includes it.
 */
#ifndef LANDFALL_LEDGER_LINK_PRIVATE_H
#define LANDFALL_LEDGER_LINK_PRIVATE_H

#include <hiredis/hiredis.h>
#include <sys/time.h>

#include "ledger/link.h"
#include "runtime/config.h"

struct redis_link {
    struct config_redis where;
    char *name, *probe_key, *ca_file, *cert_file, *key_file;
    struct secret *password, *sentinel_password;

    redisContext *context; /* NULL: closed */
    int64_t timeout_ms;    /* what the socket is set to */
    char run_id[LINK_RUN_ID_BYTES];
    struct server_clock clock;
    int64_t sent_boot_ms, received_boot_ms; /* of the newest question that waited for its answers */
    size_t awaited;                         /* answers to link_send() that link_answer() has not handed out */
    int64_t awaited_until_ms;               /* boot time at which they are given up */
    struct redisReply **kept;               /* of them, those that were read already; owned */
    size_t kept_count, kept_at;             /* how many, and the next one to be handed out */
    bool wrong_server;                      /* one that was handed out says so */
    uint64_t round_trips;
    size_t next_host; /* which of the URL's hosts is tried next; stays at one that works */
    int failures;     /* since the last round that was answered */
    int64_t next_try_ms;
    bool must_stop;
    bool was_replica; /* a server said that it is one, since link_note_master() */
    bool opening;     /* an answered handshake is no round that was answered */
};

/* The connection is never used again; the next try is put off. Returns false. */
bool link_drop(struct redis_link *link);

/* What went wrong with the connection, in words. Borrowed until the next call. */
const char *link_words(const struct redis_link *link);

struct timeval link_timeval(int64_t ms);

#endif
