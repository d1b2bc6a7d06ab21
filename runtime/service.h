/* SPDX-License-Identifier: MIT */
/*
 * service: what a process that runs for long has beside its work: signals, a page for monitoring, proof that it moves.
 *
 * The page has /metrics, /live and /ready (metrics_http.h). Where it is: metrics.listen, either an address, "off", or
 * "auto", the default: the first free port of the program's own sixteen on 127.0.0.1. Several processes of a machine
 * therefore need nothing; one that finds no free port says so and works without a page, because publishing must not
 * wait for monitoring. An address that was written down and is taken is an error: somebody relies on it.
 *
 * Live means that the caller's loop has turned lately, whatever Redis does; ready is the caller's word. service_ask()
 * is the other end: it asks the page of a process that runs on this machine, for health checks without a shell.
 */
#ifndef RUNTIME_SERVICE_H
#define RUNTIME_SERVICE_H

#include <stdint.h>

#include "runtime/metrics_http.h"

#define SERVICE_LIVE_MS         15000 /* /live: the loop has turned since */
#define SERVICE_WORKER_PORT     9464  /* "auto": the first of SERVICE_PORTS */
#define SERVICE_RECONCILER_PORT 9480
#define SERVICE_PORTS           16
#define SERVICE_ADDRESS_SIZE    80

/* Which program this is; a literal name and the first of its ports. */
struct service_program {
    const char *name;
    unsigned first_port;
};

struct service {
    const struct service_program *program;
    struct metrics_http *http;          /* NULL: no page */
    char address[SERVICE_ADDRESS_SIZE]; /* of the page; "none" */
    metrics_http_check *ready;
    void *context; /* of ready */
    struct metrics_family *turns;
    int signal_fd;
    int64_t started_wall_ms, last_turn_boot_ms;
    bool stop_at_once; /* told to stop while it was stopping already */
};

/* Blocks the signals and registers landfall_loop_turns_total. program and metrics are borrowed. */
void service_init(struct service *service, const struct service_program *program, struct metrics *metrics);
/* Opens the page, and says where it is. False: an address that cannot be listened at. */
MUSTCHECK bool service_open_page(struct service *service, const char *listen, struct metrics *metrics,
                                 metrics_http_check *ready, void *context, struct errbuf *err);
void service_close(struct service *service);

/* For the loop: the longest wait, and, after the wait, the page's own work and the proof that the loop turns. */
int service_timeout_ms(const struct service *service, int limit_ms);
void service_turned(struct service *service);

/* What the signals since the last call want. stopping: the process is stopping already; TERM then sets stop_at_once. */
struct service_wanted {
    bool stop, reload;
};
struct service_wanted service_wanted(struct service *service, bool stopping);

/* Asks the page of the running program for path ("/live", "/ready"): the first of its possible addresses where one
 * answers. says holds the page's line. */
enum service_answer { SERVICE_FINE, SERVICE_NOT_FINE, SERVICE_NOBODY };
enum service_answer service_ask(const struct service_program *program, const char *listen, const char *path, char *says,
                                size_t says_size);

/* --check=live, --check=ready (word): prints what the page says. The configuration is read for its address only. The
 * exit code: 0 fine; 1 not fine, nobody answers, usage. */
int service_check(const struct service_program *program, const char *config_path, const char *word);

#endif
