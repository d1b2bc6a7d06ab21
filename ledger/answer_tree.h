/* SPDX-License-Identifier: MIT */
/*
 * answer_tree: replies in few pieces of memory. For link_open.c and answer.h only.
 *
 * hiredis reads a reply into a tree of objects, by functions that may be ours: its own allocate each object, string and
 * list, and a round's answer has a thousand of them. Here a reply's objects lie one behind the other and are freed
 * together, by answer_free(). Their type is redisReply, as ever; what is too large for memory is NULL, and hiredis
 * says so.
 */
#ifndef LANDFALL_LEDGER_ANSWER_TREE_H
#define LANDFALL_LEDGER_ANSWER_TREE_H

#include <hiredis/hiredis.h>

/* For a reader's `fn`, which takes no constant; nobody writes to it. */
extern redisReplyObjectFunctions answer_tree_functions;

#endif
