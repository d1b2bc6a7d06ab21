/* SPDX-License-Identifier: MIT */
/*
 * sim_platform: the platforms of the world, one for each endpoint, and the requests that they have taken in.
 *
 * A platform commits a write at a moment of its own between the arrival of the request and the last moment that the
 * descriptor's late_commit allows, shows a post after a while, remembers keys as its tier says, and answers. What
 * becomes of the answer is the network's business (sim_transfer.c).
 */
#ifndef SIM_SIM_PLATFORM_H
#define SIM_SIM_PLATFORM_H

#include "tests/sim/sim.h"

#define SIM_PLATFORM_BODY_BYTES 2048

struct http_request;
struct transfer;

/* A request that the platform has, until it has answered; held by it and by the transfer. */
struct sim_request {
    int refs;
    struct transfer *transfer; /* NULL: nobody waits any more */
    char method[16], path[96], query[64], key[160], item[16], item_url[64];
    bool again;    /* a copy that a proxy has made */
    bool is_write; /* makes something */
    char sender[16];
    int64_t commit_us;      /* when it will be executed; SIM_NEVER: it will not */
    uint64_t commit_number; /* of the event that executes it; another number: put off or brought forward */
    int64_t sent_us;
    int64_t last_us; /* the last moment at which it can be executed; 0: not known yet */
    int status;
    int retry_after_s; /* 0: says nothing */
    char answer[SIM_PLATFORM_BODY_BYTES];
    size_t answer_len;
    bool html; /* an answer that is no JSON */
};

/* Takes the text of the request over. */
struct sim_request *sim_request_new(const struct http_request *request, const char *sender);
void sim_request_drop(struct sim_request *request);

/* No search stands between this request and its repeat: two with one key that meet there make two posts, where a key is
 * known only when its request is done; and where nothing can be read, a person's word is enough for another one. */
bool sim_platform_repeats_unread(const struct sim_request *request);
/* The request arrives. */
void sim_platform_arrive(struct sim_request *request);
/* Nobody waits for the answer any more: what is not executed yet is so within late_commit from now, or not at all. */
void sim_platform_given_up(struct sim_request *request);

/* sim_transfer.c: the platform has answered; after the network's delay the transfer hears it. */
void sim_transfer_answered(struct sim_request *request);

#endif
