/* SPDX-License-Identifier: MIT */
#include "ledger/calls.h"

#include <string.h>

static const struct take_channel *channel_facts(const struct calls_context *context, const char *name)
{
    for (size_t i = 0; i < context->count; i++) {
        const struct take_request *t = (const struct take_request *)context->requests[i];
        if (strcmp(t->channel->name, name) == 0) return t->channel;
    }
    return NULL;
}

static void take_own(struct args *args, const struct calls_context *context)
{
    for (size_t i = 0; i < context->channel_count; i++) {
        const struct take_channel *facts = channel_facts(context, context->channels[i]);
        args_number(args, facts->room);
        args_text(args, facts->harmless ? "1" : "0");
        args_number(args, facts->spacing_ms);
        args_number(args, facts->burst);
    }
}

static void take_block(struct args *args, const struct request *request)
{
    const struct take_request *t = (const struct take_request *)request;
    args_text(args, t->waiting ? "waiting" : "agenda");
    args_number(args, t->score_ms);
}

static int count_of(const struct redisReply *a, const char *name)
{
    int64_t number = answer_number_or_0(answer_field(a, 2, name));
    return number > 0 && number <= INT32_MAX ? (int)number : 0;
}

static bool read_work(struct take_request *t, const struct redisReply *a)
{
    answer_keep(answer_field(a, 2, "content"), &t->content);
    t->approved_at_ms = answer_number_or_0(answer_field(a, 2, "approved_at"));
    t->not_before_ms = answer_number_or_0(answer_field(a, 2, "not_before"));
    t->not_after_ms = answer_number_or_0(answer_field(a, 2, "not_after"));
    t->dated_ms = answer_number_or_0(answer_field(a, 2, "dated"));
    t->generation = count_of(a, "gen");
    t->attempt = count_of(a, "attempt");
    t->in_doubt = answer_field(a, 2, "in_doubt") != NULL;
    const struct redisReply *frozen = answer_field(a, 2, "frozen");
    bool ok = answer_copy(answer_field(a, 2, "content_hash"), t->content_hash, sizeof t->content_hash);
    if (!frozen) return ok;
    answer_keep(frozen, &t->frozen);
    return ok && answer_copy(answer_field(a, 2, "key"), t->key, sizeof t->key) &&
           answer_copy(answer_field(a, 2, "body_hash"), t->body_hash, sizeof t->body_hash);
}

static bool take_read(struct request *request, const struct redisReply *a)
{
    struct take_request *t = (struct take_request *)request;
    static const char *const words[] = {
#define X(symbol, word) [symbol] = word,
        TAKE_ANSWERS(X)
#undef X
    };
    int answer = calls_word(a, words, TAKE_ANSWER_COUNT);
    if (answer < 0) return false;
    take_fini(t);
    t->answer = (enum take_answer)answer;
    switch (t->answer) {
    case TAKE_WORK: return read_work(t, a);
    case TAKE_MOVED: return answer_number(answer_at(a, 1), &t->until_ms);
    case TAKE_HELD: t->reason = answer_reason(answer_at(a, 1)); return true;
    case TAKE_ERROR: return calls_error(request, a);
    case TAKE_UNCERTAIN:
    case TAKE_REMOVED:
    case TAKE_ANSWER_COUNT: break;
    }
    return true;
}

void take_fini(struct take_request *take)
{
    answer_drop(&take->content);
    answer_drop(&take->frozen);
}

const struct calls_kind calls_take = {SCRIPT_TAKE, take_own, take_block, take_read, NULL};
