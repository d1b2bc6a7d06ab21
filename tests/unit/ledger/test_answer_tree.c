/* SPDX-License-Identifier: MIT */
/* Our trees hold what hiredis's own do, whatever a server sends. */
#include "ledger/answer.h"
#include "test.h"

static void assert_same(const redisReply *ours, const redisReply *theirs)
{
    assert_int_equal(ours->type, theirs->type);
    assert_int_equal(ours->integer, theirs->integer);
    assert_int_equal(ours->len, theirs->len);
    assert_int_equal(ours->elements, theirs->elements);
    assert_int_equal(ours->str != NULL, theirs->str != NULL);
    if (ours->str) assert_memory_equal(ours->str, theirs->str, ours->len + 1);
    for (size_t i = 0; i < ours->elements; i++)
        assert_same(ours->element[i], theirs->element[i]);
}

/* Read by both, fed in pieces of `step` bytes; how many replies came of it before the end or an error. */
static size_t read_both(const char *bytes, size_t len, size_t step)
{
    redisReader *ours = redisReaderCreateWithFunctions(&answer_tree_functions), *theirs = redisReaderCreate();
    size_t count = 0;
    for (size_t at = 0; at < len; at += step) {
        const size_t left = len - at < step ? len - at : step;
        redisReaderFeed(ours, bytes + at, left);
        redisReaderFeed(theirs, bytes + at, left);
        void *our_reply = NULL, *their_reply = NULL;
        do {
            const int code = redisReaderGetReply(ours, &our_reply);
            assert_int_equal(code, redisReaderGetReply(theirs, &their_reply));
            assert_int_equal(our_reply != NULL, their_reply != NULL);
            if (!our_reply) continue;
            assert_same(our_reply, their_reply);
            answer_free(our_reply);
            freeReplyObject(their_reply);
            count++;
        } while (our_reply);
    }
    redisReaderFree(ours); /* with what is not complete */
    redisReaderFree(theirs);
    return count;
}

static void they_are_the_same_as_those_of_hiredis(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t replies;
    } cases[] = {
        {"+OK\r\n", 1},
        {"-ERR no\r\n:7\r\n$-1\r\n*-1\r\n", 4},
        {"$0\r\n\r\n*0\r\n", 2},
        {"$5\r\nhello\r\n", 1},
        {"*3\r\n:1\r\n*2\r\n$1\r\na\r\n*1\r\n*1\r\n$-1\r\n+x\r\n+y\r\n", 2},
        {"*2\r\n*0\r\n*3\r\n-ERR\r\n:-9223372036854775808\r\n$2\r\n\r\n\r\n", 1},
        {"*2\r\n$3\r\nabc\r\n?\r\n", 0},                                           /* no protocol */
        {"*2\r\n$3\r\nabc\r\n", 0},                                                /* cut */
        {"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", 0}, /* too deep for some */
        {"*-2\r\n", 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        for (size_t step = 1; step < 20; step++) {
            const size_t count = read_both(cases[i].text, strlen(cases[i].text), step);
            if (cases[i].replies > 0) assert_int_equal(count, cases[i].replies);
        }
}

/* More than a piece of memory holds, and strings that are longer than one. */
static void they_grow(void **state)
{
    (void)state;
    static char bytes[1 << 20];
    size_t len = (size_t)snprintf(bytes, sizeof bytes, "*300\r\n");
    for (int i = 0; i < 100; i++) {
        const int size = i * i;
        len += (size_t)snprintf(bytes + len, sizeof bytes - len, ":%d\r\n*1\r\n$%d\r\n", i, size);
        memset(bytes + len, 'a' + i % 26, (size_t)size);
        len += (size_t)size;
        len += (size_t)snprintf(bytes + len, sizeof bytes - len, "\r\n$3\r\nend\r\n");
    }
    assert_int_equal(read_both(bytes, len, len), 1);
    assert_int_equal(read_both(bytes, len, 1000), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_the_same_as_those_of_hiredis),
        cmocka_unit_test(they_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
