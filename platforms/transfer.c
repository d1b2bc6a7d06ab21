/* SPDX-License-Identifier: MIT */
/*
 * The life of a transfer: an easy handle in the pool's multi handle from transfer_start() to finish(), which takes it
 * out before it cleans it up. A handle freed inside the multi handle can hand its answer to the next transfer on that
 * connection.
 */
#include "platforms/transfer_inner.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "platforms/answer.h"
#include "platforms/form.h"
#include "runtime/address.h"
#include "runtime/clock.h"
#include "runtime/die.h"
#include "runtime/log.h"

/* How often a transfer at its limit is driven while it still receives: 16 KiB each time, libcurl's buffer. */
#define LAST_DRIVES_MAX 128

static void free_request(struct transfer *t)
{
    for (struct curl_slist *header = t->headers; header; header = header->next)
        sodium_memzero(header->data, strlen(header->data));
    curl_slist_free_all(t->headers);
    t->headers = NULL;
    if (t->body) sodium_memzero(t->body, t->body_len);
    free(t->body);
    t->body = NULL;
}

/* A handle that has done its work is used again, without an option of the transfer before: to make one costs more. */
static CURL *handle_take(struct transfer_pool *pool)
{
    CURL *easy = pool->idle_count > 0 ? pool->idle[--pool->idle_count] : curl_easy_init();
    if (!easy) die("libcurl: no handle");
    return easy;
}

static void handle_give_back(struct transfer_pool *pool, CURL *easy)
{
    curl_easy_reset(easy);
    if (pool->idle_count < IDLE_HANDLES_MAX)
        pool->idle[pool->idle_count++] = easy;
    else
        curl_easy_cleanup(easy);
}

/* The transfer ends here, whatever became of it. */
static void finish(struct transfer *t, CURLcode code)
{
    if (t->easy) {
        long status = 0;
        transfer_look_for_last_byte(t);
        curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
        t->facts.status = status >= 200 ? (int)status : 0;
        curl_multi_remove_handle(t->pool->multi, t->easy);
        handle_give_back(t->pool, t->easy);
        t->easy = NULL;
    }
    if (code != CURLE_OK && t->expired) {
        t->facts.timed_out = true;
        transfer_note(t, "time limit reached");
    } else if (code != CURLE_OK)
        transfer_note(t, t->curl_error[0] ? t->curl_error : curl_easy_strerror(code));
    else if (!t->head_over) /* libcurl is content when a connection ends there */
        transfer_note(t, "the answer ends within its head");
    t->facts.complete = code == CURLE_OK && t->head_over && t->facts.status != 0;
    t->facts.elapsed_ms = clock_boottime_ms() - t->started_boot_ms;
    t->answer.status = t->facts.status;
    answer_finish(&t->answer);
    t->ended = true;
    free_request(t);
    TAILQ_REMOVE(&t->pool->active, t, link);
    TAILQ_INSERT_TAIL(&t->pool->done, t, link);
    t->pool->in_flight--;
}

struct transfer *transfer_start(struct transfer_pool *pool, const struct http_request *request,
                                const struct transfer_options *options)
{
    struct transfer *t = xcalloc(1, sizeof *t);
    t->pool = pool;
    t->options = *options;
    t->started_boot_ms = clock_boottime_ms();
    answer_init(&t->answer, options->body_max_bytes ? options->body_max_bytes : TRANSFER_BODY_MAX_BYTES);
    TAILQ_INSERT_TAIL(&pool->active, t, link);
    pool->in_flight++;
    if (pool->in_flight > pool->max) {
        transfer_note(t, "too many transfers in flight");
        finish(t, CURLE_FAILED_INIT);
        return t;
    }
    t->easy = handle_take(pool);
    transfer_setup(t, request);
    if (t->setup != CURLE_OK)
        finish(t, t->setup);
    else if (curl_multi_add_handle(pool->multi, t->easy) != CURLM_OK)
        die("libcurl: a handle was not taken");
    pool->any_new = true;
    return t;
}

void transfer_abort(struct transfer *t)
{
    if (t->ended) return;
    transfer_note(t, "given up");
    finish(t, CURLE_ABORTED_BY_CALLBACK);
}

int transfer_in_flight(const struct transfer_pool *pool)
{
    return pool->in_flight;
}

void *transfer_owner(const struct transfer *t)
{
    return t->options.owner;
}

const struct transfer_facts *transfer_facts(const struct transfer *t)
{
    return &t->facts;
}

const struct answer *transfer_answer(const struct transfer *t)
{
    return &t->answer;
}

void transfer_free(struct transfer **transfer)
{
    struct transfer *t = *transfer;
    if (!t) return;
    if (!t->ended) die("transfer_free: still in flight");
    answer_fini(&t->answer);
    free(t->foreign_host);
    free(t);
    *transfer = NULL;
}

static void log_proxies(void)
{
    static const char *const names[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
                                        "ALL_PROXY",  "no_proxy",    "NO_PROXY"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value && *value) log_event(LOG_LEVEL_INFO, "transfer.proxy_setting", LOG_S("variable", names[i]));
    }
}

struct transfer_pool *transfer_pool_new(int max, const struct address_list *allowed)
{
    struct transfer_pool *pool = xcalloc(1, sizeof *pool);
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) die("libcurl cannot be started");
    pool->multi = curl_multi_init();
    if (!pool->multi) die("libcurl: no multi handle");
    pool->max = max;
    pool->allowed = allowed;
    TAILQ_INIT(&pool->active);
    TAILQ_INIT(&pool->done);
    curl_multi_setopt(pool->multi, CURLMOPT_MAXCONNECTS, (long)max);
    log_proxies();
    return pool;
}

