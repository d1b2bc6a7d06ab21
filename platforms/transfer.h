/* SPDX-License-Identifier: MIT */
/*
 * transfer: many HTTP requests in flight, one loop, no thread.
 *
 * A transfer is one request and what came of it. It never repeats a write: libcurl sends a request a second time by
 * itself when a reused connection dies before the first byte of the answer (seen with 7.88.1, for POST too), and the
 * pre-request callback stops it there. It follows no redirect, keeps no cookie, reads no .netrc, decodes no compressed
 * answer, checks TLS certificates always, and never runs libcurl's verbose mode.
 *
 * Time limits are landfall's own, on CLOCK_BOOTTIME. libcurl's own limit ends a transfer without reading its socket, so
 * that an answer that lies there is lost (seen with 7.88.1); it stands an hour after ours, as a backstop: a process
 * that was stopped for minutes still reads what came. At our limit a transfer is driven once more: what has arrived is
 * read, nothing is sent any more.
 *
 * A request that says that data named its address (http_request.foreign) connects to public addresses only, and to what
 * the pool was told to allow: checked for the address that the socket is opened for, whatever the name meant before.
 *
 * transfer_start() takes what the request holds; it is wiped when the transfer ends. The pool owns
 * a transfer until transfer_next_done() gives it to the caller, who ends it with transfer_free(). The environment's
 * proxy settings hold, as for every program that uses libcurl; what is found is logged once, without its value.
 */
#ifndef LANDFALL_PLATFORMS_TRANSFER_H
#define LANDFALL_PLATFORMS_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_request; /* platforms/form.h */
struct answer;       /* platforms/answer.h */
struct address_list; /* runtime/address.h */
struct transfer;
struct transfer_pool;

#define TRANSFER_ERROR_BYTES       256
#define TRANSFER_BODY_MAX_BYTES    (1024 * 1024) /* of an answer, where the options name no other bound */
#define TRANSFER_HEADERS_MAX       300           /* lines of an answer's head */
#define TRANSFER_HEADERS_MAX_BYTES (64 * 1024)

/* Moments of a send that tests stop a process at. */
enum transfer_point {
    TRANSFER_BEFORE_FIRST_BYTE, /* connected, nothing of the request has been written */
    TRANSFER_AFTER_LAST_BYTE,   /* the kernel has the whole request, nothing of the answer has been looked at */
};

struct transfer_options {
    int64_t limit_ms;         /* from the start to the end of the answer; > 0 */
    int64_t deadline_boot_ms; /* CLOCK_BOOTTIME: the request is not sent at or after this moment; 0: no such moment */
    bool write;               /* can create something: never sent twice */
    bool fresh_connection;    /* neither takes a connection from the pool nor leaves one there */
    size_t body_max_bytes;    /* of the answer; 0: TRANSFER_BODY_MAX_BYTES */
    void *owner;              /* the caller's, given back by transfer_owner() */
    void (*at_point)(void *context, enum transfer_point point); /* NULL: none */
    void *point_context;
};

/* What is known about a transfer that has ended. */
struct transfer_facts {
    bool reached;        /* the pre-request callback ran and allowed the send: bytes may have left. Nothing else proves
                            that nothing left, no result code does */
    bool resend_stopped; /* libcurl wanted to send it a second time */
    bool forbidden;      /* not sent: data named the address, and it is neither public nor allowed */
    bool timed_out;      /* our limit, or the deadline before the send */
    bool complete;       /* an answer was read to its end, by the rules of HTTP */
    bool body_cut;       /* its body was longer than we keep; then complete is false */
    bool head_cut;       /* its head was longer than we take; then complete is false */
    int status;          /* of the last final status line; 0: none was read */
    int64_t elapsed_ms;
    char error[TRANSFER_ERROR_BYTES]; /* what went wrong, "" if nothing did; no URL, no secret */
};

/* max: transfers in flight at once. A transfer started beyond it ends as one that was not sent. allowed: what requests
 * may reach whose address comes from data, besides what is public; borrowed, NULL: nothing. */
struct transfer_pool *transfer_pool_new(int max, const struct address_list *allowed);
/* From now on requests go to these hosts only; to any other one nothing is sent. Borrowed; an empty list: to all. */
void transfer_pool_only(struct transfer_pool *pool, const struct address_list *hosts);
/* Ends what is in flight (resets its connections) and frees what is done and not fetched. */
void transfer_pool_free(struct transfer_pool **pool);

/* Starts a transfer and never fails: what cannot be started ends at once and was not sent. The request is empty then,
 * as after http_request_fini(). */
struct transfer *transfer_start(struct transfer_pool *pool, struct http_request *request,
                                const struct transfer_options *options);

/* A descriptor to wait for beside the sockets of the transfers. */
struct transfer_fd {
    int fd; /* -1 is skipped */
    bool want_write;
    bool ready; /* set by transfer_wait(): readable (or writable), closed, or in error */
};

/* Drives the transfers, waits for something to happen or for timeout_ms (>= 0), and drives them again. Does not wait
 * while an ended transfer has not been fetched. May return early. */
void transfer_wait(struct transfer_pool *pool, struct transfer_fd *fds, size_t fd_count, int timeout_ms);

/* The next transfer that has ended, oldest first, or NULL. It is the caller's. */
struct transfer *transfer_next_done(struct transfer_pool *pool);

/* Gives up a transfer in flight: its connection is reset. It then comes out of transfer_next_done(). */
void transfer_abort(struct transfer *transfer);

/* Started and not yet ended. */
int transfer_in_flight(const struct transfer_pool *pool);

void *transfer_owner(const struct transfer *transfer);
/* Of an ended transfer. Borrowed until transfer_free(). */
const struct transfer_facts *transfer_facts(const struct transfer *transfer);
/* What was read of the answer, however little; never NULL for an ended transfer. Borrowed until transfer_free(). */
const struct answer *transfer_answer(const struct transfer *transfer);
/* Of an ended transfer only; sets the pointer to NULL. NULL is allowed. */
void transfer_free(struct transfer **transfer);

#endif
