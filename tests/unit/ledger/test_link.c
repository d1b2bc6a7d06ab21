/* SPDX-License-Identifier: MIT */
#include "ledger/answer.h"
#include "ledger/args.h"
#include "ledger/feed.h"
#include "ledger/link_tls.h"
#include "test.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fake_server.h"

#define LIMIT_MS 200

static struct redis_link *link_to(const struct fake_server *server, const struct secret *password)
{
    char url[160];
    snprintf(url, sizeof url, "unix://%s?db=1", server->path);
    struct link_address address = {.url = url, .password = password, .name = "test"};
    return link_new(&address);
}

static void ping(struct args *args, size_t count)
{
    args_init(args);
    for (size_t i = 0; i < count; i++)
        args_command(args, "PING");
}

static void opens_a_master_and_knows_its_run_id_and_time(void **state)
{
    (void)state;
    const char *const lines[] = {NULL};
    struct fake_server server = {0};
    fake_server_start(&server, lines);
    struct redis_link *link = link_to(&server, NULL);
    struct errbuf err;
    assert_false(link_is_open(link));
    assert_true(link_open(link, &err));
    assert_string_equal(link_run_id(link), "0123456789ab");
    assert_true(server_clock_now(link_clock(link), clock_boottime_ms()) >= 1795990610859);
    assert_int_equal(link_next_try_ms(link), 0);
    link_free(&link);
    assert_null(link);
    fake_server_stop(&server);
}

static void believes_no_replica(void **state)
{
    (void)state;
    const char *const lines[] = {NULL};
    struct fake_server server = {.role = "slave"};
    fake_server_start(&server, lines);
    struct redis_link *link = link_to(&server, NULL);
    struct errbuf err;
    int64_t before = clock_boottime_ms();
    assert_false(link_open(link, &err));
    assert_contains(err.text, "no master");
    assert_false(link_is_open(link));
    assert_true(link_next_try_ms(link) > before);
    link_free(&link);
    fake_server_stop(&server);
}

static void a_wrong_password_is_told_without_it(void **state)
{
    (void)state;
    const char *const lines[] = {NULL};
    struct fake_server server = {.password = "right-password"};
    fake_server_start(&server, lines);
    struct secret *wrong = secret_new("wrong-password", 14), *right = secret_new("right-password", 14);
    struct redis_link *link = link_to(&server, wrong);
    struct errbuf err;
    assert_false(link_open(link, &err));
    assert_contains(err.text, "WRONGPASS");
    assert_null(strstr(err.text, "wrong-password"));
    link_set_password(link, right);
    assert_true(link_open(link, &err));
    link_free(&link);
    secret_free(&wrong);
    secret_free(&right);
    fake_server_stop(&server);
}

static void a_server_that_is_not_there(void **state)
{
    (void)state;
    struct link_address nowhere = {.url = "unix:///nonexistent/redis.sock"};
    struct redis_link *link = link_new(&nowhere);
    struct errbuf err;
    assert_false(link_open(link, &err));
    assert_contains(err.text, "/nonexistent/redis.sock");
    assert_false(link_keep(link, &err)); /* too early: nothing is tried, nothing is said */
    assert_string_equal(err.text, "");
    int64_t longest = 0;
    for (int i = 0; i < 20; i++) {
        int64_t now = clock_boottime_ms();
        assert_false(link_open(link, &err));
        int64_t wait = link_next_try_ms(link) - now;
        assert_true(wait >= 0 && wait <= LINK_BACKOFF_CAP_MS + 50);
        if (wait > longest) longest = wait;
    }
    assert_true(longest >= LINK_BACKOFF_CAP_MS / 2);
    link_free(&link);
}

static void tls_that_is_not_built_in_is_refused_with_words(void **state)
{
    (void)state;
    if (link_tls_is_built_in()) {
        print_message("skipped: this build has TLS to Redis (tests/integration/test_redis_tls.py tries it)\n");
        skip();
    }
    struct link_address address = {.url = "rediss://127.0.0.1:1"};
    struct redis_link *link = link_new(&address);
    struct errbuf err;
    assert_false(link_open(link, &err));
    assert_contains(err.text, "TLS");
    link_free(&link);
}

