/* SPDX-License-Identifier: MIT */
#include "ledger/calls.h"

#include <stdio.h>
#include <string.h>

/* ---- the decision block ---- */

/* name/value pairs, counted first because the count goes in front of them. */
#define PAIRS_MAX 24

struct pairs {
    size_t count;
    struct pair {
        const char *name;
        const char *text; /* NULL: the number */
        size_t len;
        int64_t number;
    } pair[PAIRS_MAX];
    char doubt[DOUBT_TEXT_MAX]; /* "in_doubt" points here */
};

static void add_bytes(struct pairs *pairs, const char *name, const char *text, size_t len)
{
    pairs->pair[pairs->count++] = (struct pair){.name = name, .text = text, .len = len};
}

/* NULL leaves the field as it is, "" removes it. */
static void add_text(struct pairs *pairs, const char *name, const char *text)
{
    if (text) add_bytes(pairs, name, text, strlen(text));
}

/* Absent means 0, so 0 removes the field. */
static void add_number(struct pairs *pairs, const char *name, int64_t was, int64_t is)
{
    if (was == is) return;
    if (is == 0)
        add_text(pairs, name, "");
    else
        pairs->pair[pairs->count++] = (struct pair){.name = name, .number = is};
}

static void put_pairs(struct args *args, const struct pairs *pairs)
{
    args_number(args, (int64_t)pairs->count);
    for (size_t i = 0; i < pairs->count; i++) {
        args_text(args, pairs->pair[i].name);
        if (pairs->pair[i].text)
            args_bytes(args, pairs->pair[i].text, pairs->pair[i].len);
        else
            args_number(args, pairs->pair[i].number);
    }
}

/* What the decision itself says. */
static void add_decision(struct pairs *pairs, const struct delivery_row *row, const struct delivery_decision *d)
{
    char was[DOUBT_TEXT_MAX];
    doubt_format(&row->doubt, was);
    doubt_format(&d->doubt, pairs->doubt);
    if (strcmp(was, pairs->doubt) != 0) add_text(pairs, "in_doubt", pairs->doubt);
    add_number(pairs, "tries", row->tries, d->tries);
    add_number(pairs, "gen", row->generation, d->generation);
    add_number(pairs, "misses", row->misses, d->misses);
    add_number(pairs, "missed_at", row->missed_at_ms, d->missed_at_ms);
    add_number(pairs, "waived", row->waived, d->waived);
    if (d->source != SRC_NONE) add_text(pairs, "source", delivery_source_name(d->source));
    if (d->doubt_cleared) add_text(pairs, "cleared_at", "now");
    if (d->drop_times) {
        add_text(pairs, "not_after", "");
        add_text(pairs, "dated", "");
    }
    if (d->new_generation) {
        add_text(pairs, "first_send", "");
        add_text(pairs, "body_hash", "");
        add_text(pairs, "key", "");
    }
}

/* Another id than the one that is kept never takes its place. */
static void add_ids(struct pairs *pairs, const struct decide_request *r)
{
    const char *kept = r->row->ext_id;
    bool other = r->decision->duplicate && kept[0] && r->ext_id && r->ext_id[0] && strcmp(kept, r->ext_id) != 0;
    if (!other && r->ext_id && strcmp(kept, r->ext_id) != 0) add_text(pairs, "ext_id", r->ext_id);
    add_text(pairs, "duplicate", other && !r->duplicate_id ? r->ext_id : r->duplicate_id);
    if (!other) add_text(pairs, "url", r->url);
    if (r->changed) add_text(pairs, "changed", "1");
    if (r->status) add_number(pairs, "status", 0, r->status);
}

/* A row that is made again from a report. */
static void add_made_again(struct pairs *pairs, const struct decide_request *r)
{
    const bool keeps_key = !r->decision->new_generation;
    if (keeps_key && r->row->state != DS_NONE && r->row->attempt == 0) add_text(pairs, "key", r->key);
    if (r->row->state != DS_NONE) return;
    add_number(pairs, "attempt", 0, r->attempt);
    add_number(pairs, "approved_at", 0, r->approved_at_ms);
    add_text(pairs, "token", r->token);
    add_text(pairs, "content", r->content_hash);
    if (keeps_key) add_text(pairs, "key", r->key);
}

