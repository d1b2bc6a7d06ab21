/* SPDX-License-Identifier: MIT */
/*
 * What leaves and how often, when it ends, and when it is certain that nothing left; against a server that does on its
 * socket what the test says. These are the measurements behind platforms/transfer.h; a new libcurl has to pass them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <netdb.h>

#include "transfer_fixture.h"

/* The name that takes its time; everything else is resolved as usual. */
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **out)
{
    static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    if (name && strcmp(name, "slow.test") == 0) {
        raw_sleep_ms(1500);
        return EAI_AGAIN;
    }
    return real(name, service, hints, out);
}

static void what_is_sent(void **state)
{
    (void)state;
    static const struct raw_action actions[] = {ACCEPT, READ, WRITE(OK_ANSWER), END};
    static char one[] = "X-One: 1", empty[] = "X-Empty:", type[] = "Content-Type: text/x-test";
    char *headers[] = {one, empty, type};
    struct raw_server *server = raw_server_start(actions);
    struct sent s = sent_to(server->port, "PUT", "the body");
    s.request.headers = headers;
    s.request.header_count = 3;
    struct transfer_facts f = run_alone(&s);
    assert_true(f.complete);
    char *seen = raw_server_capture(server);
    assert_memory_equal(seen, "PUT /path HTTP/1.1\r\n", 20);
    assert_non_null(strstr(seen, "\r\nX-One: 1\r\n"));
    assert_non_null(strstr(seen, "\r\nX-Empty:\r\n"));
    assert_non_null(strstr(seen, "\r\nContent-Type: text/x-test\r\n"));
    assert_non_null(strstr(seen, "\r\nContent-Length: 8\r\n"));
    assert_non_null(strstr(seen, "\r\nUser-Agent: landfall/"));
    assert_non_null(strstr(seen, "\r\n\r\nthe body"));
    assert_null(strcasestr(seen, "expect:"));
    assert_null(strcasestr(seen, "accept-encoding:"));
    free(seen);
    raw_server_stop(server);
}

static void empty_post_has_a_length_and_no_type(void **state)
{
    (void)state;
    static const struct raw_action actions[] = {ACCEPT, READ, WRITE(OK_ANSWER), END};
    struct raw_server *server = raw_server_start(actions);
    struct sent s = sent_to(server->port, "POST", NULL);
    assert_true(run_alone(&s).complete);
    char *seen = raw_server_capture(server);
    assert_non_null(strstr(seen, "\r\nContent-Length: 0\r\n"));
    assert_null(strcasestr(seen, "content-type:"));
    free(seen);
    raw_server_stop(server);
}

static void large_body_without_a_pause(void **state)
{
    (void)state;
    static const struct raw_action actions[] = {ACCEPT, READ_HEAD, SLEEP(30), WRITE(OK_ANSWER), SEE_END, END};
    struct raw_server *server = raw_server_start(actions);
    struct sent s = sent_to(server->port, "POST", "");
    free(s.request.body);
    s.request.body_len = 1024 * 1024 + 10;
    s.request.body = xcalloc(1, s.request.body_len + 1);
    struct transfer_facts f = run_alone(&s);
    assert_int_equal(f.status, 200);
    assert_true(f.elapsed_ms < 950); /* libcurl's pause would be a second */
    char *seen = raw_server_capture(server);
    assert_null(strcasestr(seen, "expect:"));
    free(seen);
    raw_server_stop(server);
}

static void nothing_listens(void **state)
{
    (void)state;
    static const struct raw_action actions[] = {DEAF, SIGNAL, END};
    struct raw_server *server = raw_server_start(actions);
    while (!server->signalled)
        raw_sleep_ms(2);
    struct sent s = sent_to(server->port, "POST", "x");
    struct transfer_facts f = run_alone(&s);
    assert_false(f.reached);
    assert_false(f.complete);
    assert_int_equal(f.status, 0);
    assert_true(f.error[0] != '\0');
    raw_server_stop(server);
}

/* A connection is used once, the second request on it is read and then the connection ends without an answer. What
 * comes then would be answered with a 200. */
static const struct raw_action dies_by_fin[] = {ACCEPT, READ, WRITE(OK_ANSWER), READ, CLOSE,
                                                ACCEPT, READ, WRITE(OK_ANSWER), END};
static const struct raw_action dies_by_rst[] = {ACCEPT, READ, WRITE(OK_ANSWER), READ, RESET,
                                                ACCEPT, READ, WRITE(OK_ANSWER), END};
