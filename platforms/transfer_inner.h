/* SPDX-License-Identifier: MIT */
/*
 * What the files of transfer.h share, and nobody else includes; they are the files that know curl. A transfer is an
 * easy handle in the pool's multi handle: transfer.c starts and ends it, transfer_setup.c tells libcurl what to do and
 * answers what it asks meanwhile, transfer_drive.c waits and has libcurl go on with those that have something to do.
 */
#ifndef LANDFALL_PLATFORMS_TRANSFER_INNER_H
#define LANDFALL_PLATFORMS_TRANSFER_INNER_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "platforms/answer.h"
#include "platforms/form.h"
#include "platforms/transfer.h"

TAILQ_HEAD(transfer_list, transfer);

struct transfer {
    struct transfer_pool *pool;
    struct transfer_list *list; /* of the pool, that it is in */
    TAILQ_ENTRY(transfer) link; /* in that */
    CURL *easy;                 /* NULL once ended */
    int fd;                     /* the newest socket that it waits for; -1: none */
    CURLcode setup;             /* first error of the options */
    struct http_request request;
    struct curl_slist *headers; /* links to those of the request; an array */
    size_t body_len;            /* that is sent */
    size_t body_read;           /* bytes libcurl has fetched */
    bool together;              /* libcurl has the whole body from the start, and does not ask for it */
    struct transfer_options options;
    int64_t started_boot_ms;
    size_t head_lines;
    size_t head_bytes;
    size_t received_bytes;
    bool head_over;     /* of the final answer: its empty line was read */
    char *foreign_host; /* data named the address: only what is public or allowed is connected to; NULL: no such rule */
    bool ended;
    struct transfer_facts facts;
    struct answer answer;
    char curl_error[CURL_ERROR_SIZE];
};

/* Handles that are kept for later transfers: six kilobytes each. */
#define IDLE_HANDLES_MAX 256

/* What is known of a descriptor of libcurl's. */
struct transfer_socket {
    uint32_t wanted; /* EPOLLIN, EPOLLOUT: what libcurl waits for */
    uint32_t armed;  /* what epoll was told to report */
    bool own;        /* opened by us, and closed by us: nothing happens to it that we do not see */
};

struct transfer_pool {
    CURLM *multi;
    int max;
    const struct address_list *allowed; /* borrowed; NULL: none */
    const struct address_list *only;    /* borrowed; NULL: every host */
    bool proxies;                       /* the environment may name one */
    int in_flight;
    struct transfer_list unsent;
    struct transfer_list sent;    /* the kernel has the whole request */
    struct transfer_list expired; /* past their limit; empty between two turns */
    struct transfer_list done;
    int64_t first_limit_boot_ms; /* what is unsent or sent has its limit then, or later */
    int64_t timer_boot_ms;       /* libcurl wants to be called then; INT64_MAX: it does not */
    int epoll_fd;
    struct transfer_socket *sockets; /* by descriptor */
    size_t socket_count;
    CURL *idle[IDLE_HANDLES_MAX];
    size_t idle_count;
    struct pollfd *wait_fds;
    size_t wait_fds_size;
};

/* ---- transfer.c ---- */
void transfer_move(struct transfer *t, struct transfer_list *list);
/* The transfer ends here, whatever became of it, and moves to pool->done. */
void transfer_finish(struct transfer *t, CURLcode code);

/* ---- transfer_setup.c ---- */
/* Keeps the first text about what went wrong. */
void transfer_note(struct transfer *t, const char *text);
/* Asks libcurl whether the kernel has the whole request now. */
void transfer_look_for_last_byte(struct transfer *t);
/* Tells libcurl all about t->request. What does not work stands in t->setup, and is noted where libcurl has no words.
 */
void transfer_setup(struct transfer *t);

/* ---- transfer_drive.c ---- */
void transfer_drive_open(struct transfer_pool *pool);
/* After the multi handle has gone: it closes its connections with what stands here. */
void transfer_drive_close(struct transfer_pool *pool);
/* A socket of a connection, when it is made and before it is closed. */
void transfer_socket_opened(struct transfer_pool *pool, int fd);
void transfer_socket_closing(struct transfer_pool *pool, int fd);

#endif
