/* SPDX-License-Identifier: MIT */
#include "tests/sim/redis_hiredis.h"

#include <hiredis/hiredis.h>
#include <string.h>

#include "runtime/die.h"

struct redisReply *redis_hiredis_reply(const struct redis_reply *from)
{
    static const int types[] = {REDIS_REPLY_NIL,    REDIS_REPLY_INTEGER, REDIS_REPLY_STRING,
                                REDIS_REPLY_STATUS, REDIS_REPLY_ERROR,   REDIS_REPLY_ARRAY};
    redisReply *to = xcalloc(1, sizeof *to);
    to->type = types[from->kind];
    to->integer = from->integer;
    if (from->text != NULL) {
        to->len = from->len;
        to->str = xmalloc(from->len + 1);
        memcpy(to->str, from->text, from->len);
        to->str[from->len] = '\0';
    }
    if (from->kind != REDIS_ARRAY) return to;
    to->elements = from->count;
    to->element = xcalloc(from->count ? from->count : 1, sizeof(redisReply *));
    for (size_t i = 0; i < from->count; i++)
        to->element[i] = redis_hiredis_reply(&from->child[i]);
    return to;
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