static void add_long(struct pairs *pairs, const struct decide_request *r)
{
    if (r->decision->new_generation) {
        add_text(pairs, "frozen", "");
        add_text(pairs, "prepared", "");
    } else {
        if (r->prepared) add_bytes(pairs, "prepared", r->prepared, r->prepared_len);
        if (r->frozen) add_bytes(pairs, "frozen", r->frozen, r->frozen_len);
    }
    if (r->content && r->row->state == DS_NONE) add_bytes(pairs, "content", r->content, r->content_len);
    /* A row that only its claim has written has no detail that could be removed. */
    bool is_as_claimed = r->row->state == DS_CLAIMED && r->row->rev == 1;
    if (r->detail && (r->detail_len > 0 || !is_as_claimed)) add_bytes(pairs, "detail", r->detail, r->detail_len);
}

static void put_decision(struct args *args, const struct decide_request *r)
{
    static const char *const places[] = {
        [PLACE_NONE] = "-", [PLACE_AGENDA] = "agenda", [PLACE_WAITING] = "waiting", [PLACE_WALK] = "walk"};
    const struct delivery_row *row = r->row;
    const struct delivery_decision *d = r->decision;
    args_text(args, delivery_state_name(row->state));
    args_number(args, row->attempt);
    args_number(args, row->rev);
    args_number(args, row->since_ms);
    args_text(args, delivery_state_name(d->state));
    args_text(args, delivery_reason_name(d->reason));
    args_text(args, places[d->place]);
    args_number(args, d->due_ms);
    args_text(args, r->lease_token);
    args_number(args, d->commit_cap_ms);

    struct pairs fields = {0};
    add_decision(&fields, row, d);
    add_ids(&fields, r);
    add_made_again(&fields, r);
    if (!d->new_generation) add_text(&fields, "body_hash", r->body_hash);
    put_pairs(args, &fields);
    struct pairs longs = {0};
    add_long(&longs, r);
    put_pairs(args, &longs);
}

/* ---- settle, resolve, operate ---- */

static void settle_block(struct args *args, const struct request *request)
{
    put_decision(args, (const struct decide_request *)request);
}

static void resolve_own(struct args *args, const struct calls_context *context)
{
    args_text(args, context->run_id);
    args_text(args, context->ledger->environment);
    args_number(args, context->ledger->longest_window_ms);
}

static void resolve_block(struct args *args, const struct request *request)
{
    const struct decide_request *r = (const struct decide_request *)request;
    put_decision(args, r);
    args_number(args, r->searched_from_ms);
    args_number(args, r->searched_attempt);
    args_number(args, r->visibility_lag_ms);
}

static void operate_own(struct args *args, const struct calls_context *context)
{
    const struct decide_request *r = (const struct decide_request *)context->requests[0];
    args_text(args, r->act);
    args_text(args, r->user);
    args_text(args, r->host);
    args_text(args, r->why);
}

static bool same(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool operate_joins(const struct request *a, const struct request *b)
{
    const struct decide_request *x = (const struct decide_request *)a, *y = (const struct decide_request *)b;
    return same(x->act, y->act) && same(x->user, y->user) && same(x->host, y->host) && same(x->why, y->why);
}

static bool read_stale(struct decide_request *r, const struct redisReply *a)
{
    struct errbuf err;
    if (answer_row(a, 1, NULL, &r->current, &err)) return true;
    r->answer = DECIDE_ERROR;
    snprintf(r->base.error, sizeof r->base.error, "%.*s", (int)sizeof r->base.error - 1, err.text);
    return true;
}

static bool decide_read(struct request *request, const struct redisReply *a)
{
    struct decide_request *r = (struct decide_request *)request;
    static const char *const words[] = {
#define X(symbol, word) [symbol] = word,
        DECIDE_ANSWERS(X)
#undef X
    };
    int answer = calls_word(a, words, DECIDE_ANSWER_COUNT);
    if (answer < 0) return false;
    r->answer = (enum decide_answer)answer;
    switch (r->answer) {
    case DECIDE_OK: return answer_number(answer_at(a, 1), &r->rev);
    case DECIDE_STALE: return read_stale(r, a);
    case DECIDE_FOREIGN: answer_words(answer_at(a, 1), r->other, sizeof r->other); return true;
    case DECIDE_EARLY: return answer_number(answer_at(a, 1), &r->until_ms);
    case DECIDE_ENVIRONMENT:
    case DECIDE_ERROR: return calls_error(request, a);
    case DECIDE_NO_CONTENT:
    case DECIDE_ANSWER_COUNT: break;
    }
    return true;
}

const struct calls_kind calls_settle = {SCRIPT_SETTLE, NULL, settle_block, decide_read, NULL};
const struct calls_kind calls_resolve = {SCRIPT_RESOLVE, resolve_own, resolve_block, decide_read, NULL};
const struct calls_kind calls_operate = {SCRIPT_OPERATE, operate_own, settle_block, decide_read, operate_joins};
