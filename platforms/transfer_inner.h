/* SPDX-License-Identifier: MIT */
/*
 * What transfer.c and transfer_setup.c share, and nobody else includes. A transfer is an easy handle in the pool's
 * multi handle: transfer_setup.c tells libcurl what to do and answers what it asks meanwhile, transfer.c starts, drives
 * and ends. Both are the files that know curl.
 */
#ifndef LANDFALL_PLATFORMS_TRANSFER_INNER_H
#define LANDFALL_PLATFORMS_TRANSFER_INNER_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "platforms/answer.h"
#include "platforms/transfer.h"

struct transfer {
    struct transfer_pool *pool;
    TAILQ_ENTRY(transfer) link; /* in pool->active or pool->done */
    CURL *easy;                 /* NULL once ended */
    CURLcode setup;             /* first error of the options */
    struct curl_slist *headers;
    char *body; /* of the request */
    size_t body_len;
    size_t body_read; /* bytes libcurl has fetched */
    bool together;    /* libcurl has the whole body from the start, and does not ask for it */
    struct transfer_options options;
    int64_t started_boot_ms;
    size_t head_lines;
    size_t head_bytes;
    size_t received_bytes;
    bool head_over;     /* of the final answer: its empty line was read */
    bool expired;       /* past the limit: receive only */
    bool sent_all;      /* the kernel has it */
    char *foreign_host; /* data named the address: only what is public or allowed is connected to; NULL: no such rule */
    bool ended;
    struct transfer_facts facts;
    struct answer answer;
    char curl_error[CURL_ERROR_SIZE];
};

/* Handles that are kept for later transfers: six kilobytes each. */
#define IDLE_HANDLES_MAX 256

TAILQ_HEAD(transfer_list, transfer);

struct transfer_pool {
    CURLM *multi;
    int max;
    const struct address_list *allowed; /* borrowed; NULL: none */
    const struct address_list *only;    /* borrowed; NULL: every host */
    int in_flight;
    struct transfer_list active, done;
    bool any_new; /* transfers that were not driven yet */
    CURL *idle[IDLE_HANDLES_MAX];
    size_t idle_count;
    struct curl_waitfd *wait_fds;
    size_t wait_fds_size;
};

/* Keeps the first text about what went wrong. */
void transfer_note(struct transfer *t, const char *text);
/* Asks libcurl whether the kernel has the whole request now. */
void transfer_look_for_last_byte(struct transfer *t);
/* Tells libcurl all about the request. What does not work stands in t->setup, and is noted where libcurl has no words.
 */
void transfer_setup(struct transfer *t, const struct http_request *request);

#endif
