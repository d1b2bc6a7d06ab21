/* SPDX-License-Identifier: MIT */
#include "ledger/answer_tree.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/answer.h"

#define PIECE_BYTES 8192 /* of objects of one reply; a longer string has a piece of its own */

struct piece {
    struct piece *next;
    size_t used, room;
    max_align_t bytes[];
};

/* A whole reply. The root is the first member: its address is the tree's. */
struct tree {
    struct redisReply root;
    struct piece *pieces; /* of all other objects, the newest first */
};

static void *take(struct tree *tree, size_t bytes)
{
    struct piece *piece = tree->pieces;
    bytes = (bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (!piece || bytes > piece->room - piece->used) {
        const size_t room = bytes > PIECE_BYTES ? bytes : PIECE_BYTES;
        piece = malloc(sizeof *piece + room);
        if (!piece) return NULL;
        *piece = (struct piece){.next = tree->pieces, .room = room};
        tree->pieces = piece;
    }
    piece->used += bytes;
    return (char *)piece->bytes + piece->used - bytes;
}

/* An object with `more` bytes behind it, in its place in the tree. NULL: no memory. */
static struct redisReply *make(const redisReadTask *task, size_t more)
{
    struct redisReply *reply;
    if (more > SIZE_MAX / 2) return NULL;
    if (!task->parent) {
        struct tree *tree = malloc(sizeof *tree + more);
        if (!tree) return NULL;
        tree->pieces = NULL;
        reply = &tree->root;
    } else {
        const redisReadTask *root = task->parent;
        while (root->parent)
            root = root->parent;
        reply = take(root->obj, sizeof *reply + more);
        if (!reply) return NULL;
        ((struct redisReply *)task->parent->obj)->element[task->idx] = reply;
    }
    memset(reply, 0, sizeof *reply);
    reply->type = task->type;
    return reply;
}

static void *behind(const redisReadTask *task, struct redisReply *reply)
{
    return task->parent ? (void *)(reply + 1) : (void *)((struct tree *)(void *)reply + 1);
}

static void *make_string(const redisReadTask *task, char *text, size_t len)
{
    struct redisReply *reply = make(task, len + 1);
    if (!reply) return NULL;
    reply->str = behind(task, reply);
    reply->len = len;
    memcpy(reply->str, text, len);
    reply->str[len] = '\0';
    return reply;
}

#if HIREDIS_MAJOR >= 1
typedef size_t list_length; /* hiredis changed the type with 1.0, and added two kinds that only RESP3 has */
#else
typedef int list_length;
#endif

static void *make_list(const redisReadTask *task, list_length count)
{
    const size_t most = SIZE_MAX / 2 / sizeof(struct redisReply *);
    struct redisReply *reply = (size_t)count <= most ? make(task, (size_t)count * sizeof(struct redisReply *)) : NULL;
    if (!reply) return NULL;
    reply->elements = (size_t)count;
    reply->element = behind(task, reply);
    return reply;
}

static void *make_integer(const redisReadTask *task, long long value)
{
    struct redisReply *reply = make(task, 0);
    if (reply) reply->integer = value;
    return reply;
}

/* hiredis reads it as a string, or a list, of length -1. */
static void *make_nil(const redisReadTask *task)
{
    struct redisReply *reply = make(task, 0);
    if (reply) reply->type = REDIS_REPLY_NIL;
    return reply;
}

#if HIREDIS_MAJOR >= 1
/* Nobody asks for RESP3: what has its types means nothing to us. */
static void *make_double(const redisReadTask *task, double value, char *text, size_t len)
{
    (void)value;
    (void)text;
    (void)len;
    return make_nil(task);
}

static void *make_bool(const redisReadTask *task, int value)
{
    (void)value;
    return make_nil(task);
}
#endif

static void drop(void *reply)
{
    struct tree *tree = reply;
    if (!tree) return;
    while (tree->pieces) {
        struct piece *next = tree->pieces->next;
        free(tree->pieces);
        tree->pieces = next;
    }
    free(tree);
}

void answer_free(struct redisReply *reply)
{
    drop(reply);
}

redisReplyObjectFunctions answer_tree_functions = {
    .createString = make_string,
    .createArray = make_list,
    .createInteger = make_integer,
#if HIREDIS_MAJOR >= 1
    .createDouble = make_double,
    .createBool = make_bool,
#endif
    .createNil = make_nil,
    .freeObject = drop,
};
