/* SPDX-License-Identifier: MIT */
#include "ledger/calls.h"

#include <stdio.h>
#include <string.h>

/* ---- claim ---- */

static void put_policy(struct args *args, const struct claim_request *c)
{
    const struct delivery_policy none = {0};
    const struct delivery_policy *p = c->policy ? c->policy : &none;
    args_text(args, p->harmless ? "1" : "0");
    args_number(args, p->key_window_ms);
    args_number(args, p->lease_ms);
    args_number(args, p->late_commit_ms);
    args_number(args, p->margin_ms);
    args_number(args, p->max_attempts);
    args_number(args, p->max_age_ms);
    args_number(args, c->spacing_ms);
    args_number(args, c->burst);
    args_number(args, p->turn_ms);
}

static const struct claim_request *first_of(const struct calls_context *context, const char *channel)
{
    size_t i = 0;
    while (strcmp(context->requests[i]->channel, channel) != 0)
        i++;
    return (const struct claim_request *)context->requests[i];
}

static void claim_own(struct args *args, const struct calls_context *context)
{
    args_text(args, context->run_id);
    args_text(args, context->ledger->worker);
    args_number(args, context->now_ms + context->ledger->claim_valid_ms);
    args_text(args, context->ledger->environment);
    args_number(args, context->ledger->longest_window_ms);
    for (size_t i = 0; i < context->channel_count; i++)
        put_policy(args, first_of(context, context->channels[i]));
}

/* By name and value, where there is something to say. */
static size_t say_number(struct args *args, const char *name, int64_t number)
{
    if (number == 0) return 0;
    if (args) args_text(args, name);
    if (args) args_number(args, number);
    return 1;
}

static size_t say_bytes(struct args *args, const char *name, const char *bytes, size_t len)
{
    if (!bytes || len == 0) return 0;
    if (args) args_text(args, name);
    if (args) args_bytes(args, bytes, len);
    return 1;
}

/* What most claims need not say. Gives how much there is; args NULL: only that. */
static size_t say_more(struct args *args, const struct claim_request *c)
{
    static const char *const hold_back[] = {
        [CLAIM_SENDS] = "", [CLAIM_CHANNEL_FULL] = "channel_full", [CLAIM_CHANNEL_UNKNOWN] = "unknown_channel"};
    const char *after = c->after ? c->after : "", *after_id = c->after_id ? c->after_id : "";
    return say_number(args, "gen", c->generation) + say_number(args, "not_before", c->not_before_ms) +
           say_number(args, "not_after", c->not_after_ms) + say_number(args, "dated", c->dated_ms) +
           say_bytes(args, "after", after, strlen(after)) + say_bytes(args, "after_id", after_id, strlen(after_id)) +
           say_bytes(args, "content", c->content, c->content_len) +
           say_bytes(args, "hold_back", hold_back[c->hold_back], strlen(hold_back[c->hold_back]));
}

static void claim_block(struct args *args, const struct request *request)
{
    const struct claim_request *c = (const struct claim_request *)request;
    args_text(args, c->entry);
    args_text(args, c->token);
    args_text(args, c->content_hash);
    args_number(args, c->approved_at_ms);
    args_text(args, c->key);
    args_text(args, c->body_hash);
    args_bytes(args, c->frozen, c->frozen_len);
    args_number(args, (int64_t)say_more(NULL, c));
    (void)say_more(args, c);
}

static bool read_count(const struct redisReply *reply, int *out)
{
    int64_t number;
    if (!answer_number(reply, &number) || number < 0 || number > INT32_MAX) return false;
    *out = (int)number;
    return true;
}

/* The row as it stands now that the claim is written: what a report of this attempt will be decided with. */
static bool read_claimed_row(struct claim_request *c, const struct redisReply *a)
{
    char doubt[DOUBT_TEXT_MAX];
    struct delivery_row *row = &c->row;
    memset(row, 0, sizeof *row);
    row->state = DS_CLAIMED;
    row->reason = RS_SENDING;
    row->attempt = c->attempt;
    row->commit_by_ms = c->commit_by_ms;
    row->generation = c->generation;
    row->approved_at_ms = c->approved_at_ms;
    memcpy(row->token, c->token, strnlen(c->token, sizeof row->token - 1));
    return answer_copy(answer_at(a, 4), doubt, sizeof doubt) && doubt_parse(doubt, &row->doubt) &&
           answer_number(answer_at(a, 5), &row->rev) && read_count(answer_at(a, 6), &row->tries) &&
           answer_number(answer_at(a, 7), &row->since_ms);
}

/* What the predecessor is known by, from field `at` on, where the answer has it. */
static bool read_after(struct claim_request *c, const struct redisReply *a, size_t at)
{
    c->has_after = answer_count(a) > at + 1;
    return !c->has_after || (answer_copy(answer_at(a, at), c->after_id_wanted, sizeof c->after_id_wanted) &&
                             answer_copy(answer_at(a, at + 1), c->after_url_wanted, sizeof c->after_url_wanted));
}

static bool read_granted(struct claim_request *c, const struct redisReply *a)
{
    bool ok = read_count(answer_at(a, 1), &c->attempt) && answer_number(answer_at(a, 2), &c->commit_by_ms) &&
              answer_number(answer_at(a, 3), &c->lease_end_ms);
    /* Attempts count from 1: 0 is none that a row could hold. */
    if (!ok || c->attempt == 0 || answer_count(a) < 8 || !read_claimed_row(c, a)) return false;
    c->in_doubt = c->row.doubt.count > 0;
    if (!c->in_doubt || answer_count(a) < 11) return true;
    answer_keep(answer_at(a, 10), &c->answer_frozen);
    answer_keep(answer_at(a, 11), &c->answer_prepared);
    return answer_copy(answer_at(a, 8), c->answer_key, sizeof c->answer_key) &&
           answer_copy(answer_at(a, 9), c->answer_body_hash, sizeof c->answer_body_hash) && c->answer_frozen.bytes &&
           read_after(c, a, 12);
}

