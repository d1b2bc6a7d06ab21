/* SPDX-License-Identifier: MIT */
#include "ledger/round.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/calls.h"
#include "runtime/die.h"

static const struct calls_kind *const kinds[REQUEST_KIND_COUNT] = {
    [REQUEST_CHANNEL] = &calls_channel, [REQUEST_SETTLE] = &calls_settle,   [REQUEST_RESOLVE] = &calls_resolve,
    [REQUEST_OPERATE] = &calls_operate, [REQUEST_ARCHIVE] = &calls_archive, [REQUEST_SUBMIT] = &calls_submit,
    [REQUEST_RENEW] = &calls_renew,     [REQUEST_TAKE] = &calls_take,       [REQUEST_CLAIM] = &calls_claim,
};

/* Requests of one kind, oldest first. */
struct queue {
    struct request **request;
    size_t count, room;
};

/* One call of a script: `count` requests from the head of its kind's queue. */
struct call {
    enum request_kind kind;
    struct request *request[REQUEST_BATCH_MAX]; /* NULL: forgotten while it was under way */
    bool has_answer[REQUEST_BATCH_MAX];         /* the call's answer has an element for it */
    size_t count;
    const char *channel[REQUEST_BATCH_MAX];
    size_t channel_count;
    bool with_text; /* of the script, not only its SHA1 */
};

struct ledger_round {
    const struct ledger *ledger;
    struct queue queues[REQUEST_KIND_COUNT];
    struct args args;   /* used again, for its memory */
    struct call *calls; /* under way */
    size_t call_count, call_room;
    size_t answered; /* of them, from the first on */
    int64_t sent_boot_ms, until_boot_ms;
    bool wants_text[SCRIPT_COUNT]; /* the server has forgotten it */
    bool put_back;                 /* calls of the newest round are to be sent again for that */
};

struct ledger_round *round_new(const struct ledger *ledger)
{
    struct ledger_round *round = xcalloc(1, sizeof *round);
    round->ledger = ledger;
    return round;
}

void round_free(struct ledger_round **round)
{
    if (!*round) return;
    for (int kind = 0; kind < REQUEST_KIND_COUNT; kind++)
        free((*round)->queues[kind].request);
    args_fini(&(*round)->args);
    free((*round)->calls);
    free(*round);
    *round = NULL;
}

static void add(struct ledger_round *round, enum request_kind kind, struct request *request)
{
    struct queue *queue = &round->queues[kind];
    if (queue->count == queue->room) {
        queue->room = queue->room ? queue->room * 2 : 64;
        queue->request = xrealloc_array(queue->request, queue->room, sizeof *queue->request);
    }
    request->kind = kind;
    request->result = REQUEST_PENDING;
    request->error[0] = '\0';
    queue->request[queue->count++] = request;
}

void round_channel(struct ledger_round *round, struct channel_request *request)
{
    request->base.delivery = NULL;
    add(round, REQUEST_CHANNEL, &request->base);
}

void round_settle(struct ledger_round *round, struct decide_request *request)
{
    add(round, REQUEST_SETTLE, &request->base);
}

void round_resolve(struct ledger_round *round, struct decide_request *request)
{
    add(round, REQUEST_RESOLVE, &request->base);
}

void round_operate(struct ledger_round *round, struct decide_request *request)
{
    add(round, REQUEST_OPERATE, &request->base);
}

void round_archive(struct ledger_round *round, struct archive_request *request)
{
    add(round, REQUEST_ARCHIVE, &request->base);
}

void round_submit(struct ledger_round *round, struct submit_request *request)
{
    add(round, REQUEST_SUBMIT, &request->base);
}

void round_renew(struct ledger_round *round, struct renew_request *request)
{
    add(round, REQUEST_RENEW, &request->base);
}

void round_take(struct ledger_round *round, struct take_request *request)
{
    request->base.channel = request->channel->name;
    add(round, REQUEST_TAKE, &request->base);
}

void round_claim(struct ledger_round *round, struct claim_request *request)
{
    add(round, REQUEST_CLAIM, &request->base);
}

size_t round_pending(const struct ledger_round *round)
{
    size_t count = 0;
    for (int kind = 0; kind < REQUEST_KIND_COUNT; kind++)
        count += round->queues[kind].count;
    return count;
}

static void remove_at(struct queue *queue, size_t at, size_t count)
{
    if (count == 0) return;
    memmove(&queue->request[at], &queue->request[at + count], (queue->count - at - count) * sizeof *queue->request);
    queue->count -= count;
}

