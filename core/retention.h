/* SPDX-License-Identifier: MIT */
/*
 * retention: may a settled row leave the ledger? Pure.
 *
 * The row is what prevents the duplicate: who brings the same item again is answered that it is published. So it may
 * go only where something else holds that item back by then, or where the caller takes that on himself:
 *
 *   attempts   what was sent may still be executed, answered, or reported by a process that comes back: lease,
 *              late_commit, visibility lag and margin, the key's window where it ends, give_up_after (the longest time
 *              for which evidence is looked for), and, for a rejected row, the time in which retry takes it back
 *   age        the item has a date and the channel a max_age_ms: once it is older, it is held (`backfill`) when it
 *              comes again
 *   without    no date or no max_age_ms: nothing would hold it back. Such a row goes only with `without_guard`
 *
 * Where repeats are harmless the item needs no guard. A key or an upsert that never ends is the platform's own guard
 * against the same bytes, but not against the same item with other content, so it does not count as one.
 */
#ifndef LANDFALL_CORE_RETENTION_H
#define LANDFALL_CORE_RETENTION_H

#include "core/delivery.h"

/* X(symbol, word, why it is kept) */
#define RETENTIONS(X)                                                                                                  \
    X(RETENTION_DROP, "archived", "")                                                                                  \
    X(RETENTION_OPEN, "open", "not settled")                                                                           \
    X(RETENTION_YOUNG, "newer", "settled later than that")                                                             \
    X(RETENTION_NOT_CONFIGURED, "not_configured", "its channel is not configured here, so its times are not known")    \
    X(RETENTION_ATTEMPT, "attempt", "an attempt, its key or a report of it may still count")                           \
    X(RETENTION_AWAITED, "awaited", "a delivery that is not settled comes after it")                                   \
    X(RETENTION_AGE, "age", "its item is not older than the channel's max_age_ms yet, and could be sent again")        \
    X(RETENTION_UNGUARDED, "unguarded",                                                                                \
      "no date or no max_age_ms: nothing would hold it back if it were submitted again; --no-guard takes it all the "  \
      "same")

#define X(symbol, ...) symbol,
enum retention { RETENTIONS(X) RETENTION_COUNT };
#undef X

struct retention_facts {
    int64_t now_ms;
    int64_t before_ms; /* only what was settled before */
    int64_t rejected_keep_ms;
    bool without_guard;
    bool awaited; /* it is the predecessor of a delivery that is not settled */
};

/* policy NULL: the channel is not configured. */
enum retention retention_of(const struct delivery_row *row, const struct delivery_policy *policy,
                            const struct retention_facts *facts);

const char *retention_name(enum retention retention);
const char *retention_why(enum retention retention);

#endif
