/* SPDX-License-Identifier: MIT */
/* Rounds against a server that answers what it likes. */
#include "ledger/round.h"
#include "test.h"

#include <poll.h>
#include <signal.h>

#include "fake_server.h"

#define LIMIT_MS 200
#define OK_1     "*2\r\n{now}*2\r\n$2\r\nok\r\n$1\r\n2\r\n"

static struct ledger ledger = {.environment = "test", .worker = "w1", .outcomes_max = 10, .claim_valid_ms = 5000};

static struct redis_link *open_link(const struct fake_server *server)
{
    char url[160];
    snprintf(url, sizeof url, "unix://%s", server->path);
    struct link_address address = {.url = url};
    struct redis_link *link = link_new(&address);
    struct errbuf err = {""};
    if (!link_open(link, &err)) fail_msg("%s", err.text);
    return link;
}

static const struct delivery_policy policy = {.lease_ms = 60000, .late_commit_ms = 30000, .max_attempts = 5};

static struct claim_request claim_of(const char *delivery)
{
    return (struct claim_request){.base = {.channel = "blog/main", .delivery = delivery},
                                  .entry = "1-1",
                                  .token = "t",
                                  .content_hash = "c",
                                  .policy = &policy};
}

static void decide_of(struct decide_request *request, const char *delivery)
{
    static const struct delivery_row row = {.state = DS_HELD, .rev = 1};
    static const struct delivery_decision decision = {.verdict = VERDICT_CHANGE, .state = DS_REJECTED};
    memset(request, 0, sizeof *request);
    request->base.channel = "blog/main";
    request->base.delivery = delivery;
    request->row = &row;
    request->decision = &decision;
}

static void a_server_that_dies_leaves_answered_and_unknown(void **state)
{
    (void)state;
    const char *lines[21] = {0};
    for (int i = 0; i < 20; i++)
        lines[i] = OK_1;
    struct fake_server server = {0};
    fake_server_start(&server, lines);
    struct redis_link *link = open_link(&server);
    struct ledger_round *round = round_new(&ledger);
    static struct decide_request requests[64];
    char why[64][8];
    for (int i = 0; i < 64; i++) {
        decide_of(&requests[i], "blog/main/a");
        snprintf(why[i], sizeof why[i], "%d", i); /* another reason: a call of its own */
        requests[i].why = why[i];
        round_operate(round, &requests[i]);
    }
    struct errbuf err;
    assert_int_equal(round_pending(round), 64);
    assert_false(round_run(round, link, LIMIT_MS, &err));
    assert_int_equal(round_pending(round), 0);
    for (int i = 0; i < 64; i++) {
        assert_int_equal(requests[i].base.result, i < 20 ? REQUEST_ANSWERED : REQUEST_UNKNOWN);
        if (i < 20) assert_int_equal(requests[i].rev, 2);
    }
    round_operate(round, &requests[0]);
    assert_false(round_run(round, link, LIMIT_MS, &err)); /* not connected: it waits */
    assert_int_equal(requests[0].base.result, REQUEST_PENDING);
    round_forget(round, &requests[0].base);
    assert_int_equal(round_pending(round), 0);
    round_free(&round);
    link_free(&link);
    fake_server_stop(&server);
}

/* What a claim of two deliveries makes of one line. */
static void claim_two(const char *const *lines, struct claim_request claims[2])
{
    struct fake_server server = {0};
    fake_server_start(&server, lines);
    struct redis_link *link = open_link(&server);
    struct ledger_round *round = round_new(&ledger);
    struct errbuf err;
    for (int i = 0; i < 2; i++) {
        claims[i] = claim_of(i ? "blog/main/b" : "blog/main/a");
        round_claim(round, &claims[i]);
    }
    if (!round_run(round, link, LIMIT_MS, &err)) assert_true(err.text[0] != '\0');
    assert_int_equal(round_pending(round), 0);
    round_free(&round);
    link_free(&link);
    fake_server_stop(&server);
}

#define LATE    "*1\r\n$4\r\nlate\r\n"
#define GRANTED "*5\r\n$7\r\ngranted\r\n$1\r\n3\r\n$2\r\n90\r\n$2\r\n60\r\n$0\r\n\r\n"

