/* SPDX-License-Identifier: MIT */
/*
 * reads: plain reads of the ledger, for people, for the reconciler and for metrics. They change nothing.
 */
#ifndef LANDFALL_LEDGER_READS_H
#define LANDFALL_LEDGER_READS_H

#include "keys/identity.h"
#include "ledger/round.h"

/* Everything about one delivery. Free with reads_delivery_fini(). */
struct reads_delivery {
    bool readable; /* false: the row is there and cannot be read; `error` says why */
    char error[REQUEST_ERROR_SIZE];
    struct row row; /* core.state DS_NONE: no such delivery */
    struct request_text content, frozen, prepared, detail;
    char lease_holder[ROW_WORKER_BYTES]; /* "": no lease */
    int lease_attempt;
    char lease_token[DOUBT_TOKEN_MAX + 1];
    int64_t lease_left_ms; /* -1: a lease without an end (somebody's hand) */
    int64_t agenda_ms;     /* 0: not on the agenda */
    int64_t waiting_ms;    /* 0: not in the waiting list */
    bool in_journal;
};

/* Reads `count` deliveries (64 at most in one round trip). names and channels are checked names. */
MUSTCHECK bool reads_deliveries(const struct ledger *ledger, struct redis_link *link, const char *const *names,
                                const char *const *channels, size_t count, struct reads_delivery *out, int64_t limit_ms,
                                struct errbuf *err);
void reads_delivery_fini(struct reads_delivery *delivery);

/* Names with a score: the uncertain deliveries of a channel by the time they became so, its waiting list by due time.
 */
struct reads_name {
    char delivery[IDENTITY_NAME_BYTES];
    int64_t ms;
};

/* *own_names is freed with free(). offset and max page through the set. */
MUSTCHECK bool reads_uncertain(const struct ledger *ledger, struct redis_link *link, const char *channel, size_t offset,
                               size_t max, struct reads_name **own_names, size_t *count, int64_t limit_ms,
                               struct errbuf *err);
MUSTCHECK bool reads_waiting(const struct ledger *ledger, struct redis_link *link, const char *channel, size_t offset,
                             size_t max, struct reads_name **own_names, size_t *count, int64_t limit_ms,
                             struct errbuf *err);

struct reads_channel {
    char channel[IDENTITY_CHANNEL_BYTES];
    int64_t counts[DS_COUNT];
    int64_t waiting, uncertain;
    int64_t next_at_ms, blocked_until_ms, paused_at_ms;
    int64_t turn_at_ms; /* the next turn that is free, of what was handed back */
    int64_t ramp, failures, looks;
    bool paused;
    char paused_why[REQUEST_ERROR_SIZE], blocked_why[REQUEST_ERROR_SIZE];
    int64_t walk_due_ms;           /* 0: nothing uncertain */
    int64_t waiting_since_ms;      /* of the waiting list's head: when it could have gone out; 0: none */
    int64_t uncertain_since_ms;    /* of the one that is uncertain for longest; 0: none */
    char walker[ROW_WORKER_BYTES]; /* "": nobody walks */
};

/* One channel, or all that exist (channel NULL). Free with reads_channels_free(). */
MUSTCHECK bool reads_channels(const struct ledger *ledger, struct redis_link *link, const char *channel,
                              struct reads_channel **own_channels, size_t *count, int64_t limit_ms, struct errbuf *err);
void reads_channels_free(struct reads_channel **channels);

struct reads_epoch {
    char environment[64];
    char run_id[LINK_RUN_ID_BYTES];
    int64_t partitions; /* that the fleet was started with; 0: nobody has said */
    int64_t server_ms, rewound_at_ms, no_absence_before_ms, doubt_until_ms, leap_until_ms;
};

struct reads_overview {
    struct reads_epoch epoch;
    int64_t now_ms;
    int64_t queue_length, journal_length, agenda_length, refused_length;
    int64_t queued_since_ms; /* when the queue's first entry came; 0: it is empty */
};

MUSTCHECK bool reads_overview(const struct ledger *ledger, struct redis_link *link, struct reads_overview *out,
                              int64_t limit_ms, struct errbuf *err);

/* Since when the oldest claim lasts, 0: there is none. A claim stands on the agenda at the end of its lease, so the
 * agenda's first 128 members are asked, in two round trips: behind more than that many overdue ones it is not seen. */
MUSTCHECK bool reads_oldest_claim(const struct ledger *ledger, struct redis_link *link, int64_t *since_ms,
                                  int64_t limit_ms, struct errbuf *err);

/* How many entries a trimmed stream has lost; -1: not known (the server does not say, or not to this user). */
MUSTCHECK bool reads_stream_lost(const struct ledger *ledger, struct redis_link *link, enum names_kind stream,
                                 int64_t *lost, int64_t limit_ms, struct errbuf *err);

/* A page of a stream (outcomes, refused, audit, journal), oldest first, ids greater than `after` ("0" for the
 * beginning).
 */
struct feed_batch;
MUSTCHECK bool reads_stream(const struct ledger *ledger, struct redis_link *link, enum names_kind stream,
                            const char *after, size_t max, struct feed_batch *out, int64_t limit_ms,
                            struct errbuf *err);

#endif
