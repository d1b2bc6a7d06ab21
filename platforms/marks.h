/* SPDX-License-Identifier: MIT */
/*
 * marks: by what a delivery is recognised in an account's history, and the table that settles all deliveries of an
 * account in one pass over it.
 *
 * A delivery has marks: the platform's id where it is known, keys, addresses, the text. A listed entry carries the same
 * kinds of things. The table maps every mark (in its normal form, as a hash) to its deliveries, so M deliveries and N
 * entries cost M + N look-ups. The strongest kind that matches decides: id, then key, then address, then text. Text
 * counts only for an entry whose time lies in the attempt's window, and only if no other delivery has that text there.
 *
 * An entry that matches two deliveries by its strongest kind says nothing about either of them: both are ambiguous, so
 * neither is found and neither is absent. Two entries that match one delivery by its strongest kind are a duplicate.
 * An entry that carries a cut piece of a delivery's text or link ("https://ex.test/a?x=1&..") proves nothing, but its
 * delivery must not be called absent: it is near.
 *
 * No I/O. The table copies what it keeps; entries are borrowed for the call.
 */
#ifndef LANDFALL_PLATFORMS_MARKS_H
#define LANDFALL_PLATFORMS_MARKS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/errbuf.h"

#define MARKS_PER_DELIVERY_MAX 64     /* keys and addresses each; a descriptor that gives more is wrong */
#define MARKS_WINDOW_MS        600000 /* how far a platform's clock may be off: text, and times that the server sets */

enum mark_kind { MARK_NONE, MARK_TEXT, MARK_URL, MARK_KEY, MARK_ID }; /* in order of strength */

/* A delivery to look for. Everything is borrowed for the call. */
struct mark_wanted {
    const json_t *marks;     /* what the descriptor's `marks` gave: {keys: [..], urls: [..], text}; NULL: none */
    const char *ext_id;      /* the platform's id, where one is known; NULL or "" */
    int64_t attempt_from_ms; /* first moment at which an attempt in doubt was sent */
    int64_t commit_by_ms;    /* last moment at which one can commit */
};

/* What the history says about a delivery. */
enum mark_result {
    MARK_UNSEEN, /* no entry matches; absent if the search was complete and the delivery has marks */
    MARK_FOUND,
    MARK_AMBIGUOUS, /* an entry matches this delivery and another one */
    MARK_NEAR,      /* an entry carries a cut piece of it */
    MARK_UNMARKED,  /* it has nothing that it could be recognised by: never absent */
};

/* Strings are borrowed from the table and live as long as it does; "" where there is none. */
struct mark_finding {
    enum mark_result result;
    enum mark_kind kind; /* of a found one: by what */
    const char *id;      /* of a found one: the entry's id and address; of two, the elder's */
    const char *url;
    const char *duplicate_id; /* the other entry's id */
    bool changed;             /* both have a text and the entry's is another one: the platform stored something else */
};

struct mark_index;

/* server_times: the platform sets the entries' times itself, so an entry older than the first attempt is not ours. */
struct mark_index *mark_index_new(bool server_times);
void mark_index_free(struct mark_index **index);

/*
 * Adds a delivery and gives its slot: 0, 1, 2, .. in order of the calls. All are added before the first entry is shown.
 * False where `marks` has another shape than the descriptor promises; err says what. Nothing is added then. An address
 * that is none is left out: a delivery that has nothing else is unmarked.
 */
MUSTCHECK bool mark_index_add(struct mark_index *index, const struct mark_wanted *wanted, size_t *slot,
                              struct errbuf *err);

/*
 * Shows one listed entry (entry.h). Addresses are taken from urls, from the links of html and from the links that stand
 * in text. Each entry is shown once. False: it has no id, or a member of another shape; then it was not looked at and
 * the search is not complete.
 */
MUSTCHECK bool mark_index_show(struct mark_index *index, const json_t *entry);

/* What all that was shown says about a slot. Pure; may be asked any time. */
struct mark_finding mark_index_finding(const struct mark_index *index, size_t slot);

/* attempt_from_ms of a slot. */
int64_t mark_index_from_ms(const struct mark_index *index, size_t slot);

#endif
