/* SPDX-License-Identifier: MIT */
/*
 * calls_claim: submit, claim and renew, typed.
 *
 * Input members are the caller's and borrowed until the request has a result; output members are filled when result is
 * REQUEST_ANSWERED. claim_fini() frees what the answer brought. A claim whose result is REQUEST_UNKNOWN is added again
 * as it is, token and all: what was granted is then granted again, and to nobody else.
 */
#ifndef LANDFALL_LEDGER_CALLS_CLAIM_H
#define LANDFALL_LEDGER_CALLS_CLAIM_H

#include <stdbool.h>

#include "core/delivery.h"
#include "keys/hash.h"
#include "keys/key.h"
#include "ledger/request.h"
#include "ledger/row.h"

/* X(symbol, word of the script) */
#define CLAIM_ANSWERS(X)                                                                                               \
    X(CLAIM_GRANTED, "granted")         /* attempt, commit_by, lease_end, in_doubt: send, while the lease lasts */     \
    X(CLAIM_ALREADY, "already")         /* state, since: settled, held or uncertain */                                 \
    X(CLAIM_CONFLICT, "conflict")       /* state, since, content: the name is taken by other content */                \
    X(CLAIM_BUSY, "busy")               /* holder, until */                                                            \
    X(CLAIM_WAIT, "wait")               /* reason, until; it comes again through the agenda */                         \
    X(CLAIM_UNCERTAIN, "uncertain")     /* reason */                                                                   \
    X(CLAIM_HELD, "held")               /* reason */                                                                   \
    X(CLAIM_RERENDER, "rerender")       /* approved_at, generation, after: render with these and claim again */        \
    X(CLAIM_LATE, "late")               /* nothing was done: expires_at had passed */                                  \
    X(CLAIM_NO_CONTENT, "no_content")   /* the stream entry is gone: claim again with `content` filled in */           \
    X(CLAIM_ENVIRONMENT, "environment") /* error: this Redis belongs to another environment; the process stops */      \
    X(CLAIM_ERROR, "error")             /* error: the row cannot be read, or an answer that we cannot read */

#define X(symbol, word) symbol,
enum claim_answer { CLAIM_ANSWERS(X) CLAIM_ANSWER_COUNT };
#undef X

/* Why the worker cannot send it itself, although the ledger would let it. */
enum claim_hold_back { CLAIM_SENDS, CLAIM_CHANNEL_FULL, CLAIM_CHANNEL_UNKNOWN };

struct claim_request {
    struct request base;
    const char *entry;    /* id of the stream entry; NULL if take handed it out */
    const char *after;    /* delivery that must be published first; NULL: none */
    const char *after_id; /* its external id, as the request was rendered with it; "" or NULL: without */
    const char *token;    /* CLAIM_TOKEN_BYTES, drawn for this claim */
    const char *content;  /* the item's bytes; NULL where the entry (or request:) has them */
    size_t content_len;
    const char *content_hash;
    int64_t approved_at_ms, not_before_ms, not_after_ms, dated_ms; /* 0: none */
    int generation;
    const char *key;       /* "" or NULL where the channel has none */
    const char *body_hash; /* of frozen */
    const char *frozen;
    size_t frozen_len;
    enum claim_hold_back hold_back;
    const struct delivery_policy *policy;
    int64_t spacing_ms; /* pace: one every spacing_ms, burst at once */
    int burst;

    enum claim_answer answer;
    enum delivery_state state;
    enum delivery_reason reason;
    int attempt;
    int generation_wanted;
    int64_t since_ms, until_ms, commit_by_ms, lease_end_ms, approved_at_wanted_ms;
    bool has_after; /* rerender, and granted in doubt: what the predecessor is known by, "" where it has none */
    char after_id_wanted[DELIVERY_EXT_ID_MAX + 1];
    char after_url_wanted[ROW_URL_BYTES];
    struct delivery_row row;               /* granted: as it stands now; only what reports need */
    bool in_doubt;                         /* granted: send answer_frozen and nothing else, if it is there */
    char answer_key[KEY_BYTES];            /* granted, in doubt: of the frozen request */
    char answer_body_hash[HASH_HEX_BYTES]; /* granted, in doubt: check before sending */
    struct request_text answer_frozen;
    struct request_text answer_prepared; /* granted, in doubt: what its steps had given, JSON; may be missing */
    char holder[ROW_WORKER_BYTES];       /* busy */
    char their_content[HASH_HEX_BYTES];  /* conflict */
};

/* Frees what the answer brought; the request can be used again. */
void claim_fini(struct claim_request *claim);

enum submit_answer { SUBMIT_NEW, SUBMIT_SAME, SUBMIT_CONFLICT, SUBMIT_FULL, SUBMIT_ERROR };

struct submit_request {
    struct request base;
    const char *content; /* the item as it was given */
    size_t content_len;
    const char *content_hash; /* of the merged content */
    bool hold;                /* wait for an approval */
    int64_t not_before_ms, not_after_ms, dated_ms;

    enum submit_answer answer;
    enum delivery_state state; /* same, conflict */
    int64_t since_ms;
    int64_t queue_length; /* full */
    char their_content[HASH_HEX_BYTES];
};

enum renew_answer { RENEW_OK, RENEW_LOST, RENEW_ERROR };

struct renew_request {
    struct request base;
    const char *token;
    const struct delivery_policy *policy;

    enum renew_answer answer;
    int64_t until_ms;          /* ok: end of the lease; as before where a doubt forbids to prolong it */
    int64_t rev, commit_by_ms; /* ok: of the row as it is now */
    char holder[ROW_WORKER_BYTES];
};

#endif