void round_forget(struct ledger_round *round, const struct request *request)
{
    for (int kind = 0; kind < REQUEST_KIND_COUNT; kind++) {
        struct queue *queue = &round->queues[kind];
        for (size_t i = 0; i < queue->count; i++) {
            if (queue->request[i] == request) remove_at(queue, i--, 1);
        }
    }
    for (size_t c = round->answered; c < round->call_count; c++) {
        struct call *call = &round->calls[c];
        for (size_t i = 0; i < call->count; i++) {
            if (call->request[i] == request) call->request[i] = NULL;
        }
    }
}

/* ---- words of answers that several kinds share ---- */

bool calls_error(struct request *request, const struct redisReply *answer)
{
    answer_words(answer_at(answer, 1), request->error, sizeof request->error);
    return true;
}

int calls_word(const struct redisReply *answer, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (answer_is(answer_at(answer, 0), words[i])) return (int)i;
    }
    return -1;
}

/* ---- laying out a call ---- */

static size_t channel_index(const struct call *call, const char *channel)
{
    size_t i = 0;
    while (i < call->channel_count && strcmp(call->channel[i], channel) != 0)
        i++;
    return i;
}

/* The delivery that a claim says must come first; NULL: none. */
static const char *predecessor(const struct request *request)
{
    if (request->kind != REQUEST_CLAIM) return NULL;
    const char *after = ((const struct claim_request *)(const void *)request)->after;
    return after && after[0] ? after : NULL;
}

static void put_keys(struct args *args, const struct ledger *ledger, const struct call *call)
{
    static const enum names_kind globals[] = {NAMES_AGENDA,   NAMES_JOURNAL, NAMES_OUTCOMES, NAMES_COUNTS,
                                              NAMES_CHANNELS, NAMES_QUEUE,   NAMES_EPOCH,    NAMES_AUDIT};
    static const enum names_kind per_channel[] = {NAMES_WAITING, NAMES_UNCERTAIN, NAMES_CHANNEL, NAMES_POSTS,
                                                  NAMES_WALK};
    for (size_t i = 0; i < sizeof globals / sizeof globals[0]; i++)
        args_key(args, &ledger->names, globals[i], NULL);
    for (size_t c = 0; c < call->channel_count; c++) {
        for (size_t i = 0; i < sizeof per_channel / sizeof per_channel[0]; i++)
            args_key(args, &ledger->names, per_channel[i], call->channel[c]);
    }
    for (size_t i = 0; i < call->count; i++) {
        const struct request *request = call->request[i];
        if (!request->delivery) continue;
        args_key(args, &ledger->names, NAMES_DELIVERY, request->delivery);
        args_key(args, &ledger->names, NAMES_REQUEST, request->delivery);
        args_key(args, &ledger->names, NAMES_LEASE, request->delivery);
        const char *after = predecessor(request);
        if (!after) continue;
        args_key(args, &ledger->names, NAMES_DELIVERY, after);
        args_key(args, &ledger->names, NAMES_REQUEST, after);
    }
}

static size_t key_count(const struct call *call)
{
    size_t count = 8 + 5 * call->channel_count;
    for (size_t i = 0; i < call->count; i++) {
        if (call->request[i]->delivery) count += predecessor(call->request[i]) ? 5 : 3;
    }
    return count;
}

static size_t delivery_count(const struct call *call)
{
    size_t count = 0;
    for (size_t i = 0; i < call->count; i++)
        count += call->request[i]->delivery != NULL;
    return count;
}

static void put_script(struct ledger_round *round, struct call *call)
{
    const enum script_id id = kinds[call->kind]->script;
    call->with_text = round->wants_text[id];
    round->wants_text[id] = false; /* the first call brings it for those behind */
    args_command(&round->args, call->with_text ? "EVAL" : "EVALSHA");
    if (call->with_text)
        args_bytes(&round->args, script_table[id].text, script_table[id].len);
    else
        args_text(&round->args, script_table[id].sha1);
}

