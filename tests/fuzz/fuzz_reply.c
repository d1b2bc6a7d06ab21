/* SPDX-License-Identifier: MIT */
/* What scripts answer, and rows: which script, then a reply. */
#include <hiredis/hiredis.h>
#include <string.h>

#include "ledger/calls.h"
#include "ledger/calls_archive.h"
#include "ledger/calls_channel.h"
#include "ledger/calls_claim.h"
#include "ledger/calls_decide.h"
#include "ledger/calls_take.h"
#include "ledger/row.h"
#include "tests/fuzz/kit.h"

void fuzz_begin(void)
{
}

static void read_decide(const struct redisReply *reply)
{
    static const struct delivery_row row = {.state = DS_CLAIMED};
    struct decide_request request = {.base = {.channel = "a/b", .delivery = "a/b/c"}, .row = &row};
    (void)calls_settle.read(&request.base, reply);
    REQUIRE((int)request.answer >= 0 && request.answer < DECIDE_ANSWER_COUNT);
}

static void read_claim(const struct redisReply *reply)
{
    struct claim_request request = {.base = {.channel = "a/b", .delivery = "a/b/c"}, .token = "0123456789abcdef"};
    if (calls_claim.read(&request.base, reply)) {
        REQUIRE((int)request.answer >= 0 && request.answer < CLAIM_ANSWER_COUNT);
        REQUIRE(request.answer != CLAIM_GRANTED || request.attempt > 0);
    }
    claim_fini(&request);
}

static void read_take(const struct redisReply *reply)
{
    static const struct take_channel channel = {.name = "a/b", .room = 1};
    struct take_request request = {.base = {.channel = "a/b", .delivery = "a/b/c"}, .channel = &channel};
    (void)calls_take.read(&request.base, reply);
    take_fini(&request);
}

static void read_small(const struct redisReply *reply)
{
    struct submit_request submit = {.base = {.channel = "a/b", .delivery = "a/b/c"}};
    struct renew_request renew = {.base = {.channel = "a/b", .delivery = "a/b/c"}};
    struct archive_request archive = {.base = {.channel = "a/b", .delivery = "a/b/c"}};
    (void)calls_submit.read(&submit.base, reply);
    (void)calls_renew.read(&renew.base, reply);
    (void)calls_archive.read(&archive.base, reply);
    for (int op = 0; op < CHANNEL_OP_COUNT; op++) {
        struct channel_request channel = {.base = {.channel = "a/b"}, .op = (enum channel_op)op};
        (void)calls_channel.read(&channel.base, reply);
    }
}

static void read_row(const struct redisReply *reply)
{
    struct row row;
    struct errbuf err = {{0}};
    char worker[ROW_WORKER_BYTES], token[CLAIM_TOKEN_BYTES];
    int attempt;
    const struct redisReply *more = answer_at(reply, answer_count(reply) - 1);
    if (answer_row(reply, 0, more, &row, &err))
        REQUIRE(row.core.attempt >= 0 && row.core.tries >= 0);
    else
        REQUIRE(err.text[0] != '\0');
    (void)answer_lease(reply, worker, sizeof worker, &attempt, token, sizeof token);
}

void fuzz_one(struct fuzz_input *input)
{
    static void (*const readers[])(const struct redisReply *) = {read_decide, read_claim, read_take, read_small,
                                                                 read_row};
    unsigned char which = fuzz_byte(input);
    struct redisReply *reply = fuzz_reply(input);
    readers[which % (sizeof readers / sizeof *readers)](reply);
    fuzz_reply_free(reply);
}
