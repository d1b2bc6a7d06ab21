/* SPDX-License-Identifier: MIT */
/*
 * metrics_http: /metrics, /live and /ready over HTTP, without a thread.
 *
 * The caller's loop drives it: it waits for metrics_http_fd() for at most metrics_http_timeout_ms() and calls
 * metrics_http_run() every round, ready or not; without that a connection that sends half a request would never be
 * closed (seen with libmicrohttpd 0.9.75). GET and HEAD only; 16 connections; 5 s without progress close one. It serves
 * what the process knows and changes nothing.
 */
#ifndef RUNTIME_METRICS_HTTP_H
#define RUNTIME_METRICS_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include "runtime/errbuf.h"
#include "runtime/metrics.h"

#define METRICS_HTTP_CONNECTIONS_MAX 16
#define METRICS_HTTP_TIMEOUT_S       5

/* True = fine. why holds one line either way, or stays empty; it is served, so nothing confidential. */
typedef bool metrics_http_check(void *context, char *why, size_t why_size);

struct metrics_http_options {
    const char *program;           /* stands in front of what /live and /ready say; NULL: nothing does */
    const char *listen;            /* "127.0.0.1:9464", "[::1]:9464", "0.0.0.0:9464"; port 0 takes a free one */
    struct metrics *metrics;       /* borrowed until metrics_http_close */
    metrics_http_check *live;      /* NULL: always */
    metrics_http_check *ready;     /* NULL: always */
    void *context;                 /* for both */
    unsigned connection_timeout_s; /* 0: METRICS_HTTP_TIMEOUT_S */
};

struct metrics_http;

MUSTCHECK bool metrics_http_open(const struct metrics_http_options *options, struct metrics_http **server,
                                 struct errbuf *err);
void metrics_http_close(struct metrics_http **server);

/* For the loop. With a NULL server: -1, the given limit, nothing. */
int metrics_http_fd(const struct metrics_http *server);
int metrics_http_timeout_ms(const struct metrics_http *server, int limit_ms);
void metrics_http_run(struct metrics_http *server);

/* The address of metrics.listen; *address is freed with freeaddrinfo(). */
struct addrinfo;
MUSTCHECK bool metrics_http_resolve(const char *listen, struct addrinfo **address, struct errbuf *err);

/* The port it listens on. */
unsigned metrics_http_port(const struct metrics_http *server);

#endif
