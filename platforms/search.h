/* SPDX-License-Identifier: MIT */
/*
 * search: the walk over an account's history, as a step machine without I/O.
 *
 *   search = search_new(channel, index, floor_ms);
 *   while (search_next_request(search, &form))        send it, with the channel's session; form_fini(&form)
 *       switch (search_take_answer(search, facts, answer, now_ms)) ...
 *   search_evidence(search, slot)                     for every delivery of the index
 *
 * It runs the descriptor's reads.prepare steps, then the listing, page after page, and shows every entry to the table
 * of marks once. What it ends with is a result and a completeness. The walk is complete only if every page was read
 * back to the floor, or to the end that the descriptor's own proof names. Everything else is incomplete, with a word
 * that says why, and an incomplete walk finds posts but proves no absence. There is no default.
 *
 * Where pages are numbered, a post that is deleted meanwhile pushes another one over the edge of a page; so a walk of
 * more than one page is made twice, and what the first one saw must be there again, in that order, behind whatever is
 * new. A page that cannot be had now (a limit, an expired session, a broken answer) is asked for again from where the
 * walk stands: that is the caller's to do, when it likes. Answers are bytes from outside: any of them gives some end.
 *
 * Memory: 8 bytes of hash, twice, for each id that was seen, SEARCH_IDS_MAX at most. The channel and the table of marks
 * are borrowed and must live longer than the search.
 */
#ifndef LANDFALL_PLATFORMS_SEARCH_H
#define LANDFALL_PLATFORMS_SEARCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/reason.h"
#include "platforms/marks.h"
#include "runtime/errbuf.h"

struct answer;         /* platforms/answer.h */
struct channel;        /* platforms/channel.h */
struct form;           /* platforms/form.h */
struct transfer_facts; /* platforms/transfer.h */

#define SEARCH_IDS_MAX        200000 /* about ten times the longest history that is worth walking */
#define SEARCH_TRIES_MAX      5      /* answers in a row that do not bring the page; then the walk ends incomplete */
#define SEARCH_ORDER_SLACK_MS 60000  /* entries of one moment may stand in any order */

/* How a walk ended. X(symbol, word for logs and metrics, what it means to a person) */
#define SEARCH_ENDS(X)                                                                                                 \
    X(RUNNING, "running", "the walk has not ended")                                                                    \
    X(COMPLETE, "complete", "every page was read")                                                                     \
    X(GIVEN_UP, "given_up", "the walk was broken off")                                                                 \
    X(NO_LISTING, "no_listing", "the platform has no listing")                                                         \
    X(NO_END, "no_end", "the listing stopped without the proof that this is its end")                                  \
    X(CURSOR_REPEATED, "cursor_repeated", "the listing sends the walk in a circle")                                    \
    X(NO_PROGRESS, "no_progress", "a page brought nothing new although more was promised")                             \
    X(PAGE_LIMIT, "page_limit", "the history has more pages than the descriptor allows to read")                       \
    X(ID_LIMIT, "id_limit", "the history has more entries than one walk keeps in mind")                                \
    X(DRIFTED, "drifted", "the history changed while its numbered pages were read")                                    \
    X(BAD_ENTRY, "bad_entry", "an entry has no id or cannot be read")                                                  \
    X(FOREIGN_NEXT, "foreign_next", "the next page is said to be on another server")                                   \
    X(PAGE_FAILED, "page_failed", "a page could not be had")                                                           \
    X(CREDENTIAL, "credential", "the platform does not let this credential read")                                      \
    X(NOT_PREPARED, "not_prepared", "a step before the listing failed")                                                \
    X(DESCRIPTOR, "descriptor", "a program of the descriptor does not work")

enum search_end {
#define X(symbol, word, meaning) SEARCH_##symbol,
    SEARCH_ENDS(X)
#undef X
        SEARCH_END_COUNT
};

const char *search_end_name(enum search_end end);
const char *search_end_meaning(enum search_end end);

/* What an answer means for the walk. */
enum search_took {
    SEARCH_TOOK_ON,      /* ask for the next request */
    SEARCH_TOOK_AGAIN,   /* this page could not be had: ask for it again, not before wait_ms have passed */
    SEARCH_TOOK_SESSION, /* the session is over: log in anew, then ask for this page again */
    SEARCH_TOOK_END,     /* the walk has ended: search_result() */
};

struct search_result {
    enum search_end end;  /* SEARCH_COMPLETE is the only one that proves an absence */
    int pages;            /* that were read, in both passes */
    size_t entries;       /* different ids that were seen */
    int64_t oldest_ms;    /* time of the oldest entry seen; 0: none had a time */
    struct errbuf detail; /* what was wrong, for people; "" where the word says all */
};

struct search;

/*
 * floor_ms: the first moment at which any delivery of the table can have been sent (Unix ms); 0: read to the end. Used
 * only where the descriptor says that the server sets the times. All deliveries are in the table already.
 */
struct search *search_new(struct channel *channel, struct mark_index *index, int64_t floor_ms);
void search_free(struct search **search);

/* The next request, to be freed with form_fini(). False: the walk has ended. The same page until an answer brings it.
 */
MUSTCHECK bool search_next_request(struct search *search, struct form *form);

/* Takes what came of that request. now_ms: Unix time, for waits that the answer states. */
MUSTCHECK enum search_took search_take_answer(struct search *search, const struct transfer_facts *facts,
                                              const struct answer *answer, int64_t now_ms);

/* How long the last answer asked to wait, in ms; 0: the caller's own backoff. */
int64_t search_wait_ms(const struct search *search);

/* The login failed, the lease is lost, the process stops: the walk ends incomplete, unless it has ended already. */
void search_give_up(struct search *search, enum search_end why);

/* How it ended. Borrowed. */
const struct search_result *search_result(const struct search *search);

/* What reads.prepare kept, for look-ups by key; an object. Borrowed. */
const json_t *search_prepared(const struct search *search);

/*
 * What the walk says about a delivery of the table: EV_FOUND, EV_ABSENT or EV_UNSEEN. Absent only if the walk is
 * complete, reached back to the delivery's first attempt, and the delivery is neither near, nor ambiguous, nor without
 * marks. finding may be NULL.
 */
enum delivery_event search_evidence(const struct search *search, size_t slot, struct mark_finding *finding);

#endif
