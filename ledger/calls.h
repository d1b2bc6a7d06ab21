/* SPDX-License-Identifier: MIT */
/*
 * calls: how each kind of request becomes arguments of its script, and how its answer is read. For ledger/ only.
 *
 * round.c does what all kinds share: batches, KEYS, the layout of a call, errors. A kind gives the script's own
 * arguments (once per call), its block (per delivery, without the channel's number and the name), and reads one answer.
 * read() is false where the answer makes no sense; the request is then as good as unanswered.
 */
#ifndef LANDFALL_LEDGER_CALLS_H
#define LANDFALL_LEDGER_CALLS_H

#include "ledger/answer.h"
#include "ledger/args.h"
#include "ledger/round.h"
#include "ledger/script.h"

/* What a call knows beside its requests. */
struct calls_context {
    const struct ledger *ledger;
    const char *run_id;
    int64_t now_ms;                  /* the server's time, at least */
    struct request *const *requests; /* of this call */
    size_t count;
    const char *const *channels; /* named by it, in the order of KEYS */
    size_t channel_count;
};

struct calls_kind {
    enum script_id script;
    void (*own)(struct args *args, const struct calls_context *context);
    void (*block)(struct args *args, const struct request *request);
    bool (*read)(struct request *request, const struct redisReply *answer);
    /* NULL, or: may b travel in the same call as a? */
    bool (*joins)(const struct request *a, const struct request *b);
};

extern const struct calls_kind calls_channel, calls_settle, calls_resolve, calls_operate, calls_archive, calls_submit,
    calls_renew, calls_take, calls_claim;

/* The answer's words behind "error" or "environment", into request->error. Always true. */
bool calls_error(struct request *request, const struct redisReply *answer);

/* Index of the answer's first word among `count` words, -1 if it is none of them. */
int calls_word(const struct redisReply *answer, const char *const *words, size_t count);

#endif