static void dies_after_20_of_64_answers(void **state)
{
    (void)state;
    const char *lines[21] = {0};
    for (int i = 0; i < 20; i++)
        lines[i] = "+PONG\r\n";
    struct fake_server server = {0};
    fake_server_start(&server, lines);
    struct redis_link *link = link_to(&server, NULL);
    struct errbuf err;
    for (int again = 0; again < 3; again++) {
        assert_true(link_open(link, &err));
        struct args args;
        redisReply *replies[64];
        ping(&args, 64);
        assert_false(args_exchange(&args, link, replies, LIMIT_MS, &err));
        for (int i = 0; i < 64; i++) {
            assert_true((replies[i] != NULL) == (i < 20));
            answer_free(replies[i]);
        }
        assert_false(link_is_open(link));
        assert_string_equal(link_run_id(link), "");
        assert_false(args_exchange(&args, link, replies, LIMIT_MS, &err)); /* never used again */
        assert_null(replies[0]);
        args_fini(&args);
    }
    assert_int_equal(link_round_trips(link) % 5, 0); /* only handshakes were answered in full */
    link_free(&link);
    fake_server_stop(&server);
}

static void a_silent_server_costs_one_time_limit(void **state)
{
    (void)state;
    const char *const lines[] = {"+PONG\r\n", "hang", NULL};
    struct fake_server server = {0};
    fake_server_start(&server, lines);
    struct redis_link *link = link_to(&server, NULL);
    struct errbuf err;
    assert_true(link_open(link, &err));
    struct args args;
    redisReply *replies[3];
    ping(&args, 3);
    int64_t before = clock_boottime_ms();
    assert_false(args_exchange(&args, link, replies, LIMIT_MS, &err));
    int64_t took = clock_boottime_ms() - before;
    assert_true(took >= LIMIT_MS && took < LIMIT_MS + 2000);
    assert_non_null(replies[0]);
    assert_null(replies[1]);
    answer_free(replies[0]);
    assert_contains(err.text, "time limit");
    args_fini(&args);
    link_free(&link);
    fake_server_stop(&server);
}

static bool send_pings(struct redis_link *link, size_t count)
{
    struct args args;
    struct errbuf err;
    ping(&args, count);
    struct link_command *commands = args_commands(&args);
    bool ok = link_send(link, commands, count, LIMIT_MS, &err);
    free(commands);
    args_fini(&args);
    return ok;
}

static void ask_ping(struct redis_link *link, const char *answer)
{
    struct args args;
    struct errbuf err;
    redisReply *reply;
    ping(&args, 1);
    if (!args_exchange(&args, link, &reply, LIMIT_MS, &err)) fail_msg("%s", err.text);
    assert_string_equal(reply->str, answer);
    answer_free(reply);
    args_fini(&args);
}

static void take_answer(struct redis_link *link, const char *answer)
{
    struct errbuf err;
    redisReply *reply;
    assert_int_equal(link_answer(link, clock_boottime_ms() + LIMIT_MS, &reply, &err), LINK_ANSWER);
    assert_string_equal(reply->str, answer);
    answer_free(reply);
}

/* A question that waits for its answer, asked while others are awaited: each gets its own. */
static void answers_are_not_mixed_up(void **state)
{
    (void)state;
    const char *const lines[] = {"+one\r\n", "+two\r\n", "+three\r\n", "+four\r\n", "+five\r\n", "+six\r\n", NULL};
    struct fake_server server = {0};
    fake_server_start(&server, lines);
    struct redis_link *link = link_to(&server, NULL);
    struct errbuf err;
    assert_true(link_open(link, &err));
    uint64_t trips = link_round_trips(link);
    assert_true(send_pings(link, 3));
    ask_ping(link, "four");
    assert_true(link_answer_is_here(link));
    take_answer(link, "one");
    ask_ping(link, "five");
    take_answer(link, "two");
    take_answer(link, "three");
    assert_int_equal(link_round_trips(link), trips + 3);
    assert_true(send_pings(link, 1));
    take_answer(link, "six");
    redisReply *reply;
    assert_int_equal(link_answer(link, 0, &reply, &err), LINK_LOST); /* nothing is awaited */
    link_free(&link);
    fake_server_stop(&server);
}

