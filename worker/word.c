/* SPDX-License-Identifier: MIT */
#include "worker/word.h"

struct channel_request *word_put(struct word *word, const char *channel, enum channel_op op, const char *text)
{
    struct channel_request *request = word->in_round ? &word->next : &word->request;
    bool *due = word->in_round ? &word->next_due : &word->due;
    if (*due) return request;
    *request = (struct channel_request){.base = {.channel = channel}, .op = op, .text = text};
    *due = true;
    return request;
}

bool word_waits(const struct word *word, int64_t now_boot_ms)
{
    return word->due && !word->in_round && now_boot_ms >= word->retry_boot_ms;
}

void word_drop(struct word *word)
{
    word->next_due = false;
    if (!word->in_round) word->due = false;
}

void word_add(struct word *word, struct ledger_round *round)
{
    if (!word->due || word->in_round) return;
    word->in_round = true;
    round_channel(round, &word->request);
}

bool word_told(struct word *word, struct channel_request *told, int64_t now_boot_ms)
{
    if (!word->in_round || word->request.base.result == REQUEST_PENDING) return false;
    word->in_round = false;
    word->retry_boot_ms = word->request.base.result == REQUEST_ANSWERED ? 0 : now_boot_ms + ERRORS_RETRY_MS;
    if (word->request.base.result != REQUEST_ANSWERED) return false;
    *told = word->request;
    word->request = word->next;
    word->due = word->next_due;
    word->next_due = false;
    return true;
}