/* Attempts count from 1. */
#define ATTEMPT_0                                                                                                      \
    "*8\r\n$7\r\ngranted\r\n$1\r\n0\r\n$2\r\n90\r\n$2\r\n60\r\n$0\r\n\r\n$1\r\n1\r\n$1\r\n0\r\n$1\r\n5\r\n"

static void answers_that_make_no_sense_are_unknown(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "+OK\r\n",
        ":1\r\n",
        "$-1\r\n",
        "*0\r\n",
        "*1\r\n{now}",
        "*2\r\n{now}" LATE,
        "*4\r\n{now}" LATE LATE LATE,
        "*3\r\n$3\r\nnow\r\n" LATE LATE,
        "*3\r\n:0\r\n" LATE LATE,
        "*3\r\n{now}$4\r\nlate\r\n$4\r\nlate\r\n",
        "*3\r\n{now}*0\r\n*0\r\n",
        "*3\r\n{now}*1\r\n$7\r\ngranted\r\n*1\r\n:5\r\n",
        "*3\r\n{now}*5\r\n$7\r\ngranted\r\n$1\r\nx\r\n$2\r\n90\r\n$2\r\n60\r\n$0\r\n\r\n*1\r\n*1\r\n" LATE,
        "*3\r\n{now}*5\r\n$7\r\ngranted\r\n$2\r\n-3\r\n$2\r\n90\r\n$2\r\n60\r\n$0\r\n\r\n*1\r\n$9\r\npublished\r\n",
        "*3\r\n{now}*3\r\n$7\r\nalready\r\n$4\r\nsent\r\n$1\r\n1\r\n*2\r\n$4\r\nwait\r\n$5\r\npaced\r\n",
        "*3\r\n{now}*8\r\n$7\r\ngranted\r\n:1\r\n:2\r\n:3\r\n$3\r\n1:a\r\n$1\r\nk\r\n$1\r\nh\r\n$-1\r\n*2\r\n$"
        "8\r\nrerender\r\n:1\r\n",
        "*3\r\n{now}" ATTEMPT_0 ATTEMPT_0,
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        const char *const lines[] = {bad[i], NULL};
        struct claim_request claims[2];
        claim_two(lines, claims);
        for (int c = 0; c < 2; c++) {
            if (claims[c].base.result != REQUEST_UNKNOWN)
                fail_msg("line %zu, claim %d: %d", i, c, claims[c].base.result);
            claim_fini(&claims[c]);
        }
    }
}

static void each_delivery_has_its_own_answer(void **state)
{
    (void)state;
    const char *const lines[] = {"*3\r\n{now}*2\r\n$5\r\nerror\r\n$21\r\nrow: \x01\x02 unknown state\r\n" GRANTED,
                                 NULL};
    struct claim_request claims[2];
    claim_two(lines, claims);
    assert_int_equal(claims[0].base.result, REQUEST_ANSWERED);
    assert_int_equal(claims[0].answer, CLAIM_ERROR);
    assert_string_equal(claims[0].base.error, "row: ?? unknown state");
    assert_int_equal(claims[1].answer, CLAIM_GRANTED);
    assert_int_equal(claims[1].attempt, 3);
    assert_int_equal(claims[1].commit_by_ms, 90);
    assert_int_equal(claims[1].lease_end_ms, 60);
    assert_false(claims[1].in_doubt);
}

static void an_error_reply_refuses_the_call(void **state)
{
    (void)state;
    const char *const lines[] = {"-OOM command not allowed\r\n", NULL};
    struct claim_request claims[2];
    claim_two(lines, claims);
    assert_int_equal(claims[0].base.result, REQUEST_REFUSED);
    assert_int_equal(claims[1].base.result, REQUEST_REFUSED);
    assert_contains(claims[0].base.error, "OOM");
}

static void a_forgotten_script_is_sent_in_the_same_run(void **state)
{
    (void)state;
    const char *const lines[] = {"-NOSCRIPT No matching script\r\n", "*3\r\n{now}" LATE GRANTED, NULL};
    struct claim_request claims[2];
    claim_two(lines, claims);
    assert_int_equal(claims[0].answer, CLAIM_LATE);
    assert_int_equal(claims[1].answer, CLAIM_GRANTED);
}