/* Where answers cannot be told apart any more, the program ends. */
static void asking_before_the_answers_were_taken_ends_the_program(void **state)
{
    (void)state;
    const char *const lines[] = {"+one\r\n", NULL};
    struct fake_server server = {0};
    fake_server_start(&server, lines);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct redis_link *link = link_to(&server, NULL);
        struct errbuf err;
        if (freopen("/dev/null", "w", stderr) == NULL) _exit(0);
        if (link_open(link, &err) && send_pings(link, 1)) (void)!send_pings(link, 1);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    fake_server_stop(&server);
}

static void what_is_awaited_is_lost_with_the_connection(void **state)
{
    (void)state;
    const char *const lines[] = {"+one\r\n", "close", NULL};
    struct fake_server server = {0};
    fake_server_start(&server, lines);
    struct redis_link *link = link_to(&server, NULL);
    struct errbuf err;
    struct args args;
    redisReply *reply;
    assert_true(link_open(link, &err));
    assert_true(send_pings(link, 1));
    ping(&args, 1);
    assert_false(args_exchange(&args, link, &reply, LIMIT_MS, &err)); /* it has read "one" by then */
    assert_true(link_answer_is_here(link));
    assert_int_equal(link_answer(link, 0, &reply, &err), LINK_LOST);
    assert_true(link_open(link, &err)); /* another connection owes nothing */
    assert_int_equal(link_answer(link, 0, &reply, &err), LINK_LOST);
    assert_true(link_is_open(link));
    args_fini(&args);
    link_free(&link);
    fake_server_stop(&server);
}

static void an_awaited_answer_has_its_time_limit(void **state)
{
    (void)state;
    const char *const lines[] = {"hang", NULL};
    struct fake_server server = {0};
    fake_server_start(&server, lines);
    struct redis_link *link = link_to(&server, NULL);
    struct errbuf err;
    redisReply *reply;
    int64_t before = clock_boottime_ms();
    enum link_poll got;
    assert_true(link_open(link, &err));
    assert_true(send_pings(link, 1));
    while ((got = link_answer(link, clock_boottime_ms() + 20, &reply, &err)) == LINK_NOTHING)
        ;
    assert_int_equal(got, LINK_LOST);
    assert_true(clock_boottime_ms() - before >= LIMIT_MS);
    assert_contains(err.text, "time limit");
    assert_false(link_is_open(link));
    link_free(&link);
    fake_server_stop(&server);
}

static void a_wrong_server_is_left_behind_its_last_answer(void **state)
{
    (void)state;
    const char *const lines[] = {"-READONLY x\r\n", "+two\r\n", NULL};
    struct fake_server server = {0};
    fake_server_start(&server, lines);
    struct redis_link *link = link_to(&server, NULL);
    struct errbuf err;
    redisReply *reply;
    assert_true(link_open(link, &err));
    assert_true(send_pings(link, 2));
    assert_int_equal(link_answer(link, clock_boottime_ms() + LIMIT_MS, &reply, &err), LINK_ANSWER);
    assert_int_equal(reply->type, REDIS_REPLY_ERROR);
    answer_free(reply);
    assert_true(link_is_open(link));
    take_answer(link, "two");
    assert_false(link_is_open(link));
    assert_contains(err.text, "READONLY");
    link_free(&link);
    fake_server_stop(&server);
}

