/* SPDX-License-Identifier: MIT */
/*
 * feed: new entries of the queue, on a connection of its own.
 *
 * One XREADGROUP is outstanding at most; its answer is read when the socket is readable, so nothing waits in here.
 * After every (re)connect, and after every answer that was lost, this consumer's own pending entries are read first: an
 * entry that was assigned to us and never arrived is not waited for. No answer FEED_GRACE_MS after the block time means
 * that the connection is dead. Entries of consumers that died come back through feed_reclaim(). A missing group is made
 * again from the stream's beginning.
 */
#ifndef LANDFALL_LEDGER_FEED_H
#define LANDFALL_LEDGER_FEED_H

#include "ledger/round.h"

#define FEED_BLOCK_MS      1000
#define FEED_GRACE_MS      1000
#define FEED_ENTRY_BYTES   44
#define FEED_COUNT_MAX     64
#define FEED_FIELDS_MAX    16 /* more than any entry of ours has */
#define FEED_GROUP_WORKERS "workers"

struct feed_field {
    struct request_text name, value;
};

/* One entry, with its fields as they stand. field_count 0 and `deleted`: only its id is left, the content is gone. */
struct feed_entry {
    char id[FEED_ENTRY_BYTES];
    int64_t ms;     /* millisecond part of the id: when it was approved */
    bool again;     /* it had been handed out before: own pending, or reclaimed */
    int handed_out; /* reclaimed entries: how often it was delivered, this time included; 0: not known */
    bool deleted;
    size_t field_count;
    struct feed_field *fields; /* with their bytes behind them */
};

struct feed_batch {
    size_t count;
    struct feed_entry *entries;
};

void feed_batch_fini(struct feed_batch *batch);
/* The value of a field, NULL if the entry has none of that name; *len may be NULL. Borrowed from the entry. */
const char *feed_value(const struct feed_entry *entry, const char *name, size_t *len);

struct feed;

/* own_link is freed with the feed. consumer: unique per process. */
struct feed *feed_new(const struct ledger *ledger, struct redis_link *own_link, const char *consumer);
void feed_free(struct feed **feed);
/* As link_set_password(), for the feed's own connection. */
void feed_set_password(struct feed *feed, const struct secret *password);

/* For poll(): -1 while there is no connection, or nothing was asked on it. Then nobody would read what stands there, be
 * it only the connection's end, and a loop that waits for it would turn for nothing. Wait for POLLIN. */
int feed_fd(const struct feed *feed);
/* When feed_step() should be called at the latest (boot time, ms), whatever the socket says. A time that has passed: as
 * soon as there is room. */
int64_t feed_wake_ms(const struct feed *feed);
/* The last two reads of the queue failed, and none has succeeded since: what is added does not arrive here. */
bool feed_fails(const struct feed *feed);

/* Call in every turn of the loop. Keeps the connection, asks for up to `room` entries (0: asks for nothing new), takes
 * what has arrived. Never waits for an answer, only for connecting. *out is empty where nothing came and is the
 * caller's (feed_batch_fini). False: the connection was lost, or an error reply came; err says why; it tries again by
 * itself. */
MUSTCHECK bool feed_step(struct feed *feed, size_t room, struct feed_batch *out, struct errbuf *err);

/* Entries that this process holds and cannot claim yet, because the ledger refuses: nobody takes them over meanwhile,
 * and it does not count as handing them out. At most FEED_COUNT_MAX ids. */
MUSTCHECK bool feed_hold(struct feed *feed, struct redis_link *link, const char *const *ids, size_t count,
                         int64_t limit_ms, struct errbuf *err);

/* Take over entries that no consumer has touched for idle_ms, up to `room`, on the ledger's own link (a round trip).
 * Call every few seconds. */
MUSTCHECK bool feed_reclaim(struct feed *feed, struct redis_link *link, int64_t idle_ms, size_t room,
                            struct feed_batch *out, int64_t limit_ms, struct errbuf *err);

/* Input that never becomes a delivery: to the stream `refused`, with why and the first KB, then acknowledged. */
MUSTCHECK bool feed_refuse(const struct ledger *ledger, struct redis_link *link, const struct feed_entry *entry,
                           const char *why, int64_t limit_ms, struct errbuf *err);

/* At an orderly end: removes this consumer from the group if, and only if, nothing is pending for it; what is, other
 * consumers take over at once. */
MUSTCHECK bool feed_leave(struct feed *feed, struct redis_link *link, int64_t limit_ms, struct errbuf *err);

/* Every few minutes: removes consumers that were idle for idle_ms and for which nothing is pending. Killed
 * workers never leave. *gone: how many went. */
MUSTCHECK bool feed_tidy(const struct feed *feed, struct redis_link *link, int64_t idle_ms, int64_t *gone,
                         int64_t limit_ms, struct errbuf *err);

#endif
