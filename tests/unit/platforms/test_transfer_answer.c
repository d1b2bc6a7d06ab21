/* SPDX-License-Identifier: MIT */
/*
 * What is believed of an answer: whole ones, cut ones, late ones, endless ones, and what is none.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "transfer_fixture.h"

static void simple_answer(void **state)
{
    (void)state;
    static const struct raw_action actions[] = {ACCEPT, READ, WRITE(OK_ANSWER), END};
    struct raw_server *server = raw_server_start(actions);
    struct transfer_pool *pool = transfer_pool_new(4, NULL);
    struct sent s = sent_to(server->port, "GET", NULL);
    s.options.owner = server;
    sent_watch(&s);
    struct transfer *t = run(pool, &s);
    const struct transfer_facts *f = transfer_facts(t);
    assert_true(f->reached && f->complete && !f->body_cut && !f->timed_out && !f->resend_stopped);
    assert_int_equal(f->status, 200);
    assert_string_equal(f->error, "");
    assert_ptr_equal(transfer_owner(t), server);
    assert_true(s.whole);
    assert_string_equal(json_string_value(json_object_get(transfer_answer(t)->json, "id")), "7");
    assert_string_equal(answer_header(transfer_answer(t), "content-type"), "application/json");
    assert_int_equal(transfer_in_flight(pool), 0);
    transfer_free(&t);
    assert_null(t);
    transfer_pool_free(&pool);
    sent_fini(&s);
    raw_server_stop(server);
}

/* The loop is busy elsewhere while the answer comes in; the limit passes meanwhile. */
static void an_answer_that_has_arrived_is_read(void **state)
{
    (void)state;
    static const struct raw_action actions[] = {
        ACCEPT, READ, SLEEP(50), WRITE("HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n"), FILL(900000), SIGNAL, END};
    struct raw_server *server = raw_server_start(actions);
    struct transfer_pool *pool = transfer_pool_new(4, NULL);
    struct sent s = sent_to(server->port, "POST", "x");
    s.options.limit_ms = 600;
    sent_watch(&s);
    int64_t began_ms = clock_boottime_ms();
    struct transfer *t = sent_start(pool, &s);
    while (!s.whole)
        transfer_wait(pool, NULL, 0, 10);
    while (!server->signalled)
        raw_sleep_ms(5);
    while (clock_boottime_ms() < began_ms + 610)
        raw_sleep_ms(5);
    t = finish_one(pool);
    assert_true(transfer_facts(t)->complete);
    assert_int_equal(transfer_answer(t)->body.len, 900000);
    transfer_free(&t);
    transfer_pool_free(&pool);
    sent_fini(&s);
    raw_server_stop(server);
}

static void redirects_are_not_followed(void **state)
{
    (void)state;
    static const struct raw_action actions[] = {
        ACCEPT, READ, WRITE("HTTP/1.1 307 Go\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n"), END};
    struct raw_server *server = raw_server_start(actions);
    struct sent s = sent_to(server->port, "POST", "x");
    struct transfer_facts f = run_alone(&s);
    assert_true(f.complete);
    assert_int_equal(f.status, 307);
    raw_sleep_ms(30);
    assert_int_equal(server->requests, 1);
    raw_server_stop(server);
}

/* Answers that are no answers, or too much of one. */
static void what_is_not_an_answer(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int fill, status;
        bool body_cut, head_cut;
    } cases[] = {
        {"HTTP/1.1 201 Created\r\nContent-Length: 60\r\n\r\n{\"id\":\"1\",\"text\":\"cut of", 0, 201, false, false},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 0, 200, false, false},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"id\"", 0, 200, false, false},
        {"HTTP/1.1 200 OK\r\nContent-Length: 4000000\r\n\r\n", 4000000, 200, true, false},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3D0900\r\n", 4000000, 200, true, false},
        {"HTTP/1.1 200 OK\r\nX: ", 90000, 200, false, true},
        {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Cut: he", 0, 200, false, false},
        {"HTTP/1.1 200 OK\r\n", 0, 200, false, false},
        {"HTTP/1.1 422 No\r\nContent-Length: 0\r\n", 0, 422, false, false},
        {"HTTP/1.1 200 O", 0, 0, false, false},
        {"\r\n\r\n", 0, 0, false, false},
        {"SSH-2.0-OpenSSH\r\n", 0, 0, false, false},
        {"HTTP/1.1 100 Continue\r\n\r\n", 0, 0, false, false},
        {"", 0, 0, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct raw_action actions[] = {ACCEPT, READ, WRITE(cases[i].text), FILL(cases[i].fill), CLOSE, END};
        struct raw_server *server = raw_server_start(actions);
        struct sent s = sent_to(server->port, "POST", "x");
        s.options.body_max_bytes = 100000;
        struct transfer_facts f = run_alone(&s);
        if (f.complete) print_error("case %zu: status %d\n", i, f.status);
        assert_true(f.reached);
        assert_false(f.complete);
        assert_int_equal(f.body_cut, cases[i].body_cut);
        if (cases[i].head_cut)
            assert_true(f.head_cut || f.error[0]);
        else
            assert_int_equal(f.status, cases[i].status);
        assert_true(f.error[0] != '\0');
        assert_int_equal(server->requests, 1);
        raw_server_stop(server);
    }
}

