/* SPDX-License-Identifier: MIT */
/* When a server that is used again is told so; real ones: tests/integration/test_broken_rewind.py. */
#include "ledger/comeback.h"
#include "test.h"

#include "fake_server.h"
#include "keys/base.h"
#include "ledger/args.h"
#include "runtime/clock.h"

#define SERVER_RUN_ID "0123456789ab" /* the fake server's */
#define NOW           INT64_C(1795990610859)
#define LOST_AGO_MS   60000
#define LIMIT_MS      3000

struct fixture {
    struct fake_server server;
    struct ledger ledger;
    struct redis_link *link;
    struct comeback comeback;
    struct reads_overview overview;
    struct errbuf err;
};

static void start(struct fixture *f, const char *here, const char *left, const char *const *lines)
{
    char url[160], why[KEYS_ERR_BYTES];
    memset(f, 0, sizeof *f);
    assert_true(names_init(&f->ledger.names, "lf", 0, why));
    fake_server_start(&f->server, lines);
    snprintf(url, sizeof url, "unix://%s", f->server.path);
    const struct link_address address = {.url = url, .name = "test"};
    f->link = link_new(&address);
    assert_true(link_open(f->link, &f->err));
    snprintf(f->comeback.here, sizeof f->comeback.here, "%s", here);
    snprintf(f->comeback.left[0], sizeof f->comeback.left[0], "%s", left);
    f->comeback.left_count = left[0] != '\0';
    f->comeback.lost_boot_ms = clock_boottime_ms() - LOST_AGO_MS;
    f->overview.now_ms = NOW;
}

static void end(struct fixture *f)
{
    link_free(&f->link);
    fake_server_stop(&f->server);
}

static bool home(struct fixture *f, bool *returned)
{
    return comeback_home(&f->comeback, &f->ledger, f->link, &f->overview, LIMIT_MS, returned, &f->err);
}

static void a_server_that_was_left_is_told_once(void **state)
{
    (void)state;
    static const struct {
        const char *here, *left;
        int64_t rewound_ago_ms;
        bool returned, tells;
    } cases[] = {
        {"", "", 2 * LOST_AGO_MS, false, false},                       /* the first one */
        {SERVER_RUN_ID, "", 2 * LOST_AGO_MS, false, false},            /* as before */
        {"another", "", 2 * LOST_AGO_MS, false, false},                /* a new one: the run id says it */
        {"another", SERVER_RUN_ID, 2 * LOST_AGO_MS, true, true},       /* it was left, and nobody has said so */
        {"another", SERVER_RUN_ID, LOST_AGO_MS / 2, true, false},      /* somebody has */
        {SERVER_RUN_ID, SERVER_RUN_ID, 2 * LOST_AGO_MS, false, false}, /* this connection was lost, and no more */
        {"another", "a third one", 2 * LOST_AGO_MS, false, false},
    };
    static const char *const lines[] = {":0\r\n", NULL};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture f;
        bool returned;
        start(&f, cases[i].here, cases[i].left, lines);
        f.overview.epoch.rewound_at_ms = NOW - cases[i].rewound_ago_ms;
        const uint64_t asked = link_round_trips(f.link);
        assert_true(home(&f, &returned));
        assert_int_equal(returned, cases[i].returned);
        assert_int_equal(link_round_trips(f.link) - asked, cases[i].tells);
        assert_string_equal(f.comeback.here, SERVER_RUN_ID);
        assert_true(home(&f, &returned)); /* as at every look */
        assert_false(returned);
        end(&f);
    }
}

static void what_was_not_told_is_told_again(void **state)
{
    (void)state;
    static const char *const lines[] = {"close", NULL};
    struct fixture f;
    bool returned;
    start(&f, "another", SERVER_RUN_ID, lines);
    assert_false(home(&f, &returned));
    assert_string_equal(f.comeback.here, "another");
    assert_true(f.comeback.lost_boot_ms > 0);
    end(&f);
}

static void a_server_that_was_a_replica_has_been_left_too(void **state)
{
    (void)state;
    static const char *const lines[] = {"-READONLY You can't write against a read only replica.\r\n", NULL};
    struct fixture f;
    struct args args;
    struct redisReply **replies;
    bool returned;
    start(&f, SERVER_RUN_ID, "", lines);
    args_init(&args);
    args_command(&args, "PING");
    assert_false(args_read(&args, f.link, &replies, LIMIT_MS, &f.err));
    args_fini(&args);
    assert_true(link_open(f.link, &f.err));
    f.overview.epoch.rewound_at_ms = NOW; /* it is known: nothing is to be told */
    assert_true(home(&f, &returned));
    assert_true(returned);
    assert_true(home(&f, &returned));
    assert_false(returned);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_that_was_left_is_told_once),
        cmocka_unit_test(what_was_not_told_is_told_again),
        cmocka_unit_test(a_server_that_was_a_replica_has_been_left_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