static const struct raw_action dies_for_good[] = {ACCEPT, READ, WRITE(OK_ANSWER), READ, DEAF, CLOSE, END};

/* The second request's facts; *requests is what the server counted. */
static struct transfer_facts run_on_dying(const struct raw_action *actions, const char *method, const char *body,
                                          bool fresh, int *requests)
{
    struct raw_server *server = raw_server_start(actions);
    struct transfer_pool *pool = transfer_pool_new(4, NULL);
    struct sent first = sent_to(server->port, "GET", NULL);
    struct transfer *t = run(pool, &first);
    assert_true(transfer_facts(t)->complete);
    transfer_free(&t);
    struct sent second = sent_to(server->port, method, body);
    second.options.fresh_connection = fresh;
    t = run(pool, &second);
    struct transfer_facts facts = *transfer_facts(t);
    transfer_free(&t);
    raw_sleep_ms(30);
    *requests = server->requests;
    transfer_pool_free(&pool);
    sent_fini(&first);
    sent_fini(&second);
    raw_server_stop(server);
    return facts;
}

static void a_write_leaves_once(void **state)
{
    (void)state;
    static const struct {
        const char *method, *body;
    } cases[] = {{"POST", "some body"}, {"POST", ""},   {"POST", NULL},   {"PUT", "some body"},
                 {"PUT", NULL},         {"PATCH", "x"}, {"DELETE", NULL}, {"DELETE", "x"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int reset = 0; reset < 2; reset++) {
            int requests;
            struct transfer_facts f =
                run_on_dying(reset ? dies_by_rst : dies_by_fin, cases[i].method, cases[i].body, false, &requests);
            assert_int_equal(requests, 2);
            assert_true(f.reached);
            assert_true(f.resend_stopped);
            assert_false(f.complete);
            assert_int_equal(f.status, 0);
        }
    }
}

static void a_read_may_leave_again(void **state)
{
    (void)state;
    int requests;
    struct transfer_facts f = run_on_dying(dies_by_fin, "GET", NULL, false, &requests);
    assert_int_equal(requests, 3);
    assert_true(f.reached && f.complete && !f.resend_stopped);
}

static void committed_then_refused_is_not_unsent(void **state)
{
    (void)state;
    int requests;
    struct transfer_facts f = run_on_dying(dies_for_good, "POST", "some body", false, &requests);
    assert_int_equal(requests, 2);
    assert_true(f.reached); /* although libcurl's last word is that it could not connect */
    assert_false(f.complete);
    assert_int_equal(f.status, 0);
}

static void a_fresh_connection_is_not_shared(void **state)
{
    (void)state;
    static const struct raw_action actions[] = {ACCEPT, READ, WRITE(OK_ANSWER), ACCEPT, READ, CLOSE, END};
    int requests;
    struct transfer_facts f = run_on_dying(actions, "POST", "some body", true, &requests);
    assert_int_equal(requests, 2);
    assert_true(f.reached && !f.complete && !f.resend_stopped);
}

static void too_late_to_send(void **state)
{
    (void)state;
    static const struct raw_action actions[] = {END};
    struct raw_server *server = raw_server_start(actions);
    struct sent s = sent_to(server->port, "POST", "x");
    s.options.deadline_boot_ms = clock_boottime_ms();
    struct transfer_facts f = run_alone(&s);
    assert_false(f.reached);
    assert_true(f.timed_out);
    raw_sleep_ms(30);
    assert_int_equal(server->requests, 0);
    raw_server_stop(server);
}

static void no_answer_ends_at_the_limit(void **state)
{
    (void)state;
    static const struct raw_action actions[] = {ACCEPT, READ, SEE_END, SIGNAL, END};
    struct raw_server *server = raw_server_start(actions);
    struct sent s = sent_to(server->port, "POST", "x");
    s.options.limit_ms = 150;
    struct transfer_facts f = run_alone(&s);
    assert_true(f.reached && f.timed_out && !f.complete);
    assert_in_range(f.elapsed_ms, 150, 2000);
    for (int i = 0; i < 200 && !server->signalled; i++)
        raw_sleep_ms(5);
    assert_true(server->was_reset);
    raw_server_stop(server);
}

/* The peer takes nothing at first. It begins to read while the loop is busy elsewhere, until after the limit: what has
 * not left by then never leaves. */