static void check_head_is_cut(struct buf *own_head)
{
    const struct raw_action actions[] = {ACCEPT, READ, WRITE(buf_text(own_head)), END};
    struct raw_server *server = raw_server_start(actions);
    struct sent s = sent_to(server->port, "POST", "x");
    struct transfer_facts f = run_alone(&s);
    assert_true(f.head_cut);
    assert_false(f.complete);
    assert_int_equal(server->requests, 1);
    buf_fini(own_head);
    raw_server_stop(server);
}

static void a_head_of_many_lines_is_cut(void **state)
{
    (void)state;
    struct buf head;
    buf_init(&head, 16384);
    buf_append_text(&head, "HTTP/1.1 200 OK\r\n");
    for (int i = 0; i < TRANSFER_HEADERS_MAX; i++)
        buf_append_text(&head, "X-Line: some value\r\n");
    buf_append_text(&head, "Content-Length: 0\r\n\r\n");
    check_head_is_cut(&head);
}

static void a_head_with_a_very_long_line_is_cut(void **state)
{
    (void)state;
    struct buf head;
    buf_init(&head, 2 * TRANSFER_HEADERS_MAX_BYTES);
    buf_append_text(&head, "HTTP/1.1 302 Found\r\nLocation: /");
    for (int i = 0; i < TRANSFER_HEADERS_MAX_BYTES / 8; i++)
        buf_append_text(&head, "elsewher");
    buf_append_text(&head, "\r\nContent-Length: 0\r\n\r\n");
    check_head_is_cut(&head);
}

static void interim_answers_are_not_the_answer(void **state)
{
    (void)state;
    static const struct raw_action actions[] = {
        ACCEPT, READ, WRITE("HTTP/1.1 103 Early\r\nX-Early: 1\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"), WRITE(OK_ANSWER),
        END};
    struct raw_server *server = raw_server_start(actions);
    struct transfer_pool *pool = transfer_pool_new(4, NULL);
    struct sent s = sent_to(server->port, "POST", "x");
    struct transfer *t = run(pool, &s);
    assert_true(transfer_facts(t)->complete);
    assert_int_equal(transfer_facts(t)->status, 200);
    assert_null(answer_header(transfer_answer(t), "x-early"));
    transfer_free(&t);
    transfer_pool_free(&pool);
    sent_fini(&s);
    raw_server_stop(server);
}

static void an_early_refusal_is_read(void **state)
{
    (void)state;
    static const char refusal[] = "HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno";
    static const struct raw_action reads_on[] = {ACCEPT, READ_HEAD, WRITE(refusal), SEE_END, END};
    static const struct raw_action closes[] = {ACCEPT, READ_HEAD, WRITE(refusal), SLEEP(50), CLOSE, END};
    static const struct raw_action resets[] = {ACCEPT, READ_HEAD, WRITE(refusal), SLEEP(50), RESET, END};
    const struct raw_action *const cases[] = {reads_on, closes, resets};
    for (size_t i = 0; i < 3; i++) {
        struct raw_server *server = raw_server_start(cases[i]);
        struct sent s = sent_to(server->port, "POST", "");
        free(s.request.body);
        s.request.body_len = 5 << 20;
        s.request.body = xcalloc(1, s.request.body_len + 1);
        struct transfer_facts f = run_alone(&s);
        /* A reset may take the answer away that came before it; then there was none. */
        const bool read = f.complete && f.status == 413;
        assert_true(read || (cases[i] == resets && !f.complete));
        assert_true(f.elapsed_ms < 2000);
        raw_server_stop(server);
    }
}

/* An answer that comes after its transfer was given up belongs to nobody. */
static void a_late_answer_reaches_nobody_else(void **state)
{
    (void)state;
    static const struct raw_action actions[] = {
        ACCEPT, READ, SLEEP(250),       WRITE("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate"),
        ACCEPT, READ, WRITE(OK_ANSWER), END};
    struct raw_server *server = raw_server_start(actions);
    struct transfer_pool *pool = transfer_pool_new(4, NULL);
    struct sent s = sent_to(server->port, "POST", "x");
    s.options.limit_ms = 120;
    struct transfer *t = run(pool, &s);
    assert_true(transfer_facts(t)->timed_out);
    transfer_free(&t);
    s.options.limit_ms = 3000;
    t = run(pool, &s);
    assert_true(transfer_facts(t)->complete);
    assert_string_equal(json_string_value(json_object_get(transfer_answer(t)->json, "id")), "7");
    transfer_free(&t);
    transfer_pool_free(&pool);
    sent_fini(&s);
    raw_server_stop(server);
}

