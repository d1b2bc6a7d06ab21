/* SPDX-License-Identifier: MIT */
#include "ledger/sessions.h"

#include "ledger/answer.h"
#include "ledger/args.h"
#include "ledger/script.h"

static const char *const words[] = {
    [SESSIONS_LOOK] = "look",   [SESSIONS_LOCK] = "lock", [SESSIONS_BEGIN] = "begin",
    [SESSIONS_STORE] = "store", [SESSIONS_FAIL] = "fail", [SESSIONS_RELEASE] = "release",
};
static const char *const answers[] = {
    [SESSIONS_OK] = "ok", [SESSIONS_BUSY] = "busy", [SESSIONS_STALE] = "stale", [SESSIONS_LOST] = "lost"};

static void put_arguments(struct args *args, const struct sessions_request *request)
{
    args_text(args, words[request->op]);
    args_text(args, request->token);
    if (request->op == SESSIONS_LOCK) args_number(args, request->ttl_ms);
    if (request->op == SESSIONS_BEGIN) args_text(args, request->mark);
    if (request->op == SESSIONS_STORE) {
        args_number(args, request->rev);
        args_text(args, request->sealed);
    }
    if (request->op == SESSIONS_FAIL) {
        args_number(args, request->until_ms);
        args_number(args, request->failures);
        args_number(args, request->spent);
    }
}

static bool read_answer(const struct redisReply *reply, struct sessions_request *request)
{
    struct sessions_record *record = &request->record;
    size_t i = 0;
    while (i < sizeof answers / sizeof answers[0] && !answer_is(answer_at(reply, 1), answers[i]))
        i++;
    if (i == sizeof answers / sizeof answers[0] || !answer_number(answer_at(reply, 0), &record->now_ms)) return false;
    request->answer = (enum sessions_answer)i;
    record->rev = answer_number_or_0(answer_at(reply, 2));
    answer_keep(answer_at(reply, 3), &record->sealed);
    answer_words(answer_at(reply, 4), record->begun, sizeof record->begun);
    record->not_before_ms = answer_number_or_0(answer_at(reply, 5));
    record->failures = answer_number_or_0(answer_at(reply, 6));
    record->lock_left_ms = answer_number_or_0(answer_at(reply, 7));
    return true;
}

bool sessions_ask(const struct ledger *ledger, struct redis_link *link, struct sessions_request *request,
                  int64_t limit_ms, struct errbuf *err)
{
    const struct script *script = &script_table[SCRIPT_SESSION];
    struct args args;
    struct redisReply **replies;
    args_init(&args);
    args_command(&args, "EVAL");
    args_bytes(&args, script->text, script->len);
    args_number(&args, 2);
    args_key(&args, &ledger->names, NAMES_SESSION, request->channel);
    args_key(&args, &ledger->names, NAMES_LOGIN, request->channel);
    put_arguments(&args, request);
    bool ok = args_read(&args, link, &replies, limit_ms, err);
    if (ok) {
        ok = read_answer(replies[0], request) || errbuf_set(err, "the session's record cannot be read");
        if (ok) link_note_time(link, request->record.now_ms);
        args_free_replies(replies, 1);
    }
    args_fini(&args);
    return ok;
}

void sessions_fini(struct sessions_request *request)
{
    answer_drop(&request->record.sealed);
}