static void put_call(struct ledger_round *round, struct redis_link *link, struct call *call)
{
    struct args *args = &round->args;
    const struct ledger *ledger = round->ledger;
    const struct calls_kind *kind = kinds[call->kind];
    size_t deliveries = delivery_count(call);
    put_script(round, call);
    args_number(args, (int64_t)key_count(call));
    put_keys(args, ledger, call);
    args_number(args, (int64_t)call->channel_count);
    args_number(args, (int64_t)deliveries);
    args_number(args, ledger->outcomes_max);
    args_number(args, ledger->rejected_keep_ms);
    for (size_t i = 0; i < call->channel_count; i++)
        args_text(args, call->channel[i]);
    const struct calls_context context = {
        .ledger = ledger,
        .run_id = link_run_id(link),
        .now_ms = server_clock_now(link_clock(link), clock_boottime_ms()),
        .requests = call->request,
        .count = call->count,
        .channels = call->channel,
        .channel_count = call->channel_count,
    };
    if (kind->own) kind->own(args, &context);
    for (size_t i = 0; i < call->count; i++) {
        const struct request *request = call->request[i];
        if (!request->delivery && call->kind != REQUEST_CHANNEL) continue;
        args_number(args, (int64_t)channel_index(call, request->channel) + 1);
        if (request->delivery) args_text(args, request->delivery);
        kind->block(args, request);
    }
}

/* ---- gathering a round ---- */

/* About what a request adds to the round; exact where it is large. */
static size_t weight(const struct request *request)
{
    size_t bytes = 1500;
    if (request->kind == REQUEST_CLAIM) {
        const struct claim_request *claim = (const struct claim_request *)(const void *)request;
        bytes += claim->frozen_len + (claim->content ? claim->content_len : 0);
    } else if (request->kind == REQUEST_SUBMIT) {
        bytes += ((const struct submit_request *)(const void *)request)->content_len;
    } else if (request->kind == REQUEST_SETTLE || request->kind == REQUEST_RESOLVE) {
        const struct decide_request *decide = (const struct decide_request *)(const void *)request;
        bytes += decide->content_len + decide->frozen_len + decide->prepared_len + decide->detail_len;
    }
    return bytes;
}

/* Takes the next call's requests from the head of the queue; an empty call where nothing is left or nothing fits. */
static void gather(struct queue *queue, enum request_kind kind, size_t *room, bool first, struct call *call)
{
    memset(call, 0, sizeof *call);
    call->kind = kind;
    while (call->count < queue->count && call->count < REQUEST_BATCH_MAX) {
        struct request *request = queue->request[call->count];
        size_t bytes = weight(request);
        if (bytes > *room && !(first && call->count == 0)) break; /* one alone goes whatever its size */
        if (call->count > 0 && kinds[kind]->joins && !kinds[kind]->joins(call->request[0], request)) break;
        *room -= bytes < *room ? bytes : *room;
        if (channel_index(call, request->channel) == call->channel_count)
            call->channel[call->channel_count++] = request->channel;
        call->has_answer[call->count] = request->delivery || kind == REQUEST_CHANNEL;
        call->request[call->count++] = request;
    }
    remove_at(queue, 0, call->count);
}

/* ---- reading answers ---- */

static void finish(struct request *request, enum request_result result, const char *error)
{
    request->result = result;
    if (error) snprintf(request->error, sizeof request->error, "%s", error);
}

/* It named a channel for its place on the agenda, and no delivery. */
static void finish_channel_take(struct request *request)
{
    ((struct take_request *)(void *)request)->answer = TAKE_MOVED;
    finish(request, REQUEST_ANSWERED, NULL);
}

/* The server has forgotten the script: the call's requests wait again, and go with its text. */
static void put_back(struct ledger_round *round, const struct call *call)
{
    round->wants_text[kinds[call->kind]->script] = round->put_back = true;
    for (size_t i = 0; i < call->count; i++) {
        if (call->request[i]) add(round, call->kind, call->request[i]);
    }
}

static size_t answers_expected(const struct call *call)
{
    size_t count = 0;
    for (size_t i = 0; i < call->count; i++)
        count += call->has_answer[i];
    return count;
}

static void read_request(const struct call *call, size_t i, const struct redisReply *answer)
{
    struct request *request = call->request[i];
    if (!call->has_answer[i])
        finish_channel_take(request);
    else if (kinds[call->kind]->read(request, answer))
        finish(request, REQUEST_ANSWERED, NULL);
    else
        finish(request, REQUEST_UNKNOWN, "an answer that cannot be read");
}