static bool read_standing(const struct redisReply *a, enum delivery_state *state, int64_t *since_ms)
{
    return answer_state(answer_at(a, 1), state) && answer_number(answer_at(a, 2), since_ms);
}

static bool claim_read(struct request *request, const struct redisReply *a)
{
    struct claim_request *c = (struct claim_request *)request;
    static const char *const words[] = {
#define X(symbol, word) [symbol] = word,
        CLAIM_ANSWERS(X)
#undef X
    };
    int answer = calls_word(a, words, CLAIM_ANSWER_COUNT);
    if (answer < 0) return false;
    claim_fini(c);
    c->answer = (enum claim_answer)answer;
    switch (c->answer) {
    case CLAIM_GRANTED: return read_granted(c, a);
    case CLAIM_ALREADY: return read_standing(a, &c->state, &c->since_ms);
    case CLAIM_CONFLICT:
        return read_standing(a, &c->state, &c->since_ms) &&
               answer_copy(answer_at(a, 3), c->their_content, sizeof c->their_content);
    case CLAIM_BUSY:
        answer_words(answer_at(a, 1), c->holder, sizeof c->holder);
        return answer_number(answer_at(a, 2), &c->until_ms);
    case CLAIM_WAIT: c->reason = answer_reason(answer_at(a, 1)); return answer_number(answer_at(a, 2), &c->until_ms);
    case CLAIM_UNCERTAIN:
    case CLAIM_HELD: c->reason = answer_reason(answer_at(a, 1)); return true;
    case CLAIM_RERENDER:
        return answer_number(answer_at(a, 1), &c->approved_at_wanted_ms) &&
               read_count(answer_at(a, 2), &c->generation_wanted) && read_after(c, a, 3);
    case CLAIM_ENVIRONMENT:
    case CLAIM_ERROR: return calls_error(request, a);
    case CLAIM_LATE:
    case CLAIM_NO_CONTENT:
    case CLAIM_ANSWER_COUNT: break;
    }
    return true;
}

void claim_fini(struct claim_request *claim)
{
    answer_drop(&claim->answer_frozen);
    answer_drop(&claim->answer_prepared);
}

const struct calls_kind calls_claim = {SCRIPT_CLAIM, claim_own, claim_block, claim_read, NULL};

/* ---- submit ---- */

static void submit_own(struct args *args, const struct calls_context *context)
{
    args_number(args, context->ledger->queue_max);
}

static void submit_block(struct args *args, const struct request *request)
{
    const struct submit_request *s = (const struct submit_request *)request;
    args_text(args, s->content_hash);
    args_bytes(args, s->content, s->content_len);
    args_text(args, s->hold ? "1" : "0");
    args_number(args, s->not_before_ms);
    args_number(args, s->not_after_ms);
    args_number(args, s->dated_ms);
}

static bool submit_read(struct request *request, const struct redisReply *a)
{
    struct submit_request *s = (struct submit_request *)request;
    static const char *const words[] = {[SUBMIT_NEW] = "new",
                                        [SUBMIT_SAME] = "same",
                                        [SUBMIT_CONFLICT] = "conflict",
                                        [SUBMIT_FULL] = "full",
                                        [SUBMIT_ERROR] = "error"};
    int answer = calls_word(a, words, sizeof words / sizeof words[0]);
    if (answer < 0) return false;
    s->answer = (enum submit_answer)answer;
    switch (s->answer) {
    case SUBMIT_NEW: return true;
    case SUBMIT_SAME: return read_standing(a, &s->state, &s->since_ms);
    case SUBMIT_CONFLICT:
        return read_standing(a, &s->state, &s->since_ms) &&
               answer_copy(answer_at(a, 3), s->their_content, sizeof s->their_content);
    case SUBMIT_FULL: return answer_number(answer_at(a, 1), &s->queue_length);
    case SUBMIT_ERROR: return calls_error(request, a);
    }
    return false;
}

const struct calls_kind calls_submit = {SCRIPT_SUBMIT, submit_own, submit_block, submit_read, NULL};

/* ---- renew ---- */

static void renew_block(struct args *args, const struct request *request)
{
    const struct renew_request *r = (const struct renew_request *)request;
    args_text(args, r->token);
    args_number(args, r->policy->lease_ms);
    args_number(args, r->policy->late_commit_ms);
    args_number(args, r->policy->margin_ms);
    args_number(args, r->policy->key_window_ms);
}

static bool renew_read(struct request *request, const struct redisReply *a)
{
    struct renew_request *r = (struct renew_request *)request;
    static const char *const words[] = {[RENEW_OK] = "ok", [RENEW_LOST] = "lost", [RENEW_ERROR] = "error"};
    int answer = calls_word(a, words, sizeof words / sizeof words[0]);
    if (answer < 0) return false;
    r->answer = (enum renew_answer)answer;
    if (r->answer == RENEW_OK)
        return answer_number(answer_at(a, 1), &r->until_ms) && answer_number(answer_at(a, 2), &r->rev) &&
               answer_number(answer_at(a, 3), &r->commit_by_ms);
    if (r->answer == RENEW_ERROR) return calls_error(request, a);
    answer_words(answer_at(a, 1), r->holder, sizeof r->holder);
    return true;
}

const struct calls_kind calls_renew = {SCRIPT_RENEW, NULL, renew_block, renew_read, NULL};
