/* SPDX-License-Identifier: MIT */
/*
 * The names of all Redis keys, in one table: <prefix>:{<partition>}:<kind>[:<suffix>].
 *
 * Every key of a partition carries the same hash tag, so that scripts which touch several of them also run on Redis
 * Cluster. No other file puts a key name together. Suffixes are delivery names, channels and worker names that were
 * checked before; a suffix that is missing, superfluous or too long is a fault of ours and ends the process.
 */
#ifndef LANDFALL_KEYS_NAMES_H
#define LANDFALL_KEYS_NAMES_H

#include "keys/base.h"
#include "keys/identity.h"

/* X(symbol, word, what the suffix is: "" for none) */
#define NAMES_TABLE(X)                                                                                                 \
    X(QUEUE, "queue", "")                                                                                              \
    X(DELIVERY, "delivery", "delivery")                                                                                \
    X(REQUEST, "request", "delivery")                                                                                  \
    X(LEASE, "lease", "delivery")                                                                                      \
    X(AGENDA, "agenda", "")                                                                                            \
    X(WAITING, "waiting", "channel")                                                                                   \
    X(JOURNAL, "journal", "")                                                                                          \
    X(UNCERTAIN, "uncertain", "channel")                                                                               \
    X(WALK, "walk", "channel")                                                                                         \
    X(POSTS, "posts", "channel")                                                                                       \
    X(CHANNEL, "channel", "channel")                                                                                   \
    X(SESSION, "session", "channel")                                                                                   \
    X(LOGIN, "login", "channel")                                                                                       \
    X(CHANNELS, "channels", "")                                                                                        \
    X(COUNTS, "counts", "")                                                                                            \
    X(EPOCH, "epoch", "")                                                                                              \
    X(OUTCOMES, "outcomes", "")                                                                                        \
    X(REFUSED, "refused", "")                                                                                          \
    X(AUDIT, "audit", "")                                                                                              \
    X(WORKER, "worker", "worker")

enum names_kind {
#define X(symbol, word, suffix) NAMES_##symbol,
    NAMES_TABLE(X)
#undef X
        NAMES_KIND_COUNT
};

#define NAMES_DEFAULT_PREFIX "lf"
#define NAMES_PREFIX_BYTES   17 /* [a-z][a-z0-9_-]{0,15} and a NUL */

/* Enough for every name that names_key() writes, the final NUL included. */
#define NAMES_KEY_BYTES 320

/* The number of hash slots of a Redis Cluster: more partitions than slots could not be spread. */
#define NAMES_PARTITIONS_MAX 16384

struct names {
    char prefix[NAMES_PREFIX_BYTES];
    unsigned partition;
    char front[NAMES_PREFIX_BYTES + 16]; /* "<prefix>:{<partition>}:", with which every key begins */
    size_t front_len;
};

/* Checks prefix and partition (0 to NAMES_PARTITIONS_MAX - 1) and keeps a copy. */
MUSTCHECK bool names_init(struct names *names, const char *prefix, unsigned partition, char err[KEYS_ERR_BYTES]);

/* Writes one key name and returns its length. suffix is NULL for kinds that have none. */
size_t names_key(const struct names *names, enum names_kind kind, const char *suffix, char *out, size_t out_size);

/* The word of a kind, e.g. "waiting". */
const char *names_word(enum names_kind kind);

/*
 * The partition of a channel, 0 to partition_count - 1: the hash slot that Redis Cluster gives to the channel's text
 * (CRC-16/XMODEM modulo 16384; a cluster prints it with CLUSTER KEYSLOT), modulo the number of partitions.
 */
unsigned names_partition(const char *channel, unsigned partition_count);

#endif