static void nothing_is_sent_after_the_limit(void **state)
{
    (void)state;
    static const struct raw_action actions[] = {ACCEPT, READ_HEAD, SLEEP(100), SEE_END, SIGNAL, END};
    struct raw_server *server = raw_server_start(actions);
    struct transfer_pool *pool = transfer_pool_new(4, NULL);
    struct sent s = sent_to(server->port, "POST", "");
    free(s.request.body);
    s.request.body_len = 32 << 20;
    s.request.body = xcalloc(1, s.request.body_len + 1);
    s.options.limit_ms = 800; /* far more than the rounds below take, on a busy machine as well */
    sent_watch(&s);
    struct transfer *t = sent_start(pool, &s);
    for (int i = 0; i < 8; i++)
        transfer_wait(pool, NULL, 0, 10);
    assert_false(s.whole);
    raw_sleep_ms(820);
    size_t left_bytes = server->drained_bytes;
    t = finish_one(pool);
    const struct transfer_facts *f = transfer_facts(t);
    assert_true(f->reached && f->timed_out && !f->complete);
    assert_in_range(f->elapsed_ms, 800, 5000);
    assert_false(s.whole);
    for (int i = 0; i < 400 && !server->signalled; i++)
        raw_sleep_ms(5);
    assert_true(server->was_reset);
    assert_true(left_bytes > 0);
    assert_int_equal(server->drained_bytes, left_bytes);
    transfer_free(&t);
    transfer_pool_free(&pool);
    sent_fini(&s);
    raw_server_stop(server);
}

static void the_limit_covers_the_connection(void **state)
{
    (void)state;
    /* A listener whose queue is full lets a connection hang. */
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), fillers[4];
    assert_int_equal(bind(listener, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(listener, 0), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len), 0);
    for (int i = 0; i < 4; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)!connect(fillers[i], (struct sockaddr *)&address, len);
    }
    struct sent s = sent_to(ntohs(address.sin_port), "POST", "x");
    s.options.limit_ms = 150;
    struct transfer_facts f = run_alone(&s);
    assert_false(f.reached);
    assert_true(f.timed_out);
    assert_in_range(f.elapsed_ms, 150, 2000);
    for (int i = 0; i < 4; i++)
        close(fillers[i]);
    close(listener);
}

static void a_slow_name_holds_up_nobody(void **state)
{
    (void)state;
    static const struct raw_action actions[] = {ACCEPT, READ, SLEEP(50), WRITE(OK_ANSWER), END};
    struct raw_server *server = raw_server_start(actions);
    struct transfer_pool *pool = transfer_pool_new(4, NULL);
    struct sent slow = sent_to(server->port, "POST", "x"), good = sent_to(server->port, "POST", "x");
    free(slow.request.url);
    slow.request.url = xstrdup("http://slow.test/");
    slow.options.limit_ms = 200;
    int64_t began_ms = clock_boottime_ms();
    struct transfer *slow_one = sent_start(pool, &slow);
    struct transfer *good_one = sent_start(pool, &good);
    struct transfer *t = finish_one(pool);
    assert_ptr_equal(t, good_one);
    assert_true(transfer_facts(t)->complete);
    transfer_free(&t);
    t = finish_one(pool);
    assert_ptr_equal(t, slow_one);
    assert_false(transfer_facts(t)->reached);
    assert_true(transfer_facts(t)->timed_out);
    transfer_free(&t);
    transfer_pool_free(&pool);
    assert_true(clock_boottime_ms() - began_ms < 1300); /* it takes 1500 */
    sent_fini(&slow);
    sent_fini(&good);
    raw_server_stop(server);
    raw_sleep_ms(1500); /* the resolver's thread ends by itself; leak checkers look after that */
}

struct points {
    struct transfer_pool *pool;
    struct raw_server *server;
    int first, last;
    bool order_wrong;
};

static void on_point(void *context, enum transfer_point point)
{
    struct points *p = context;
    if (point == TRANSFER_BEFORE_FIRST_BYTE) {
        p->first++;
        for (int i = 0; i < 200 && p->server->connections == 0; i++)
            raw_sleep_ms(5);
        raw_sleep_ms(20);
        p->order_wrong = p->order_wrong || p->server->requests != 0 || p->server->connections != 1;
    } else {
        p->last++;
        for (int i = 0; i < 200 && p->server->requests == 0; i++)
            raw_sleep_ms(5);
        p->order_wrong = p->order_wrong || p->server->requests != 1 || p->first != 1;
    }
}

/* At the first point the server has the connection and no byte, at the second the whole request; with an answer that
 * comes at once the second point is still passed. */
