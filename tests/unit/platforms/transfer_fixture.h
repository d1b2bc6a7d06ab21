/* SPDX-License-Identifier: MIT */
/*
 * For the tests of transfers: requests to a raw server, and pools that are driven until something has ended. Include it
 * behind cmocka.h.
 */
#ifndef TRANSFER_FIXTURE_H
#define TRANSFER_FIXTURE_H

#include <stdio.h>

#include "platforms/answer.h"
#include "platforms/form.h"
#include "platforms/transfer.h"
#include "raw_server.h"
#include "runtime/clock.h"
#include "runtime/die.h"

#define OK_ANSWER "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{\"id\":\"7\"}"

/* The tests talk to this machine, whatever proxy its environment names. */
static inline int without_proxies(void **state)
{
    static const char *const names[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unsetenv(names[i]);
    return 0;
}

struct sent {
    struct http_request request;
    struct transfer_options options;
    bool whole; /* the kernel has all of it; see sent_watch() */
};

/* A request to the server: "POST", path, body or NULL. */
static inline struct sent sent_to(int port, const char *method, const char *body)
{
    static char *no_headers[1];
    struct sent s = {.options = {.limit_ms = 3000}};
    snprintf(s.request.method, sizeof s.request.method, "%s", method);
    s.request.url = xformat("http://127.0.0.1:%d/path", port);
    s.request.headers = no_headers;
    if (body) {
        s.request.has_body = true;
        s.request.body = xstrdup(body);
        s.request.body_len = strlen(body);
    }
    s.options.write = strcmp(method, "GET") != 0;
    return s;
}

static inline void sent_note(void *context, enum transfer_point point)
{
    struct sent *s = context;
    s->whole |= point == TRANSFER_AFTER_LAST_BYTE;
}

/* From now on `whole` says whether the kernel has the request. */
static inline void sent_watch(struct sent *s)
{
    s->options.at_point = sent_note;
    s->options.point_context = s;
}

static inline void sent_fini(struct sent *s)
{
    free(s->request.url);
    free(s->request.body);
}

/* Drives until one transfer has ended. The caller frees it. */
static inline struct transfer *finish_one(struct transfer_pool *pool)
{
    int64_t end_ms = clock_boottime_ms() + 10000;
    struct transfer *t = transfer_next_done(pool);
    while (!t && clock_boottime_ms() < end_ms) {
        transfer_wait(pool, NULL, 0, 100);
        t = transfer_next_done(pool);
    }
    assert_non_null(t);
    return t;
}

/* The request can be sent once more. */
static inline struct transfer *sent_start(struct transfer_pool *pool, const struct sent *s)
{
    struct http_request copy = s->request;
    copy.url = xstrdup(s->request.url);
    copy.headers = xcalloc(s->request.header_count, sizeof *copy.headers);
    for (size_t i = 0; i < s->request.header_count; i++)
        copy.headers[i] = xstrdup(s->request.headers[i]);
    if (s->request.body) {
        copy.body = xmalloc(s->request.body_len + 1);
        memcpy(copy.body, s->request.body, s->request.body_len + 1);
    }
    struct transfer *t = transfer_start(pool, &copy, &s->options);
    assert_true(!copy.url && !copy.headers && !copy.body);
    return t;
}

static inline struct transfer *run(struct transfer_pool *pool, struct sent *s)
{
    struct transfer *started = sent_start(pool, s);
    struct transfer *t = finish_one(pool);
    assert_ptr_equal(started, t);
    return t;
}

/* One request on a new pool; facts are copied, the rest is freed. */
static inline struct transfer_facts run_alone(struct sent *s)
{
    struct transfer_pool *pool = transfer_pool_new(4, NULL);
    struct transfer *t = run(pool, s);
    struct transfer_facts facts = *transfer_facts(t);
    transfer_free(&t);
    transfer_pool_free(&pool);
    sent_fini(s);
    return facts;
}

#endif
