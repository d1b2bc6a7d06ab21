/* SPDX-License-Identifier: MIT */
/*
 * partition_keys: which keys of a partition would belong to another one, and which show that somebody works. For
 * partitions.c only.
 */
#ifndef LANDFALL_LEDGER_PARTITION_KEYS_H
#define LANDFALL_LEDGER_PARTITION_KEYS_H

#include "keys/names.h"
#include "ledger/link.h"

#define PARTITION_KEYS_BATCH 256

struct partition_key {
    enum names_kind kind;
    char suffix[IDENTITY_NAME_BYTES];
    bool at_work;    /* a heartbeat, a lease, a walk, a login: it stays, and somebody works */
    unsigned target; /* else the partition where it belongs */
};

/* Pure. The channel that a delivery's name, a channel or a field of counts begins with; false: there is none. */
MUSTCHECK bool partition_keys_channel(const char *text, char out[IDENTITY_CHANNEL_BYTES]);

/* Pure. True if the key is at_work, or belongs to another partition once there are `partitions`. */
MUSTCHECK bool partition_keys_read(const struct names *names, const char *key, unsigned partitions,
                                   struct partition_key *out);

/* Told at most PARTITION_KEYS_BATCH keys; false ends the scan. */
typedef bool partition_keys_take(void *context, const struct partition_key *keys, size_t count, struct errbuf *err);

/* All keys that partition_keys_read() takes. A key may be told twice. */
MUSTCHECK bool partition_keys_each(const struct names *names, struct redis_link *link, unsigned partitions,
                                   partition_keys_take *take, void *context, int64_t limit_ms, struct errbuf *err);

#endif
