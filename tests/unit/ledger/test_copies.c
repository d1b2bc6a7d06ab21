/* SPDX-License-Identifier: MIT */
/* What a server says about copies, and what follows; a real one with a replica: tests/integration/test_copies.py. */
#include "ledger/copies.h"
#include "test.h"

#include <poll.h>

#include "fake_server.h"
#include "keys/base.h"
#include "runtime/clock.h"

#define SERVER_RUN_ID "0123456789ab" /* the fake server's */

struct fixture {
    struct fake_server server;
    struct config config;
    struct ledger ledger;
    struct copies *copies;
    struct errbuf err;
    uint64_t through;
};

static void start(struct fixture *f, int64_t replicas, int fsync, const char *const *lines)
{
    char url[160], why[KEYS_ERR_BYTES];
    f->config = (struct config){.redis_wait_replicas = replicas,
                                .redis_wait_fsync = fsync,
                                .redis_wait_timeout_ms = 100,
                                .redis_round_limit_ms = 3000};
    f->ledger = (struct ledger){.worker = "w1"};
    assert_true(names_init(&f->ledger.names, "lf", 0, why));
    fake_server_start(&f->server, lines);
    snprintf(url, sizeof url, "unix://%s", f->server.path);
    const struct link_address address = {.url = url, .name = "test"};
    f->copies = copies_new(&f->config, &f->ledger, link_new(&address));
}

static void end(struct fixture *f)
{
    copies_free(&f->copies);
    fake_server_stop(&f->server);
}

/* The next thing that is heard; ends by itself, since every question has a time limit. */
static enum copies_news next(struct fixture *f, const char *run_id)
{
    for (;;) {
        f->err.text[0] = '\0';
        enum copies_news news = copies_step(f->copies, run_id, &f->through, &f->err);
        if (news != COPIES_NOTHING) return news;
        struct pollfd fd = {.fd = copies_fd(f->copies), .events = POLLIN};
        int64_t left_ms = copies_wake_ms(f->copies) - clock_boottime_ms();
        (void)poll(&fd, 1, left_ms > 0 ? (int)left_ms : 0);
    }
}

#define MADE "+OK\r\n", ":1\r\n"

static void nothing_is_asked_where_nothing_is_wanted(void **state)
{
    (void)state;
    struct errbuf err;
    uint64_t through;
    const struct config config = {.redis_wait_timeout_ms = 100};
    const struct ledger ledger = {.worker = "w1"};
    const struct link_address nowhere = {.url = "unix:///nonexistent/redis.sock"};
    struct copies *copies = copies_new(&config, &ledger, link_new(&nowhere));
    assert_null(copies);
    assert_true(copies_open(copies));
    assert_int_equal(copies_step(copies, SERVER_RUN_ID, &through, &err), COPIES_NOTHING);
    assert_int_equal(copies_mark(copies), 0);
    assert_int_equal(copies_fd(copies), -1);
    assert_true(copies_wake_ms(copies) == INT64_MAX);
}

static void what_is_marked_goes_with_the_next_question(void **state)
{
    (void)state;
    static const char *const lines[] = {MADE, ":1\r\n", MADE, ":2\r\n", MADE, ":1\r\n", NULL};
    struct fixture f = {0};
    start(&f, 1, CONFIG_WAIT_FSYNC_NO, lines);
    assert_false(copies_open(f.copies));
    assert_int_equal(next(&f, SERVER_RUN_ID), COPIES_REACHED); /* it begins by itself */
    assert_true(copies_open(f.copies));
    assert_true(copies_wake_ms(f.copies) == INT64_MAX);
    uint64_t first = copies_mark(f.copies);
    assert_true(first > f.through);
    assert_int_equal(copies_step(f.copies, SERVER_RUN_ID, &f.through, &f.err), COPIES_NOTHING); /* asks */
    uint64_t second = copies_mark(f.copies);
    assert_int_equal(next(&f, SERVER_RUN_ID), COPIES_REACHED);
    assert_true(first <= f.through && second > f.through);
    assert_int_equal(next(&f, SERVER_RUN_ID), COPIES_REACHED);
    assert_true(second <= f.through);
    end(&f);
}

