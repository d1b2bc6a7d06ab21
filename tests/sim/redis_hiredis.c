/* SPDX-License-Identifier: MIT */
#include "tests/sim/redis_hiredis.h"

#include "ledger/answer_tree.h"

/* As hiredis's reader calls these functions while it reads the reply. */
static void *build(const struct redis_reply *from, redisReadTask *parent, int place)
{
    static const int types[] = {REDIS_REPLY_NIL,    REDIS_REPLY_INTEGER, REDIS_REPLY_STRING,
                                REDIS_REPLY_STATUS, REDIS_REPLY_ERROR,   REDIS_REPLY_ARRAY};
    const redisReplyObjectFunctions *make = &answer_tree_functions;
    redisReadTask task = {.type = types[from->kind], .idx = place, .parent = parent};
    switch (from->kind) {
    case REDIS_NIL: return make->createNil(&task);
    case REDIS_INTEGER: return make->createInteger(&task, from->integer);
    case REDIS_BULK:
    case REDIS_STATUS:
    case REDIS_ERROR: return make->createString(&task, (char *)from->text, from->len);
    case REDIS_ARRAY: break;
    }
    task.obj = make->createArray(&task, (int)from->count);
    for (size_t i = 0; i < from->count; i++)
        build(&from->child[i], &task, (int)i);
    return task.obj;
}

struct redisReply *redis_hiredis_reply(const struct redis_reply *from)
{
    return build(from, NULL, 0);
}

/* ---- what hiredis asks the kernel for: no connection of ours has a socket ---- */

int redisEnableKeepAlive(redisContext *c)
{
    (void)c;
    return REDIS_OK;
}

int redisSetTimeout(redisContext *c, const struct timeval tv)
{
    (void)c;
    (void)tv;
    return REDIS_OK;
}
