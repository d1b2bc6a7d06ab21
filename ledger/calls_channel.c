/* SPDX-License-Identifier: MIT */
#include "ledger/calls.h"

/* Which members of channel_request an op sends, in order: t text, u user, h host, w until_ms, l ttl_ms, n number. */
static const struct {
    const char *word, *members;
} ops[] = {
    [CHANNEL_PAUSE] = {"pause", "tuh"},
    [CHANNEL_RESUME] = {"resume", "tuh"},
    [CHANNEL_LIFT] = {"lift", "t"},
    [CHANNEL_BLOCK] = {"block", "wt"},
    [CHANNEL_FAIL] = {"fail", ""},
    [CHANNEL_RECOVER] = {"recover", ""},
    [CHANNEL_WALK_BEGIN] = {"walk_begin", "tl"},
    [CHANNEL_WALK_END] = {"walk_end", "twn"},
    [CHANNEL_LEAP] = {"leap", "w"},
};

_Static_assert(sizeof ops / sizeof ops[0] == CHANNEL_OP_COUNT, "every op has its line");

static void channel_own(struct args *args, const struct calls_context *context)
{
    args_number(args, (int64_t)context->count);
}

static void channel_block(struct args *args, const struct request *request)
{
    const struct channel_request *c = (const struct channel_request *)request;
    const char *members = ops[c->op].members;
    int64_t count = 0;
    while (members[count])
        count++;
    args_text(args, ops[c->op].word);
    args_number(args, count);
    for (; *members; members++) {
        switch (*members) {
        case 't': args_text(args, c->text); break;
        case 'u': args_text(args, c->user); break;
        case 'h': args_text(args, c->host); break;
        case 'w': args_number(args, c->until_ms); break;
        case 'l': args_number(args, c->ttl_ms); break;
        default: args_number(args, c->number); break;
        }
    }
}

static bool channel_read(struct request *request, const struct redisReply *a)
{
    struct channel_request *c = (struct channel_request *)request;
    static const char *const words[] = {[CHANNEL_OK] = "ok", [CHANNEL_BUSY] = "busy", [CHANNEL_ERROR] = "error"};
    int answer = calls_word(a, words, sizeof words / sizeof words[0]);
    if (answer < 0) return false;
    c->answer = (enum channel_answer)answer;
    if (c->answer == CHANNEL_ERROR) return calls_error(request, a);
    if (c->answer == CHANNEL_BUSY) answer_words(answer_at(a, 1), c->holder, sizeof c->holder);
    c->value = c->answer == CHANNEL_OK ? answer_number_or_0(answer_at(a, 1)) : 0;
    return true;
}

const struct calls_kind calls_channel = {SCRIPT_CHANNEL, channel_own, channel_block, channel_read, NULL};