static void other_descriptors_wake_the_wait(void **state)
{
    (void)state;
    struct transfer_pool *pool = transfer_pool_new(1, NULL);
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    struct transfer_fd fds[] = {{.fd = -1}, {.fd = pipes[0]}, {.fd = pipes[1], .want_write = true}};
    int64_t began_ms = clock_boottime_ms();
    transfer_wait(pool, fds, 2, 60);
    assert_false(fds[1].ready);
    assert_true(clock_boottime_ms() - began_ms >= 50);
    transfer_wait(pool, fds, 3, 5000);
    assert_true(fds[2].ready && !fds[1].ready && !fds[0].ready);
    assert_int_equal(write(pipes[1], "x", 1), 1);
    transfer_wait(pool, fds, 2, 5000);
    assert_true(fds[1].ready);
    assert_true(clock_boottime_ms() - began_ms < 2000);
    close(pipes[0]);
    close(pipes[1]);
    transfer_pool_free(&pool);
}

/* A kept connection that the server ends is nobody's news: a wait may end early for it once, and not again. */
static void an_idle_connection_that_ends_is_left_alone(void **state)
{
    (void)state;
    static const struct raw_action actions[] = {ACCEPT, READ, WRITE(OK_ANSWER), SLEEP(20), CLOSE, SIGNAL,
                                                ACCEPT, READ, WRITE(OK_ANSWER), END};
    struct raw_server *server = raw_server_start(actions);
    struct transfer_pool *pool = transfer_pool_new(4, NULL);
    struct sent s = sent_to(server->port, "POST", "x");
    struct transfer *t = run(pool, &s);
    assert_true(transfer_facts(t)->complete);
    transfer_free(&t);
    for (int i = 0; i < 400 && !server->signalled; i++)
        raw_sleep_ms(5);
    int64_t began_ms = clock_boottime_ms();
    for (int i = 0; i < 3; i++)
        transfer_wait(pool, NULL, 0, 40);
    assert_true(clock_boottime_ms() - began_ms >= 75);
    t = run(pool, &s); /* on a new connection, whose socket has the number of the other one */
    assert_true(transfer_facts(t)->complete);
    assert_int_equal(server->connections, 2);
    transfer_free(&t);
    transfer_pool_free(&pool);
    sent_fini(&s);
    raw_server_stop(server);
}

/* What failed before there was a connection leaves nothing that the next transfer could stumble over. */
static void a_name_that_nobody_knows_is_forgotten(void **state)
{
    (void)state;
    static const struct raw_action actions[] = {ACCEPT, READ, WRITE(OK_ANSWER), END};
    struct raw_server *server = raw_server_start(actions);
    struct transfer_pool *pool = transfer_pool_new(4, NULL);
    struct sent unknown = sent_to(server->port, "POST", "x"), s = sent_to(server->port, "POST", "x");
    free(unknown.request.url);
    unknown.request.url = xstrdup("http://no-such-host.invalid/");
    struct transfer *t = run(pool, &unknown);
    assert_false(transfer_facts(t)->reached);
    transfer_free(&t);
    t = run(pool, &s);
    assert_true(transfer_facts(t)->complete);
    transfer_free(&t);
    transfer_pool_free(&pool);
    sent_fini(&unknown);
    sent_fini(&s);
    raw_server_stop(server);
}

/* A byte now and then keeps nobody waiting beyond the limit; what came is kept. */
static void a_drip_ends_at_the_limit(void **state)
{
    (void)state;
    static const struct raw_action actions[] = {
        ACCEPT,    READ,      WRITE("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"),
        SLEEP(50), FILL(1),   SLEEP(50),
        FILL(1),   SLEEP(50), FILL(1),
        SLEEP(50), FILL(1),   SLEEP(50),
        FILL(1),   SEE_END,   END};
    struct raw_server *server = raw_server_start(actions);
    struct transfer_pool *pool = transfer_pool_new(4, NULL);
    struct sent s = sent_to(server->port, "POST", "x");
    s.options.limit_ms = 180;
    struct transfer *t = run(pool, &s);
    const struct transfer_facts *f = transfer_facts(t);
    assert_true(f->reached && f->timed_out && !f->complete);
    assert_int_equal(f->status, 200);
    assert_in_range(f->elapsed_ms, 180, 2000);
    assert_in_range(transfer_answer(t)->body.len, 1, 6);
    transfer_free(&t);
    transfer_pool_free(&pool);
    sent_fini(&s);
    raw_server_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simple_answer),
        cmocka_unit_test(a_drip_ends_at_the_limit),
        cmocka_unit_test(an_answer_that_has_arrived_is_read),
        cmocka_unit_test(redirects_are_not_followed),
        cmocka_unit_test(what_is_not_an_answer),
        cmocka_unit_test(a_head_of_many_lines_is_cut),
        cmocka_unit_test(a_head_with_a_very_long_line_is_cut),
        cmocka_unit_test(interim_answers_are_not_the_answer),
        cmocka_unit_test(an_early_refusal_is_read),
        cmocka_unit_test(a_late_answer_reaches_nobody_else),
        cmocka_unit_test(other_descriptors_wake_the_wait),
        cmocka_unit_test(an_idle_connection_that_ends_is_left_alone),
        cmocka_unit_test(a_name_that_nobody_knows_is_forgotten),
    };
    return cmocka_run_group_tests(tests, without_proxies, NULL);
}
