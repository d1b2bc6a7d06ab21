/* SPDX-License-Identifier: MIT */
/*
 * resolve: from what was read of a platform to what becomes of a delivery. Pure.
 *
 * Evidence is made into an event of core/, which decides; here stands what the reconciler adds: which evidence a search
 * gives at all, whether a decision rests on an absence (the ledger then checks it once more), whether there is anything
 * to write, and when the account is to be looked at next. Nothing here knows of sockets, Redis or clocks.
 */
#ifndef LANDFALL_RECONCILER_RESOLVE_H
#define LANDFALL_RECONCILER_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/delivery.h"
#include "platforms/marks.h"

#define RESOLVE_LOOK_MIN_MS 1000 /* between two looks at an account, unless a delivery's own moment comes sooner */

/* What was learned about a delivery. Strings are borrowed; NULL where there is none. */
struct evidence {
    enum delivery_event event; /* EV_FOUND, EV_ABSENT, EV_UNSEEN, EV_GONE */
    int attempt;               /* the row's newest attempt when the search began */
    int64_t searched_from_ms;  /* the server's time before the first page was asked for */
    const char *how;           /* "id", "key", "listing", "none": a literal */
    const char *ext_id, *url;  /* of a found one */
    const char *duplicate_id;  /* the other post's, where two were found */
};

/* When it is decided. */
struct resolve_moment {
    int64_t now_ms; /* the server's time, at least */
    int64_t no_absence_before_ms;
    uint32_t jitter;
};

/* The event of a walk over the listing. An absence counts only for a delivery that could have been recognised and that
 * nothing looked like. */
enum delivery_event resolve_listing_event(enum delivery_event walked, enum mark_result result);

struct delivery_decision resolve_decide(const struct delivery_row *row, const struct evidence *evidence,
                                        const struct delivery_policy *policy, const struct resolve_moment *moment);

/* The moment from which on a search that begins can prove an absence. */
int64_t resolve_settled_at_ms(const struct delivery_row *row, const struct delivery_policy *policy,
                              int64_t no_absence_before_ms);

/* True if the decision is made from a settled absence: the ledger is told what was searched and looks again. */
bool resolve_rests_on_absence(const struct delivery_row *row, const struct evidence *evidence,
                              const struct delivery_policy *policy, int64_t no_absence_before_ms);

/* True if the decision changes the row. Where it only says when to look again there is nothing to write: the end of the
 * walk says it for the whole account. */
bool resolve_writes(const struct delivery_row *row, const struct delivery_decision *decision);

/* The ids that a found post leaves in the row. The id that the row knows stays; what was found besides is the
 * duplicate. Borrowed from row and evidence; NULL: there is none. */
struct resolve_ids {
    const char *kept, *url, *duplicate;
};
struct resolve_ids resolve_ids(const struct delivery_row *row, const struct evidence *evidence);

/* The next moment after now_ms at which more can be said about an uncertain delivery than now; 0: there is none. */
int64_t resolve_next_moment_ms(const struct delivery_row *row, const struct delivery_policy *policy,
                               const struct resolve_moment *moment);

/* What the deliveries of an account that stay uncertain want. 0: nothing. */
struct resolve_outlook {
    int64_t due_ms;        /* earliest time at which one is due */
    int64_t moment_ms;     /* earliest resolve_next_moment_ms() */
    int64_t not_before_ms; /* the platform asked to wait until then */
};

void resolve_outlook_add(struct resolve_outlook *outlook, int64_t due_ms, int64_t moment_ms);

/* When the account is looked at next. looks: looks in a row, this one included, that changed nothing. 0: nothing stays
 * uncertain. */
int64_t resolve_next_look_ms(const struct resolve_outlook *outlook, int64_t looks, const struct delivery_policy *policy,
                             const struct resolve_moment *moment);

#endif
