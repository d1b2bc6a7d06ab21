/* SPDX-License-Identifier: MIT */
/*
 * health: what a Redis server says about itself: version, memory, persistence, replication, settings, our rights.
 *
 * Three round trips: the questions, the commands of ours that our user may not use, and a quiet look at the clock.
 * Managed services forbid CONFIG and ACL; then the words of the refusal stand in place of the facts, and nothing is
 * concluded. Reads only; judges nothing.
 */
#ifndef LANDFALL_LEDGER_HEALTH_H
#define LANDFALL_LEDGER_HEALTH_H

#include "ledger/reads.h"

#define HEALTH_UNKNOWN (-1)

struct health {
    char version[32]; /* of Redis, or of the Redis that a Valkey is compatible with; "" where INFO does not say */
    char server[32];  /* "valkey"; "" for Redis */
    char role[16];
    char policy[32];                                   /* maxmemory-policy */
    int64_t maxmemory_bytes, used_bytes, system_bytes; /* 0: no limit, not known */
    int64_t evicted;                                   /* keys, since the server started */
    bool append_only, append_failed, snapshot_failed;
    int64_t replicas, min_replicas;                 /* HEALTH_UNKNOWN where CONFIG is forbidden */
    char append_fsync[16];                          /* "" where CONFIG is forbidden */
    char save[128];                                 /* "" also where snapshots are off */
    int64_t listpack_value_bytes, listpack_entries; /* HEALTH_UNKNOWN */
    char config_refused[128];                       /* "": CONFIG GET was answered */
    char user[64];                                  /* "": not known */
    char acl_refused[128];                          /* "": ACL DRYRUN was answered */
    char forbidden[256];                            /* commands of ours that the user lacks, with spaces between */
    int forbidden_count;
    bool wait_forbidden, waitaof_forbidden; /* our user lacks them; false also where that is not known */
    char reload_forbidden[256]; /* as forbidden, of the user `default`: Redis reads its append-only file as that user */
    bool has_queue, has_group;  /* the stream `queue`, its group `workers` */
    int64_t entries_added;      /* to the queue, ever; HEALTH_UNKNOWN */
    int64_t entries_read;       /* of them, by the group; HEALTH_UNKNOWN */
    int64_t entries_there;      /* in the queue now */
    int64_t server_ms;          /* the server's clock .. */
    int64_t wall_ms;            /* .. and the one of this machine at the same moment, within.. */
    int64_t error_ms;           /* .. this much */
};

MUSTCHECK bool health_read(const struct ledger *ledger, struct redis_link *link, struct health *out, int64_t limit_ms,
                           struct errbuf *err);

#endif
