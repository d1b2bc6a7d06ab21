/* SPDX-License-Identifier: MIT */
/*
 * calls_decide: settle, resolve and operate: a decision of core/ goes to the row that it was made for.
 *
 * Read a row (or take what a stale answer brought), run delivery_step() on it, put both in here. If the row has changed
 * meanwhile nothing is written, the answer is DECIDE_STALE with the row as it is, and the caller decides again with the
 * same event: a report is never dropped. Only decisions with VERDICT_CHANGE are sent; others end with the caller.
 */
#ifndef LANDFALL_LEDGER_CALLS_DECIDE_H
#define LANDFALL_LEDGER_CALLS_DECIDE_H

#include "core/delivery.h"
#include "keys/identity.h"
#include "ledger/request.h"
#include "ledger/row.h"

/* X(symbol, word of the script) */
#define DECIDE_ANSWERS(X)                                                                                              \
    X(DECIDE_OK, "ok")                   /* rev */                                                                     \
    X(DECIDE_STALE, "stale")             /* row: decide again with it */                                               \
    X(DECIDE_FOREIGN, "foreign")         /* other: the external id belongs to that delivery; nothing was written */    \
    X(DECIDE_EARLY, "early")             /* until: an absence proves nothing before; nothing was written */            \
    X(DECIDE_NO_CONTENT, "no_content")   /* its content was dropped after the retention: submit it again */            \
    X(DECIDE_ENVIRONMENT, "environment") /* error: this Redis belongs to another environment; the process stops */     \
    X(DECIDE_ERROR, "error")             /* error: the row cannot be read, or an answer that we cannot read */

#define X(symbol, word) symbol,
enum decide_answer { DECIDE_ANSWERS(X) DECIDE_ANSWER_COUNT };
#undef X

struct decide_request {
    struct request base;
    const struct delivery_row *row; /* the decision was made for this one: state, attempt and rev must match */
    const struct delivery_decision *decision; /* VERDICT_CHANGE */

    /* What goes into the row beside the decision. NULL or 0: leave it as it is. */
    const char *lease_token; /* settle: the report's token; the lease is released if it carries it */
    const char *ext_id;      /* the platform's id, where the decision publishes or verifies */
    const char *url;
    const char *duplicate_id; /* the other id */
    bool changed;             /* the platform has another text than was sent */
    int status;               /* HTTP */
    const char *detail;       /* for people, without secrets */
    size_t detail_len;
    const char *prepared; /* results of prepare steps, JSON; "" drops them */
    size_t prepared_len;
    const char *frozen, *body_hash; /* the request as it will be sent: with the note of a claimed row, and of a row that
                                       is made again */
    size_t frozen_len;

    /* A row that is made again from a report (row->state is DS_NONE); NULL and 0 else. The key also where the row knows
     * of no attempt: the ledger was set back, and what may be out is to be found by it. */
    int attempt;
    const char *token, *key, *content_hash, *content;
    size_t content_len;
    int64_t approved_at_ms;

    /* resolve: the search of an EV_ABSENT or EV_GONE that the caller took for settled; 0 for all other events, and for
     * an absence that was not settled when it was decided about. */
    int64_t searched_from_ms, visibility_lag_ms;
    int searched_attempt;

    /* operate: goes to the audit stream. */
    const char *act, *user, *host, *why;

    enum decide_answer answer;
    int64_t rev;
    int64_t until_ms;
    struct row current;              /* stale */
    char other[IDENTITY_NAME_BYTES]; /* foreign */
};

#endif
