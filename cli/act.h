/* SPDX-License-Identifier: MIT */
/*
 * act: what becomes of one delivery when a person acts on it, and what that risks, in words. Pure.
 *
 * The decision itself is core's; here it is told apart why there is none: it stands as wanted already, it is busy until
 * some moment, the reconciler has the word, or the verb cannot do that. What may have been executed is read back before
 * it is sent again: a post that is found is published in place of a repetition, and without proof that there is none
 * nothing is sent, unless a person takes that upon themselves.
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
    X(ACT_UNREAD, "unread")       /* the platform could not be read, so nothing is concluded */                        \
    X(ACT_NOT_KNOWN, "not known") /* Redis did not answer */

#define X(symbol, word) symbol,
enum act_answer { ACT_ANSWERS(X) ACT_ANSWER_COUNT };
#undef X

/* What a person asks for. */
struct act {
    enum delivery_event event; /* EV_RETRY, EV_APPROVE, EV_CONFIRM, EV_CANCEL */
    bool in_doubt;             /* cancel: although an attempt may have committed */
    bool new_key;              /* retry: a new key generation */
    bool consents;             /* retry, approve: also where a second post is possible */
    const char *ext_id, *url;  /* confirm; NULL: none */
};

/* What the platform has of it, as landfall-reconciler says. Borrowed; NULL: none. */
struct act_reading {
    enum delivery_event event; /* EV_FOUND, EV_ABSENT, EV_GONE, EV_UNSEEN */
    int64_t rev;               /* of the row that it was looked up for */
    bool settled;              /* an absence counts; else not before settled_at_ms */
    int64_t settled_at_ms;
    int64_t again_ms; /* the platform asked to wait until then; 0 */
    const char *ext_id, *url, *duplicate_id, *why;
};

struct act_facts {
    const struct delivery_row *row;
    const struct delivery_policy *policy;   /* NULL: the channel is not configured here */
    const struct delivery_policy *defaults; /* used then */
    int64_t now_ms;
    int64_t lease_ends_ms;             /* of a claimed row; 0: not known */
    bool forgotten;                    /* a ledger that was set back may have forgotten attempts of it */
    bool by_id;                        /* its platform can be asked for a post by its id */
    bool unread;                       /* it is to be decided without reading the platform */
    const struct act_reading *reading; /* NULL: there is none */
};

struct act_plan {
    enum act_answer answer;
    struct delivery_decision decision;       /* ACT_DONE */
    int64_t until_ms;                        /* ACT_BUSY, ACT_UNREAD: not before; 0: not known */
    const char *ext_id, *url, *duplicate_id; /* what goes into the row, borrowed; NULL: nothing */
    struct errbuf text;                      /* why, for people; of ACT_DONE what was found, or "" */
    struct errbuf risk;                      /* what may come of it; "": nothing */
};

const char *act_answer_name(enum act_answer answer);
/* True if the platform is to be read before the act is decided: it can be, and an attempt may have been executed (or
 * the post that a person names is to be seen). */
bool act_wants_reading(const struct act *act, const struct act_facts *facts);
void act_plan(const struct act *act, const struct act_facts *facts, struct act_plan *plan);

#endif