static void points_of_a_send(void **state)
{
    (void)state;
    static const struct raw_action actions[] = {ACCEPT, READ, WRITE(OK_ANSWER), END};
    static const struct {
        const char *method, *body;
    } cases[] = {{"POST", "some body"}, {"POST", NULL}, {"DELETE", NULL}, {"GET", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct raw_server *server = raw_server_start(actions);
        struct points points = {.server = server};
        struct sent s = sent_to(server->port, cases[i].method, cases[i].body);
        s.options.at_point = on_point;
        s.options.point_context = &points;
        assert_true(run_alone(&s).complete);
        assert_int_equal(points.first, 1);
        assert_int_equal(points.last, 1);
        assert_false(points.order_wrong);
        raw_server_stop(server);
    }
}

static void what_cannot_be_started_was_not_sent(void **state)
{
    (void)state;
    static const char *const urls[] = {
        "ftp://127.0.0.1/x", "http://user:secret@127.0.0.1/", "no url", "", "http://127.0.0.1:99999/",
        "file:///etc/passwd"};
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        struct sent s = sent_to(1, "POST", "x");
        free(s.request.url);
        s.request.url = xstrdup(urls[i]);
        struct transfer_facts f = run_alone(&s);
        assert_false(f.reached);
        assert_true(f.error[0] != '\0');
        assert_null(strstr(f.error, "secret"));
    }
    static char header[] = "X: 1\r\nY: 2";
    char *headers[] = {header};
    struct sent s = sent_to(1, "POST", "x");
    s.request.headers = headers;
    s.request.header_count = 1;
    assert_false(run_alone(&s).reached);
}

static void more_than_the_pool_takes(void **state)
{
    (void)state;
    static const struct raw_action actions[] = {END};
    struct raw_server *server = raw_server_start(actions);
    struct transfer_pool *pool = transfer_pool_new(1, NULL);
    struct sent s = sent_to(server->port, "POST", "x");
    struct transfer *one = sent_start(pool, &s);
    struct transfer *two = sent_start(pool, &s);
    assert_int_equal(transfer_in_flight(pool), 1);
    struct transfer *t = transfer_next_done(pool);
    assert_ptr_equal(t, two);
    assert_false(transfer_facts(t)->reached);
    transfer_free(&t);
    transfer_abort(one);
    t = transfer_next_done(pool);
    assert_ptr_equal(t, one);
    assert_false(transfer_facts(t)->complete);
    transfer_free(&t);
    sent_start(pool, &s);
    transfer_wait(pool, NULL, 0, 10);
    transfer_pool_free(&pool); /* with one in flight */
    sent_fini(&s);
    raw_server_stop(server);
}

/* The peer takes the connection and is not what the certificate must prove: no byte of the request leaves. */
static void a_failed_handshake_is_not_sent(void **state)
{
    (void)state;
    static const struct raw_action actions[] = {ACCEPT, SLEEP(20), WRITE("HTTP/1.1 200 OK\r\n\r\n"), CLOSE, END};
    struct raw_server *server = raw_server_start(actions);
    struct sent s = sent_to(server->port, "POST", "x");
    free(s.request.url);
    s.request.url = xformat("https://127.0.0.1:%d/", server->port);
    struct transfer_facts f = run_alone(&s);
    assert_false(f.reached);
    assert_false(f.complete);
    assert_int_equal(f.status, 0);
    raw_server_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_sent),
        cmocka_unit_test(empty_post_has_a_length_and_no_type),
        cmocka_unit_test(large_body_without_a_pause),
        cmocka_unit_test(nothing_listens),
        cmocka_unit_test(a_failed_handshake_is_not_sent),
        cmocka_unit_test(a_write_leaves_once),
        cmocka_unit_test(a_read_may_leave_again),
        cmocka_unit_test(committed_then_refused_is_not_unsent),
        cmocka_unit_test(a_fresh_connection_is_not_shared),
        cmocka_unit_test(too_late_to_send),
        cmocka_unit_test(no_answer_ends_at_the_limit),
        cmocka_unit_test(nothing_is_sent_after_the_limit),
        cmocka_unit_test(the_limit_covers_the_connection),
        cmocka_unit_test(a_slow_name_holds_up_nobody),
        cmocka_unit_test(points_of_a_send),
        cmocka_unit_test(what_cannot_be_started_was_not_sent),
        cmocka_unit_test(more_than_the_pool_takes),
    };
    return cmocka_run_group_tests(tests, without_proxies, NULL);
}