static void errors_that_mean_another_server_drop_the_link(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        bool open, stop;
    } cases[] = {
        {"-READONLY You can't write\r\n", false, false},
        {"-ERR Error running script: -READONLY x\r\n", false, false},
        {"-LOADING in memory\r\n", true, false},
        {"-WHATEVER comes next year\r\n", true, false},
        {"-CROSSSLOT Keys\r\n", false, true},
        {"!garbage\r\n", false, false},
        {"*2\r\n+OK\r\n@\r\n", false, false},
        {"$-7\r\n", false, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *const lines[] = {cases[i].line, NULL};
        struct fake_server server = {0};
        fake_server_start(&server, lines);
        struct redis_link *link = link_to(&server, NULL);
        struct errbuf err;
        assert_true(link_open(link, &err));
        struct args args;
        redisReply *reply;
        ping(&args, 1);
        if (args_exchange(&args, link, &reply, LIMIT_MS, &err) != cases[i].open) fail_msg("%s", cases[i].line);
        assert_true(link_is_open(link) == cases[i].open && link_must_stop(link) == cases[i].stop);
        answer_free(reply);
        args_fini(&args);
        link_free(&link);
        fake_server_stop(&server);
    }
}

static void a_feed_without_an_answer_drops_its_connection(void **state)
{
    (void)state;
    const char *const lines[] = {"*0\r\n", "hang", NULL};
    struct fake_server server = {0};
    fake_server_start(&server, lines);
    struct ledger ledger = {0};
    char words[KEYS_ERR_BYTES];
    assert_true(names_init(&ledger.names, "lf", 0, words));
    struct feed *feed = feed_new(&ledger, link_to(&server, NULL), "w1");
    struct feed_batch batch;
    struct errbuf err = {""};
    int64_t start = clock_boottime_ms();
    while (feed_step(feed, 4, &batch, &err)) {
        assert_int_equal(batch.count, 0);
        assert_true(clock_boottime_ms() - start < FEED_BLOCK_MS + FEED_GRACE_MS + 3000);
        struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
        nanosleep(&pause, NULL);
    }
    assert_contains(err.text, "dead");
    assert_true(clock_boottime_ms() - start >= FEED_BLOCK_MS + FEED_GRACE_MS);
    assert_int_equal(feed_fd(feed), -1);
    assert_true(feed_step(feed, 4, &batch, &err)); /* and comes back */
    assert_true(feed_fd(feed) >= 0);
    feed_free(&feed);
    fake_server_stop(&server);
}

/* A full worker asks for nothing. What stands on the connection meanwhile (its end, where the server is gone) is no
 * reason to turn. */
static void a_feed_that_asks_for_nothing_waits_for_nothing(void **state)
{
    (void)state;
    const char *const lines[] = {NULL};
    struct fake_server server = {0};
    fake_server_start(&server, lines);
    struct ledger ledger = {0};
    char words[KEYS_ERR_BYTES];
    assert_true(names_init(&ledger.names, "lf", 0, words));
    struct redis_link *link = link_to(&server, NULL);
    struct feed *feed = feed_new(&ledger, link, "w1");
    struct feed_batch batch;
    struct errbuf err = {""};
    assert_true(feed_step(feed, 0, &batch, &err));
    assert_true(link_is_open(link));
    assert_int_equal(feed_fd(feed), -1);
    assert_true(feed_step(feed, 4, &batch, &err));
    assert_true(feed_fd(feed) >= 0);
    feed_free(&feed);
    fake_server_stop(&server);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_a_master_and_knows_its_run_id_and_time),
        cmocka_unit_test(believes_no_replica),
        cmocka_unit_test(a_wrong_password_is_told_without_it),
        cmocka_unit_test(a_server_that_is_not_there),
        cmocka_unit_test(tls_that_is_not_built_in_is_refused_with_words),
        cmocka_unit_test(dies_after_20_of_64_answers),
        cmocka_unit_test(a_silent_server_costs_one_time_limit),
        cmocka_unit_test(answers_are_not_mixed_up),
        cmocka_unit_test(asking_before_the_answers_were_taken_ends_the_program),
        cmocka_unit_test(what_is_awaited_is_lost_with_the_connection),
        cmocka_unit_test(an_awaited_answer_has_its_time_limit),
        cmocka_unit_test(a_wrong_server_is_left_behind_its_last_answer),
        cmocka_unit_test(errors_that_mean_another_server_drop_the_link),
        cmocka_unit_test(a_feed_without_an_answer_drops_its_connection),
        cmocka_unit_test(a_feed_that_asks_for_nothing_waits_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
