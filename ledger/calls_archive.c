/* SPDX-License-Identifier: MIT */
#include "ledger/calls_archive.h"

#include "ledger/calls.h"

static const struct archive_request *of(const struct request *request)
{
    return (const struct archive_request *)(const void *)request;
}

static void archive_own(struct args *args, const struct calls_context *context)
{
    const struct archive_request *first = of(context->requests[0]);
    args_text(args, first->user);
    args_text(args, first->host);
    args_text(args, first->why);
    args_text(args, first->note);
}

static void archive_block(struct args *args, const struct request *request)
{
    args_number(args, of(request)->rev);
}

static bool archive_read(struct request *request, const struct redisReply *a)
{
    struct archive_request *r = (struct archive_request *)request;
    static const char *const words[] = {
        [ARCHIVE_OK] = "ok", [ARCHIVE_GONE] = "gone", [ARCHIVE_CHANGED] = "changed", [ARCHIVE_ERROR] = "error"};
    int answer = calls_word(a, words, sizeof words / sizeof words[0]);
    if (answer < 0) return false;
    r->answer = (enum archive_answer)answer;
    return r->answer != ARCHIVE_ERROR || calls_error(request, a);
}

static bool archive_joins(const struct request *a, const struct request *b)
{
    return of(a)->note == of(b)->note;
}

const struct calls_kind calls_archive = {SCRIPT_ARCHIVE, archive_own, archive_block, archive_read, archive_joins};
