/* SPDX-License-Identifier: MIT */
/* What every test of ledger/ includes: cmocka with the headers that it wants before it, and replies built by hand. */
#ifndef LANDFALL_TESTS_UNIT_LEDGER_TEST_H
#define LANDFALL_TESTS_UNIT_LEDGER_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ledger/answer_tree.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Reads one reply from the protocol's text; ends the test if it is not a whole one. Free with answer_free(). */
static inline redisReply *reply_of_bytes(const char *bytes, size_t len)
{
    redisReader *reader = redisReaderCreateWithFunctions(&answer_tree_functions);
    void *reply = NULL;
    assert_int_equal(redisReaderFeed(reader, bytes, len), REDIS_OK);
    assert_int_equal(redisReaderGetReply(reader, &reply), REDIS_OK);
    assert_non_null(reply);
    redisReaderFree(reader);
    return reply;
}

static inline redisReply *reply_of(const char *text)
{
    return reply_of_bytes(text, strlen(text));
}

/* Fails with both texts if part is not in text. */
static inline void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("\"%s\" does not contain \"%s\"", text, part);
}

#endif
