/* SPDX-License-Identifier: MIT */
/*
 * act: what becomes of one delivery when a person acts on it, and what that risks, in words. Pure.
 *
 * The decision itself is core's; here it is told apart why there is none: it stands as wanted already, it is busy until
 * some moment, the reconciler has the word, or the verb cannot do that.
 */
#ifndef LANDFALL_CLI_ACT_H
#define LANDFALL_CLI_ACT_H

#include "core/delivery.h"
#include "runtime/errbuf.h"

/* X(symbol, word) */
#define ACT_ANSWERS(X)                                                                                                 \
    X(ACT_DONE, "done")           /* of a plan: the decision is to be written */                                       \
    X(ACT_ALREADY, "already")     /* it stands as wanted; nothing was written */                                       \
    X(ACT_BUSY, "busy")           /* not before until_ms (0: not known) */                                             \
    X(ACT_OPEN, "open")           /* the reconciler reads the platform first */                                        \
    X(ACT_REFUSED, "refused")     /* this verb cannot do that, or not without a flag */                                \
    X(ACT_MISSING, "missing")     /* there is no such delivery */                                                      \
    X(ACT_NOT_KNOWN, "not known") /* Redis did not answer */

#define X(symbol, word) symbol,
enum act_answer { ACT_ANSWERS(X) ACT_ANSWER_COUNT };
#undef X

/* What a person asks for. */
struct act {
    enum delivery_event event; /* EV_RETRY, EV_APPROVE, EV_CONFIRM, EV_CANCEL */
    bool in_doubt;             /* cancel: although an attempt may have committed */
    bool new_key;              /* retry: a new key generation */
    const char *ext_id, *url;  /* confirm; NULL: none */
};

struct act_facts {
    const struct delivery_row *row;
    const struct delivery_policy *policy;   /* NULL: the channel is not configured here */
    const struct delivery_policy *defaults; /* used then */
    int64_t now_ms;
    int64_t lease_ends_ms; /* of a claimed row; 0: not known */
    bool forgotten;        /* a ledger that was set back may have forgotten attempts of it */
};

struct act_plan {
    enum act_answer answer;
    struct delivery_decision decision; /* ACT_DONE */
    int64_t until_ms;                  /* ACT_BUSY */
    struct errbuf text;                /* why, for people; "" for ACT_DONE */
    struct errbuf risk;                /* ACT_DONE: what may come of it; "": nothing */
};

const char *act_answer_name(enum act_answer answer);
void act_plan(const struct act *act, const struct act_facts *facts, struct act_plan *plan);

#endif