static void what_does_not_fit_waits_for_the_next_round(void **state)
{
    (void)state;
    const char *const lines[] = {"*3\r\n{now}*2\r\n$3\r\nnew\r\n$0\r\n\r\n*2\r\n$3\r\nnew\r\n$0\r\n\r\n",
                                 "*2\r\n{now}*2\r\n$3\r\nnew\r\n$0\r\n\r\n", NULL};
    static char content[400 * 1024];
    memset(content, 'x', sizeof content);
    struct fake_server server = {0};
    fake_server_start(&server, lines);
    struct redis_link *link = open_link(&server);
    struct ledger_round *round = round_new(&ledger);
    struct submit_request submits[3];
    struct errbuf err;
    for (int i = 0; i < 3; i++) {
        submits[i] = (struct submit_request){.base = {.channel = "blog/main", .delivery = "blog/main/a"},
                                             .content = content,
                                             .content_len = sizeof content,
                                             .content_hash = "c"};
        round_submit(round, &submits[i]);
    }
    assert_true(round_run(round, link, 2000, &err));
    assert_int_equal(submits[1].base.result, REQUEST_ANSWERED);
    assert_int_equal(submits[2].base.result, REQUEST_PENDING);
    assert_int_equal(round_pending(round), 1);
    assert_true(round_run(round, link, 2000, &err));
    assert_int_equal(submits[2].base.result, REQUEST_ANSWERED);
    round_free(&round);
    link_free(&link);
    fake_server_stop(&server);
}

/* As a loop does: looks again and again until there is news. */
static enum round_news next_news(struct ledger_round *round, struct redis_link *link)
{
    struct errbuf err;
    enum round_news news;
    do {
        struct pollfd fd = {.fd = round_fd(round, link), .events = POLLIN};
        poll(&fd, 1, LIMIT_MS);
        news = round_receive(round, link, &err);
    } while (news == ROUND_NOTHING && round_under_way(round));
    return news;
}

static void a_round_is_answered_while_another_gathers(void **state)
{
    (void)state;
    const char *const lines[] = {OK_1, "*3\r\n{now}" LATE "*1\r\n$8\r\nrerender\r\n", OK_1, NULL};
    struct fake_server server = {0};
    fake_server_start(&server, lines);
    struct redis_link *link = open_link(&server);
    struct ledger_round *round = round_new(&ledger);
    struct claim_request claims[] = {claim_of("blog/main/a"), claim_of("blog/main/b")};
    static struct decide_request first, second;
    struct errbuf err;
    decide_of(&first, "blog/main/c");
    decide_of(&second, "blog/main/d");
    assert_int_equal(round_receive(round, link, &err), ROUND_NOTHING);
    assert_int_equal(round_fd(round, link), -1);
    round_settle(round, &first);
    round_claim(round, &claims[0]);
    round_claim(round, &claims[1]);
    assert_true(round_send(round, link, LIMIT_MS, &err));
    assert_true(round_under_way(round));
    assert_true(round_wake_ms(round, link) >= clock_boottime_ms());
    assert_int_equal(round_pending(round), 0);
    round_settle(round, &second);
    round_forget(round, &claims[1].base);
    memset(&claims[1], 0x5a, sizeof claims[1]); /* it is somebody else's memory now */
    struct claim_request before = claims[1];
    while (next_news(round, link) != ROUND_OVER)
        ;
    assert_false(round_under_way(round));
    assert_int_equal(first.base.result, REQUEST_ANSWERED);
    assert_int_equal(claims[0].base.result, REQUEST_ANSWERED);
    assert_int_equal(claims[0].answer, CLAIM_LATE);
    assert_memory_equal(&claims[1], &before, sizeof before);
    assert_int_equal(second.base.result, REQUEST_PENDING);
    assert_true(round_run(round, link, LIMIT_MS, &err));
    assert_int_equal(second.base.result, REQUEST_ANSWERED);
    round_free(&round);
    link_free(&link);
    fake_server_stop(&server);
}

