/* SPDX-License-Identifier: MIT */
/*
 * The life of a transfer: an easy handle in the pool's multi handle from transfer_start() to transfer_finish(), which
 * takes it out before it cleans it up. A handle freed inside the multi handle can hand its answer to the next transfer
 * on that connection.
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

static void free_request(struct transfer *t)
{
    free(t->headers);
    t->headers = NULL;
    http_request_fini(&t->request);
}

/* A handle that has done its work is used again, without an option of the transfer before: to make one costs more. One
 * that has failed is not: libcurl 7.88 may leave the transfer's buffer in it, and then takes no other size for the
 * next. */
static CURL *handle_take(struct transfer_pool *pool)
{
    CURL *easy = pool->idle_count > 0 ? pool->idle[--pool->idle_count] : curl_easy_init();
    if (!easy) die("libcurl: no handle");
    return easy;
}

static void handle_give_back(struct transfer_pool *pool, CURL *easy, bool failed)
{
    if (failed || pool->idle_count == IDLE_HANDLES_MAX) {
        curl_easy_cleanup(easy);
        return;
    }
    curl_easy_reset(easy);
    pool->idle[pool->idle_count++] = easy;
}

void transfer_move(struct transfer *t, struct transfer_list *list)
{
    TAILQ_REMOVE(t->list, t, link);
    t->list = list;
    TAILQ_INSERT_TAIL(t->list, t, link);
}

void transfer_finish(struct transfer *t, CURLcode code)
{
    if (t->easy) {
        long status = 0;
        transfer_look_for_last_byte(t);
        curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
        t->facts.status = status >= 200 ? (int)status : 0;
        curl_multi_remove_handle(t->pool->multi, t->easy);
        handle_give_back(t->pool, t->easy, code != CURLE_OK);
        t->easy = NULL;
    }
    if (code != CURLE_OK && t->list == &t->pool->expired) {
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
    transfer_move(t, &t->pool->done);
    t->pool->in_flight--;
}

struct transfer *transfer_start(struct transfer_pool *pool, struct http_request *request,
                                const struct transfer_options *options)
{
    struct transfer *t = xcalloc(1, sizeof *t);
    t->pool = pool;
    t->options = *options;
    t->request = *request;
    memset(request, 0, sizeof *request);
    t->fd = -1;
    t->started_boot_ms = clock_boottime_ms();
    answer_init(&t->answer, options->body_max_bytes ? options->body_max_bytes : TRANSFER_BODY_MAX_BYTES);
    t->list = &pool->unsent;
    TAILQ_INSERT_TAIL(t->list, t, link);
    pool->in_flight++;
    if (t->started_boot_ms + options->limit_ms < pool->first_limit_boot_ms)
        pool->first_limit_boot_ms = t->started_boot_ms + options->limit_ms;
    if (pool->in_flight > pool->max) {
        transfer_note(t, "too many transfers in flight");
        transfer_finish(t, CURLE_FAILED_INIT);
        return t;
    }
    t->easy = handle_take(pool);
    transfer_setup(t);
    if (t->setup != CURLE_OK)
        transfer_finish(t, t->setup);
    else if (curl_multi_add_handle(pool->multi, t->easy) != CURLM_OK)
        die("libcurl: a handle was not taken");
    return t;
}

void transfer_abort(struct transfer *t)
{
    if (t->ended) return;
    transfer_note(t, "given up");
    transfer_finish(t, CURLE_ABORTED_BY_CALLBACK);
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

/* Whether the environment names a proxy; then it is logged. */
static bool proxies_set(void)
{
    static const char *const names[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
                                        "ALL_PROXY",  "no_proxy",    "NO_PROXY"};
    bool set = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (!value || !*value) continue;
        log_event(LOG_LEVEL_INFO, "transfer.proxy_setting", LOG_S("variable", names[i]));
        set = true;
    }
    return set;
}

struct transfer_pool *transfer_pool_new(int max, const struct address_list *allowed)
{
    struct transfer_pool *pool = xcalloc(1, sizeof *pool);
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) die("libcurl cannot be started");
    pool->multi = curl_multi_init();
    if (!pool->multi) die("libcurl: no multi handle");
    pool->max = max;
    pool->allowed = allowed;
    TAILQ_INIT(&pool->unsent);
    TAILQ_INIT(&pool->sent);
    TAILQ_INIT(&pool->expired);
    TAILQ_INIT(&pool->done);
    pool->first_limit_boot_ms = INT64_MAX;
    curl_multi_setopt(pool->multi, CURLMOPT_MAXCONNECTS, (long)max);
    transfer_drive_open(pool);
    pool->proxies = proxies_set();
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
    while (!TAILQ_EMPTY(&pool->unsent))
        transfer_abort(TAILQ_FIRST(&pool->unsent));
    while (!TAILQ_EMPTY(&pool->sent))
        transfer_abort(TAILQ_FIRST(&pool->sent));
    for (struct transfer *t; (t = transfer_next_done(pool));)
        transfer_free(&t);
    while (pool->idle_count > 0)
        curl_easy_cleanup(pool->idle[--pool->idle_count]);
    curl_multi_cleanup(pool->multi);
    curl_global_cleanup();
    transfer_drive_close(pool);
    free(pool);
    *pool_pointer = NULL;
}

struct transfer *transfer_next_done(struct transfer_pool *pool)
{
    struct transfer *t = TAILQ_FIRST(&pool->done);
    if (t) TAILQ_REMOVE(&pool->done, t, link);
    return t;
}