static void too_few_copies_in_each_way(void **state)
{
    (void)state;
    static const char waitaof_unknown[] = "-ERR unknown command 'WAITAOF', with args beginning with: '1' \r\n";
    static const char no_file[] = "-ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.\r\n";
    static const struct {
        int64_t replicas;
        int fsync;
        const char *lines[5];
        const char *says; /* NULL: it is enough */
    } cases[] = {
        {2, CONFIG_WAIT_FSYNC_NO, {MADE, ":1\r\n"}, "1 of 2 replicas have it within 100 ms"},
        {0, CONFIG_WAIT_FSYNC_LOCAL, {MADE, "*2\r\n:1\r\n:0\r\n"}, NULL},
        {0, CONFIG_WAIT_FSYNC_LOCAL, {MADE, "*2\r\n:0\r\n:3\r\n"}, "0 of 1 append-only files of the master"},
        {1, CONFIG_WAIT_FSYNC_LOCAL, {MADE, ":1\r\n", "*2\r\n:1\r\n:0\r\n"}, NULL},
        {1, CONFIG_WAIT_FSYNC_LOCAL, {MADE, ":0\r\n", "*2\r\n:1\r\n:0\r\n"}, "0 of 1 replicas have it within"},
        {1, CONFIG_WAIT_FSYNC_ALL, {MADE, "*2\r\n:1\r\n:1\r\n"}, NULL},
        {1, CONFIG_WAIT_FSYNC_ALL, {MADE, "*2\r\n:1\r\n:0\r\n"}, "0 of 1 replicas have it on disk"},
        {0, CONFIG_WAIT_FSYNC_LOCAL, {MADE, waitaof_unknown}, "unknown command 'WAITAOF'"},
        {0, CONFIG_WAIT_FSYNC_LOCAL, {MADE, no_file}, "needs Redis 7.2 or later, or Valkey, with appendonly yes"},
        {1, CONFIG_WAIT_FSYNC_NO, {"$-1\r\n", ":0\r\n", ":1\r\n"}, "the heartbeat is gone"},
        {1, CONFIG_WAIT_FSYNC_NO, {MADE, "+five\r\n"}, "cannot be read"},
        {1, CONFIG_WAIT_FSYNC_NO, {"-OOM command not allowed\r\n", ":1\r\n", ":1\r\n"}, "OOM"},
        {1, CONFIG_WAIT_FSYNC_NO, {MADE, "-NOPERM this user has no rights\r\n"}, "asked for WAIT: redis: NOPERM"},
        {1, CONFIG_WAIT_FSYNC_NO, {MADE, "-UNBLOCKED force unblock\r\n"}, "changed its role"},
        {1, CONFIG_WAIT_FSYNC_NO, {MADE, "close"}, "redis: "},
        {1, CONFIG_WAIT_FSYNC_NO, {MADE, "hang"}, "no answer to WAIT"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct fixture f = {0};
        start(&f, cases[i].replicas, cases[i].fsync, cases[i].lines);
        f.config.redis_round_limit_ms = 100;
        assert_int_equal(next(&f, SERVER_RUN_ID), cases[i].says ? COPIES_FAILED : COPIES_REACHED);
        assert_int_equal(copies_open(f.copies), cases[i].says == NULL);
        if (cases[i].says) {
            assert_contains(f.err.text, cases[i].says);
            assert_true(copies_wake_ms(f.copies) > clock_boottime_ms()); /* not at once */
            assert_int_equal(copies_fd(f.copies), -1);
        }
        end(&f);
    }
}

static void copies_of_another_server_do_not_count(void **state)
{
    (void)state;
    static const char *const lines[] = {MADE, ":1\r\n", MADE, ":1\r\n", NULL};
    struct fixture f = {0};
    start(&f, 1, CONFIG_WAIT_FSYNC_NO, lines);
    assert_int_equal(next(&f, SERVER_RUN_ID), COPIES_REACHED);
    (void)copies_mark(f.copies);
    assert_int_equal(next(&f, "another"), COPIES_FAILED); /* what was marked may be unknown there */
    assert_contains(f.err.text, "another server has taken over");
    assert_false(copies_open(f.copies));
    (void)copies_mark(f.copies);
    assert_int_equal(next(&f, "another"), COPIES_FAILED);
    assert_contains(f.err.text, "lead to two servers");
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_asked_where_nothing_is_wanted),
        cmocka_unit_test(what_is_marked_goes_with_the_next_question),
        cmocka_unit_test(too_few_copies_in_each_way),
        cmocka_unit_test(copies_of_another_server_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