static void a_forgotten_script_goes_with_its_text(void **state)
{
    (void)state;
    const char *const lines[] = {"-NOSCRIPT No matching script\r\n",
                                 OK_1,
                                 "-NOSCRIPT No matching script\r\n",
                                 OK_1,
                                 "-NOSCRIPT No matching script\r\n",
                                 "-NOSCRIPT No matching script\r\n",
                                 NULL};
    struct fake_server server = {0};
    fake_server_start(&server, lines);
    struct redis_link *link = open_link(&server);
    struct ledger_round *round = round_new(&ledger);
    static struct decide_request request;
    struct errbuf err;
    decide_of(&request, "blog/main/a");
    round_settle(round, &request);
    assert_true(round_send(round, link, LIMIT_MS, &err)); /* a loop: with the next round */
    assert_int_equal(next_news(round, link), ROUND_OVER);
    assert_int_equal(request.base.result, REQUEST_PENDING);
    assert_int_equal(round_pending(round), 1);
    assert_true(round_send(round, link, LIMIT_MS, &err));
    assert_int_equal(next_news(round, link), ROUND_OVER);
    assert_int_equal(request.base.result, REQUEST_ANSWERED);
    round_settle(round, &request);
    assert_true(round_run(round, link, LIMIT_MS, &err)); /* in the same run */
    assert_int_equal(request.base.result, REQUEST_ANSWERED);
    round_settle(round, &request);
    assert_true(round_run(round, link, LIMIT_MS, &err)); /* who forgets it with its text before him refuses it */
    assert_int_equal(request.base.result, REQUEST_REFUSED);
    round_free(&round);
    link_free(&link);
    fake_server_stop(&server);
}

/* A connection that another question found dead: the round under way is lost, and only it. */
static void a_round_is_lost_with_the_connection_it_was_sent_by(void **state)
{
    (void)state;
    const char *const lines[] = {"close", NULL};
    struct fake_server server = {0};
    fake_server_start(&server, lines);
    struct redis_link *link = open_link(&server);
    struct ledger_round *round = round_new(&ledger);
    struct claim_request claim = claim_of("blog/main/a");
    struct errbuf err;
    round_claim(round, &claim);
    assert_true(round_send(round, link, LIMIT_MS, &err));
    link_close(link);
    assert_true(link_open(link, &err));
    assert_int_equal(round_wake_ms(round, link), 0);
    assert_int_equal(round_receive(round, link, &err), ROUND_LOST);
    assert_int_equal(claim.base.result, REQUEST_UNKNOWN);
    assert_false(round_under_way(round));
    assert_true(link_is_open(link));
    round_free(&round);
    link_free(&link);
    fake_server_stop(&server);
}

static void a_stale_row_that_cannot_be_read_is_an_error(void **state)
{
    (void)state;
    const char *const lines[] = {"*2\r\n{now}*3\r\n$5\r\nstale\r\n$5\r\nstate\r\n$4\r\nsent\r\n", NULL};
    struct fake_server server = {0};
    fake_server_start(&server, lines);
    struct redis_link *link = open_link(&server);
    struct ledger_round *round = round_new(&ledger);
    static struct decide_request request;
    decide_of(&request, "blog/main/a");
    struct errbuf err;
    round_settle(round, &request);
    assert_true(round_run(round, link, LIMIT_MS, &err));
    assert_int_equal(request.answer, DECIDE_ERROR);
    assert_contains(request.base.error, "state");
    round_free(&round);
    link_free(&link);
    fake_server_stop(&server);
}

static int set_up(void **state)
{
    (void)state;
    char words[KEYS_ERR_BYTES];
    signal(SIGPIPE, SIG_IGN);
    return names_init(&ledger.names, "lf", 0, words) ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_that_dies_leaves_answered_and_unknown),
        cmocka_unit_test(answers_that_make_no_sense_are_unknown),
        cmocka_unit_test(each_delivery_has_its_own_answer),
        cmocka_unit_test(an_error_reply_refuses_the_call),
        cmocka_unit_test(a_forgotten_script_is_sent_in_the_same_run),
        cmocka_unit_test(what_does_not_fit_waits_for_the_next_round),
        cmocka_unit_test(a_round_is_answered_while_another_gathers),
        cmocka_unit_test(a_forgotten_script_goes_with_its_text),
        cmocka_unit_test(a_round_is_lost_with_the_connection_it_was_sent_by),
        cmocka_unit_test(a_stale_row_that_cannot_be_read_is_an_error),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
