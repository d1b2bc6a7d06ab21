/* SPDX-License-Identifier: MIT */
/*
 * A server on 127.0.0.1 that does on its sockets exactly what a test says, one action after the other, in a thread.
 * When its actions are over it goes on accepting and counting, so that a request nobody expected is seen. Every wait
 * ends after RAW_WAIT_MS.
 */
#ifndef RAW_SERVER_H
#define RAW_SERVER_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RAW_WAIT_MS     5000
#define RAW_CAPTURE_MAX 65536

enum raw_op {
    RAW_ACCEPT,    /* the next connection */
    RAW_READ,      /* one whole request: head, and body by its Content-Length */
    RAW_READ_HEAD, /* only its head */
    RAW_WRITE,     /* text */
    RAW_FILL,      /* n bytes of filling, as fast as they are taken */
    RAW_SLEEP,     /* n ms */
    RAW_CLOSE,     /* FIN */
    RAW_RESET,     /* RST */
    RAW_DEAF,      /* no more connections are accepted: they are refused */
    RAW_SEE_END,   /* reads until the peer closes; was_reset tells how */
    RAW_SIGNAL,    /* sets reached_signal */
    RAW_END,
};

struct raw_action {
    enum raw_op op;
    const char *text;
    int n;
};

/* How a test writes them down. */
/* clang-format off */
#define ACCEPT {RAW_ACCEPT, NULL, 0}
#define READ {RAW_READ, NULL, 0}
#define READ_HEAD {RAW_READ_HEAD, NULL, 0}
#define CLOSE {RAW_CLOSE, NULL, 0}
#define RESET {RAW_RESET, NULL, 0}
#define DEAF {RAW_DEAF, NULL, 0}
#define SEE_END {RAW_SEE_END, NULL, 0}
#define SIGNAL {RAW_SIGNAL, NULL, 0}
#define END {RAW_END, NULL, 0}
#define WRITE(text) {RAW_WRITE, text, 0}
#define FILL(n) {RAW_FILL, NULL, n}
#define SLEEP(ms) {RAW_SLEEP, NULL, ms}
/* clang-format on */

struct raw_server {
    pthread_t thread;
    int listener, connection, port;
    const struct raw_action *actions;
    atomic_bool stop, signalled, was_reset;
    atomic_int requests, connections;
    atomic_size_t drained_bytes; /* by RAW_SEE_END */
    pthread_mutex_t lock;
    char capture[RAW_CAPTURE_MAX]; /* the newest request's head and body */
    size_t capture_len;
};

static inline void raw_sleep_ms(int ms)
{
    poll(NULL, 0, ms);
}

static inline bool raw_readable(struct raw_server *s, int fd)
{
    for (int waited = 0; waited < RAW_WAIT_MS && !s->stop; waited += 10) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, 10) > 0) return true;
    }
    return false;
}

static inline void raw_close(struct raw_server *s, bool reset)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    if (s->connection < 0) return;
    if (reset) setsockopt(s->connection, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close(s->connection);
    s->connection = -1;
}

static inline bool raw_accept(struct raw_server *s)
{
    raw_close(s, false);
    if (s->listener < 0 || !raw_readable(s, s->listener)) return false;
    s->connection = accept(s->listener, NULL, NULL);
    s->connections += s->connection >= 0;
    return s->connection >= 0;
}

static inline bool raw_read_request(struct raw_server *s, bool head_only)
{
    size_t len = 0, want = SIZE_MAX;
    char *buffer = calloc(1, RAW_CAPTURE_MAX);
    while (len < want && len < RAW_CAPTURE_MAX - 1 && s->connection >= 0 && raw_readable(s, s->connection)) {
        ssize_t got = recv(s->connection, buffer + len, head_only && len == 0 ? 4096 : RAW_CAPTURE_MAX - 1 - len, 0);
        if (got <= 0) break;
        len += (size_t)got;
        char *end = strstr(buffer, "\r\n\r\n");
        if (end && want == SIZE_MAX) {
            char *length = strcasestr(buffer, "\r\ncontent-length:");
            want = (size_t)(end + 4 - buffer) + (length && !head_only ? strtoul(length + 17, NULL, 10) : 0);
        }
    }
    bool whole = len >= want;
    if (whole) {
        pthread_mutex_lock(&s->lock);
        memcpy(s->capture, buffer, len + 1);
        s->capture_len = len;
        pthread_mutex_unlock(&s->lock);
        s->requests++;
    }
    free(buffer);
    return whole;
}

static inline void raw_fill(struct raw_server *s, int n)
{
    char block[4096];
    memset(block, 'x', sizeof block);
    while (n > 0 && !s->stop) {
        ssize_t put = send(s->connection, block, n < 4096 ? (size_t)n : sizeof block, MSG_NOSIGNAL);
        if (put <= 0) return;
        n -= (int)put;
    }
}

static inline void raw_see_end(struct raw_server *s)
{
    char block[65536];
    while (raw_readable(s, s->connection)) {
        ssize_t got = recv(s->connection, block, sizeof block, 0);
        if (got <= 0) {
            s->was_reset = got < 0;
            return;
        }
        s->drained_bytes += (size_t)got;
    }
}

static inline void raw_act(struct raw_server *s, const struct raw_action *a)
{
    switch (a->op) {
    case RAW_ACCEPT: raw_accept(s); break;
    case RAW_READ: raw_read_request(s, false); break;
    case RAW_READ_HEAD: raw_read_request(s, true); break;
    case RAW_WRITE: (void)!send(s->connection, a->text, strlen(a->text), MSG_NOSIGNAL); break;
    case RAW_FILL: raw_fill(s, a->n); break;
    case RAW_SLEEP: raw_sleep_ms(a->n); break;
    case RAW_CLOSE: raw_close(s, false); break;
    case RAW_RESET: raw_close(s, true); break;
    case RAW_DEAF:
        close(s->listener);
        s->listener = -1;
        break;
    case RAW_SEE_END: raw_see_end(s); break;
    case RAW_SIGNAL: s->signalled = true; break;
    case RAW_END: break;
    }
}

static inline void *raw_run(void *context)
{
    struct raw_server *s = context;
    for (const struct raw_action *a = s->actions; a->op != RAW_END && !s->stop; a++)
        raw_act(s, a);
    /* A connection that is left open may bring another request. */
    while (!s->stop) {
        if (s->connection >= 0 && raw_read_request(s, false)) continue;
        if (s->listener < 0 || !raw_accept(s)) raw_sleep_ms(5);
    }
    return NULL;
}

static inline struct raw_server *raw_server_start(const struct raw_action *actions)
{
    struct raw_server *s = calloc(1, sizeof *s);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    s->actions = actions;
    s->connection = -1;
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pthread_mutex_init(&s->lock, NULL);
    if (bind(s->listener, (struct sockaddr *)&address, len) || listen(s->listener, 16) ||
        getsockname(s->listener, (struct sockaddr *)&address, &len))
        abort();
    s->port = ntohs(address.sin_port);
    if (pthread_create(&s->thread, NULL, raw_run, s)) abort();
    return s;
}

static inline void raw_server_stop(struct raw_server *s)
{
    s->stop = true;
    pthread_join(s->thread, NULL);
    raw_close(s, true);
    if (s->listener >= 0) close(s->listener);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* A copy of the newest request; the caller frees. */
static inline char *raw_server_capture(struct raw_server *s)
{
    pthread_mutex_lock(&s->lock);
    char *copy = calloc(1, s->capture_len + 1);
    memcpy(copy, s->capture, s->capture_len);
    pthread_mutex_unlock(&s->lock);
    return copy;
}

#endif