void transfer_pool_only(struct transfer_pool *pool, const struct address_list *hosts)
{
    pool->only = hosts->name_count + hosts->range_count > 0 ? hosts : NULL;
}

void transfer_pool_free(struct transfer_pool **pool_pointer)
{
    struct transfer_pool *pool = *pool_pointer;
    if (!pool) return;
    while (!TAILQ_EMPTY(&pool->active))
        transfer_abort(TAILQ_FIRST(&pool->active));
    for (struct transfer *t; (t = transfer_next_done(pool));)
        transfer_free(&t);
    while (pool->idle_count > 0)
        curl_easy_cleanup(pool->idle[--pool->idle_count]);
    curl_multi_cleanup(pool->multi);
    curl_global_cleanup();
    free(pool->wait_fds);
    free(pool);
    *pool_pointer = NULL;
}

struct transfer *transfer_next_done(struct transfer_pool *pool)
{
    struct transfer *t = TAILQ_FIRST(&pool->done);
    if (t) TAILQ_REMOVE(&pool->done, t, link);
    return t;
}

/* What is past its limit gets nothing more to send: where libcurl has the rest of it already, it ends here. */
static void expire(struct transfer_pool *pool)
{
    int64_t now_ms = clock_boottime_ms();
    for (struct transfer *t = TAILQ_FIRST(&pool->active), *next; t; t = next) {
        next = TAILQ_NEXT(t, link);
        t->expired = t->expired || now_ms >= t->started_boot_ms + t->options.limit_ms;
        if (t->expired && t->together && t->facts.reached && !t->sent_all) finish(t, CURLE_OPERATION_TIMEDOUT);
    }
}

/* Lets libcurl do what can be done now. */
static void drive(struct transfer_pool *pool)
{
    int running, queued;
    struct transfer *t;
    expire(pool);
    CURLMcode result = curl_multi_perform(pool->multi, &running);
    if (result != CURLM_OK) die("libcurl: %s", curl_multi_strerror(result));
    for (CURLMsg *message; (message = curl_multi_info_read(pool->multi, &queued));) {
        CURLcode code = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&t);
        finish(t, code);
    }
    for (t = TAILQ_FIRST(&pool->active); t; t = TAILQ_NEXT(t, link))
        transfer_look_for_last_byte(t);
}

/* Bytes that transfers past their limit have received so far. */
static size_t expired_received_bytes(const struct transfer_pool *pool)
{
    size_t sum = 0;
    for (const struct transfer *t = TAILQ_FIRST(&pool->active); t; t = TAILQ_NEXT(t, link))
        sum += t->expired ? t->received_bytes : 0;
    return sum;
}

/* Drives, and ends what is past its limit after it has read what had arrived. */
static void drive_and_expire(struct transfer_pool *pool)
{
    size_t before;
    int drives = 0;
    do {
        before = expired_received_bytes(pool);
        drive(pool);
    } while (expired_received_bytes(pool) > before && ++drives < LAST_DRIVES_MAX);
    for (struct transfer *t = TAILQ_FIRST(&pool->active), *next; t; t = next) {
        next = TAILQ_NEXT(t, link);
        if (t->expired) finish(t, CURLE_OPERATION_TIMEDOUT);
    }
}

/* timeout_ms, or less where a limit comes sooner. */
static int wait_limit(const struct transfer_pool *pool, int timeout_ms)
{
    int64_t now_ms = clock_boottime_ms();
    int64_t wait_ms = !TAILQ_EMPTY(&pool->done) ? 0 : timeout_ms;
    for (const struct transfer *t = TAILQ_FIRST(&pool->active); t; t = TAILQ_NEXT(t, link)) {
        int64_t left_ms = t->started_boot_ms + t->options.limit_ms - now_ms;
        if (left_ms < wait_ms) wait_ms = left_ms > 0 ? left_ms : 0;
    }
    return (int)wait_ms;
}

void transfer_wait(struct transfer_pool *pool, struct transfer_fd *fds, size_t fd_count, int timeout_ms)
{
    unsigned used = 0;
    if (fd_count > pool->wait_fds_size) {
        pool->wait_fds = xrealloc_array(pool->wait_fds, fd_count, sizeof *pool->wait_fds);
        pool->wait_fds_size = fd_count;
    }
    for (size_t i = 0; i < fd_count; i++) {
        fds[i].ready = false;
        if (fds[i].fd >= 0)
            pool->wait_fds[used++] = (struct curl_waitfd){
                .fd = fds[i].fd, .events = (short)(fds[i].want_write ? CURL_WAIT_POLLOUT : CURL_WAIT_POLLIN)};
    }
    if (pool->any_new) drive_and_expire(pool); /* the others were driven when the last wait ended */
    pool->any_new = false;
    CURLMcode result = curl_multi_poll(pool->multi, pool->wait_fds, used, wait_limit(pool, timeout_ms), NULL);
    if (result != CURLM_OK) die("libcurl: %s", curl_multi_strerror(result));
    for (size_t i = 0, j = 0; i < fd_count; i++) {
        if (fds[i].fd >= 0) fds[i].ready = pool->wait_fds[j++].revents != 0;
    }
    drive_and_expire(pool);
}
