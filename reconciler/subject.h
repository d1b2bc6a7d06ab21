/* SPDX-License-Identifier: MIT */
/*
 * subject: one uncertain delivery of a walk, and what the walk has learned about it.
 *
 * Made from what the ledger holds (row, key, content); says how it can be looked for and puts its marks into the table
 * that the listing is compared with. No I/O. What a search says about it is kept here, with strings of its own.
 */
#ifndef LANDFALL_RECONCILER_SUBJECT_H
#define LANDFALL_RECONCILER_SUBJECT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "keys/identity.h"
#include "keys/key.h"
#include "platforms/marks.h"
#include "reconciler/resolve.h"

struct channel;        /* platforms/channel.h */
struct lookup;         /* platforms/lookup.h */
struct reads_delivery; /* ledger/reads.h */
struct search;         /* platforms/search.h */

/* What is asked about it next; the strongest evidence first. */
enum subject_route {
    SUBJECT_NONE, /* nothing (more): it cannot be read, or all is known */
    SUBJECT_BY_ID,
    SUBJECT_BY_KEY,
    SUBJECT_LISTING,
    SUBJECT_ROUTES
};

struct subject {
    char delivery[IDENTITY_NAME_BYTES];
    char key[KEY_BYTES];
    struct delivery_row row; /* as the ledger said last */
    int attempt;             /* the newest one when it was read: the search is about this one */
    enum subject_route route;
    bool in_table; /* it has a slot in the table of marks */
    bool known_id; /* it is asked for by its id: a listing without it proves nothing */
    size_t slot;
    enum delivery_event event; /* what is known so far; EV_UNSEEN: nothing */
    const char *how;           /* by what: a literal */
    json_t *marks;             /* what it can be recognised by; NULL: not known */
    char *ext_id, *url, *duplicate_id;
    bool changed; /* found, and its text is another one than was sent */
};

/* Makes a subject of an uncertain row. `table` gets its marks. What cannot be read of its content leaves it without
 * marks, and `why` says it (else ""): it can still be found by its id or key, and is never absent. */
void subject_init(struct subject *subject, const char *delivery, const struct reads_delivery *read,
                  struct channel *channel, struct mark_index *table, struct errbuf *why);
void subject_fini(struct subject *subject);

/* First moment at which an attempt that is in doubt can have been sent. */
int64_t subject_attempt_from_ms(const struct delivery_row *row);

/* What look-ups see of it. A new reference. */
json_t *subject_input(const struct subject *subject, const struct channel *channel);

/* A look-up has been answered for good; `by_key` says which. Sets what is asked next. */
void subject_take_lookup(struct subject *subject, const struct channel *channel, bool by_key,
                         const struct lookup *lookup);
/* It could not be made, or cannot be. */
void subject_no_lookup(struct subject *subject, const struct channel *channel);
/* The walk over the listing has ended, however it ended. */
void subject_take_listing(struct subject *subject, const struct search *search);

/* For resolve_decide(); borrowed from the subject. */
struct evidence subject_evidence(const struct subject *subject, int64_t searched_from_ms);

#endif