/* reply NULL: none came. */
static void read_call(struct ledger_round *round, const struct call *call, const struct redisReply *reply,
                      struct redis_link *link)
{
    char words[REQUEST_ERROR_SIZE] = "no answer";
    const char *error = answer_error(reply);
    size_t expected = answers_expected(call);
    int64_t now_ms = 0;
    if (error && script_forgotten(error) && !call->with_text) {
        put_back(round, call);
        return;
    }
    bool shape = answer_count(reply) == expected + 1 && answer_number(answer_at(reply, 0), &now_ms) && now_ms > 0;
    if (error)
        answer_words(reply, words, sizeof words);
    else if (reply && !shape)
        snprintf(words, sizeof words, "an answer that cannot be read");
    if (shape) server_clock_note(link_clock(link), now_ms, round->sent_boot_ms, clock_boottime_ms());
    size_t at = 0;
    for (size_t i = 0; i < call->count; i++) {
        at += call->has_answer[i];
        if (call->request[i] && shape)
            read_request(call, i, answer_at(reply, at));
        else if (call->request[i])
            finish(call->request[i], error ? REQUEST_REFUSED : REQUEST_UNKNOWN, words);
    }
}

/* The calls from the first unanswered one on have no answer. */
static void lose(struct ledger_round *round, struct redis_link *link)
{
    while (round->answered < round->call_count)
        read_call(round, &round->calls[round->answered++], NULL, link);
    round->call_count = round->answered = 0;
}

static enum round_news receive(struct ledger_round *round, struct redis_link *link, int64_t until_boot_ms,
                               struct errbuf *err)
{
    enum round_news news = ROUND_NOTHING;
    if (!round_under_way(round)) return ROUND_NOTHING;
    while (round->answered < round->call_count) {
        struct redisReply *reply;
        switch (link_answer(link, until_boot_ms, &reply, err)) {
        case LINK_NOTHING: return news;
        case LINK_LOST: lose(round, link); return ROUND_LOST;
        case LINK_ANSWER: break;
        }
        read_call(round, &round->calls[round->answered++], reply, link);
        answer_free(reply);
        news = ROUND_ANSWERS;
    }
    round->call_count = round->answered = 0;
    return link_is_open(link) ? ROUND_OVER : ROUND_LOST;
}

/* ---- a round ---- */

bool round_under_way(const struct ledger_round *round)
{
    return round->call_count > 0;
}

int round_fd(const struct ledger_round *round, const struct redis_link *link)
{
    return round_under_way(round) ? link_fd(link) : -1;
}

int64_t round_wake_ms(const struct ledger_round *round, const struct redis_link *link)
{
    if (!round_under_way(round)) return INT64_MAX;
    return link_answer_is_here(link) ? 0 : round->until_boot_ms;
}

static void gather_all(struct ledger_round *round)
{
    struct call next;
    size_t room = LINK_ROUND_MAX_BYTES;
    for (int kind = 0; kind < REQUEST_KIND_COUNT; kind++) {
        for (;;) {
            gather(&round->queues[kind], (enum request_kind)kind, &room, round->call_count == 0, &next);
            if (next.count == 0) break;
            if (round->call_count == round->call_room) {
                round->call_room = round->call_room ? round->call_room * 2 : 4;
                round->calls = xrealloc_array(round->calls, round->call_room, sizeof *round->calls);
            }
            round->calls[round->call_count++] = next;
        }
    }
}

bool round_send(struct ledger_round *round, struct redis_link *link, int64_t limit_ms, struct errbuf *err)
{
    if (round_under_way(round)) die("ledger: a round is sent before the last one is over");
    round->put_back = false;
    if (round_pending(round) == 0) return true;
    if (!link_is_open(link)) return errbuf_set(err, "redis: not connected");
    args_clear(&round->args);
    gather_all(round);
    for (size_t i = 0; i < round->call_count; i++)
        put_call(round, link, &round->calls[i]);
    struct link_command *commands = args_commands(&round->args);
    round->sent_boot_ms = clock_boottime_ms();
    round->until_boot_ms = round->sent_boot_ms + limit_ms;
    bool ok = link_send(link, commands, round->call_count, limit_ms, err);
    if (!ok) lose(round, link);
    free(commands);
    return ok;
}

enum round_news round_receive(struct ledger_round *round, struct redis_link *link, struct errbuf *err)
{
    return receive(round, link, 0, err);
}

bool round_run(struct ledger_round *round, struct redis_link *link, int64_t limit_ms, struct errbuf *err)
{
    do {
        if (!round_send(round, link, limit_ms, err)) return false;
        while (round_under_way(round)) {
            if (receive(round, link, round->until_boot_ms, err) == ROUND_LOST) return false;
        }
    } while (round->put_back);
    return true;
}
