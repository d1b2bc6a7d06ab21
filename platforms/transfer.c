/* SPDX-License-Identifier: MIT */
/*
 * The one file that includes curl. A transfer is an easy handle in the pool's multi handle from transfer_start() to
 * finish(), which takes it out before it cleans it up: a handle freed inside the multi handle can hand its answer to
 * the next transfer on that connection.
 */
#include "platforms/transfer.h"

#include <curl/curl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "platforms/answer.h"
#include "platforms/form.h"
#include "runtime/clock.h"
#include "runtime/die.h"
#include "runtime/log.h"
#include "runtime/secret.h"

/* How often a transfer at its limit is driven while it still receives: 16 KiB each time, libcurl's buffer. */
#define LAST_DRIVES_MAX 128
/* libcurl's own limit stands so long after ours. */
#define BACKSTOP_MS 3600000
/* An address that moved is noticed after this long, for reused connections and cached names. */
#define CONNECTION_MAX_AGE_S 60L
#define NAME_MAX_AGE_S       10L

struct transfer {
    struct transfer_pool *pool;
    TAILQ_ENTRY(transfer) link; /* in pool->active or pool->done */
    CURL *easy;                 /* NULL once ended */
    CURLcode setup;             /* first error of the options */
    struct curl_slist *headers;
    char *body; /* of the request */
    size_t body_len;
    size_t body_read; /* bytes libcurl has fetched */
    struct transfer_options options;
    int64_t started_boot_ms;
    size_t head_lines;
    size_t head_bytes;
    size_t received_bytes;
    bool head_over; /* of the final answer: its empty line was read */
    bool expired;   /* past the limit: receive only */
    bool sent_all;  /* the kernel has it */
    bool ended;
    struct transfer_facts facts;
    struct answer answer;
    char curl_error[CURL_ERROR_SIZE];
};

TAILQ_HEAD(transfer_list, transfer);

struct transfer_pool {
    CURLM *multi;
    int max;
    int in_flight;
    struct transfer_list active, done;
    struct curl_waitfd *wait_fds;
    size_t wait_fds_size;
};

static void note(struct transfer *t, const char *text)
{
    if (t->facts.error[0] == '\0') secret_mask(t->facts.error, sizeof t->facts.error, text, strlen(text));
}

/* Whether the kernel has the request: its head is written and so is every byte of the body. */
static void look_for_last_byte(struct transfer *t)
{
    long head_bytes = 0;
    curl_off_t body_bytes = 0;
    if (t->sent_all || !t->facts.reached || !t->easy) return;
    curl_easy_getinfo(t->easy, CURLINFO_REQUEST_SIZE, &head_bytes);
    curl_easy_getinfo(t->easy, CURLINFO_SIZE_UPLOAD_T, &body_bytes);
    if (head_bytes <= 0 || body_bytes < (curl_off_t)t->body_len) return;
    t->sent_all = true;
    if (t->options.at_point) t->options.at_point(t->options.point_context, TRANSFER_AFTER_LAST_BYTE);
}

/* Connected, TLS included, and about to send; once more if libcurl wants to send it again on another connection. */
static int before_request(void *context, char *peer, char *local, int peer_port, int local_port)
{
    (void)peer, (void)local, (void)peer_port, (void)local_port;
    struct transfer *t = context;
    int64_t now_ms = clock_boottime_ms();
    if (t->facts.reached && t->options.write) {
        t->facts.resend_stopped = true;
        note(t, "the connection died before an answer");
        return CURL_PREREQFUNC_ABORT;
    }
    if (now_ms >= t->started_boot_ms + t->options.limit_ms ||
        (t->options.deadline_boot_ms && now_ms >= t->options.deadline_boot_ms)) {
        t->facts.timed_out = true;
        note(t, "too late to send");
        return CURL_PREREQFUNC_ABORT;
    }
    if (t->options.at_point) t->options.at_point(t->options.point_context, TRANSFER_BEFORE_FIRST_BYTE);
    t->facts.reached = true;
    return CURL_PREREQFUNC_OK;
}

static size_t read_body(char *out, size_t size, size_t count, void *context)
{
    struct transfer *t = context;
    size_t room = size * count;
    size_t left = t->body_len - t->body_read;
    if (t->expired) return CURL_READFUNC_ABORT;
    if (room > left) room = left;
    if (room > 0) memcpy(out, t->body + t->body_read, room);
    t->body_read += room;
    return room;
}

static int rewind_body(void *context, curl_off_t offset, int origin)
{
    struct transfer *t = context;
    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > t->body_len) return CURL_SEEKFUNC_FAIL;
    t->body_read = (size_t)offset;
    return CURL_SEEKFUNC_OK;
}

static size_t take_head_line(char *line, size_t size, size_t count, void *context)
{
    struct transfer *t = context;
    size_t len = size * count;
    look_for_last_byte(t);
    t->received_bytes += len;
    if (++t->head_lines > TRANSFER_HEADERS_MAX || (t->head_bytes += len) > TRANSFER_HEADERS_MAX_BYTES) {
        t->facts.head_cut = true;
        note(t, "the head of the answer is too long");
        return 0;
    }
    if (t->head_over) /* a trailer: nothing asks for one */
        return len;
    answer_header_line(&t->answer, line, len);
    t->head_over = (*line == '\r' || *line == '\n') && t->answer.status >= 200;
    return len;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *context)
{
    struct transfer *t = context;
    size_t len = size * count;
    t->received_bytes += len;
    if (!answer_body(&t->answer, bytes, len)) {
        t->facts.body_cut = true;
        note(t, "the body of the answer is longer than what is kept");
        return 0;
    }
    return len;
}

/* A connection that is given up is reset; otherwise the kernel goes on delivering what is in its buffer. */
static int reset_on_close(void *context, curl_socket_t fd, curlsocktype purpose)
{
    (void)context, (void)purpose;
    const struct linger reset = {.l_onoff = 1, .l_linger = 0};
    return setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) == 0 ? CURL_SOCKOPT_OK : CURL_SOCKOPT_ERROR;
}

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

/* The transfer ends here, whatever became of it. */
static void finish(struct transfer *t, CURLcode code)
{
    if (t->easy) {
        long status = 0;
        look_for_last_byte(t);
        curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
        t->facts.status = status >= 200 ? (int)status : 0;
        curl_multi_remove_handle(t->pool->multi, t->easy);
        curl_easy_cleanup(t->easy);
        t->easy = NULL;
    }
    if (code != CURLE_OK && t->expired) {
        t->facts.timed_out = true;
        note(t, "time limit reached");
    } else if (code != CURLE_OK)
        note(t, t->curl_error[0] ? t->curl_error : curl_easy_strerror(code));
    else if (!t->head_over) /* libcurl is content when a connection ends there */
        note(t, "the answer ends within its head");
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

/* One option; the first that fails makes the transfer one that was not sent. */
#define SET(t, option, value)                                                                                          \
    do {                                                                                                               \
        CURLcode code_ = curl_easy_setopt((t)->easy, option, value);                                                   \
        if ((t)->setup == CURLE_OK) (t)->setup = code_;                                                                \
    } while (0)

static void set_callbacks(struct transfer *t)
{
    SET(t, CURLOPT_PRIVATE, t);
    SET(t, CURLOPT_ERRORBUFFER, t->curl_error);
    SET(t, CURLOPT_PREREQFUNCTION, before_request);
    SET(t, CURLOPT_PREREQDATA, t);
    SET(t, CURLOPT_READFUNCTION, read_body);
    SET(t, CURLOPT_READDATA, t);
    SET(t, CURLOPT_SEEKFUNCTION, rewind_body);
    SET(t, CURLOPT_SEEKDATA, t);
    SET(t, CURLOPT_HEADERFUNCTION, take_head_line);
    SET(t, CURLOPT_HEADERDATA, t);
    SET(t, CURLOPT_WRITEFUNCTION, take_body);
    SET(t, CURLOPT_WRITEDATA, t);
    SET(t, CURLOPT_SOCKOPTFUNCTION, reset_on_close);
}

static void set_rules(struct transfer *t)
{
    SET(t, CURLOPT_NOSIGNAL, 1L);
    SET(t, CURLOPT_QUICK_EXIT, 1L); /* else giving up waits for a slow name server, and the whole loop with it */
    SET(t, CURLOPT_PROTOCOLS_STR, "http,https");
    SET(t, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(t, CURLOPT_FOLLOWLOCATION, 0L);
    SET(t, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    SET(t, CURLOPT_SSL_VERIFYPEER, 1L);
    SET(t, CURLOPT_SSL_VERIFYHOST, 2L);
    SET(t, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    SET(t, CURLOPT_USERAGENT, "landfall/" LANDFALL_VERSION);
    SET(t, CURLOPT_MAXAGE_CONN, CONNECTION_MAX_AGE_S);
    SET(t, CURLOPT_MAXLIFETIME_CONN, CONNECTION_MAX_AGE_S);
    SET(t, CURLOPT_DNS_CACHE_TIMEOUT, NAME_MAX_AGE_S);
    SET(t, CURLOPT_TIMEOUT_MS, (long)(t->options.limit_ms + BACKSTOP_MS));
    SET(t, CURLOPT_FRESH_CONNECT, t->options.fresh_connection ? 1L : 0L);
    SET(t, CURLOPT_FORBID_REUSE, t->options.fresh_connection ? 1L : 0L);
}

static void add_header(struct transfer *t, const char *line)
{
    t->headers = curl_slist_append(t->headers, line);
    if (!t->headers) die("out of memory");
}

static void set_headers(struct transfer *t, const struct http_request *request)
{
    bool typed = false;
    for (size_t i = 0; i < request->header_count; i++) {
        const char *line = request->headers[i];
        const char *value = strchr(line, ':');
        if (!value || strpbrk(line, "\r\n")) {
            note(t, "a header of the request is none");
            t->setup = CURLE_BAD_FUNCTION_ARGUMENT;
            return;
        }
        typed = typed || strncasecmp(line, "content-type:", 13) == 0;
        if (value[strspn(value, ": \t")] != '\0') {
            add_header(t, line);
            continue;
        }
        /* libcurl writes an empty value where it is told "Name;", and drops "Name:". */
        char *empty = xformat("%.*s;", (int)(value - line), line);
        add_header(t, empty);
        free(empty);
    }
    /* What libcurl would add: a wait of a second before larger bodies, and a type that is not ours. */
    add_header(t, "Expect:");
    if (!typed) add_header(t, "Content-Type:");
    SET(t, CURLOPT_HTTPHEADER, t->headers);
}

static void set_method(struct transfer *t, const struct http_request *request)
{
    const char *method = request->method;
    if (request->has_body || strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 ||
        strcmp(method, "PATCH") == 0) {
        t->body = xmalloc(request->body_len);
        t->body_len = request->body_len;
        if (request->body_len > 0) memcpy(t->body, request->body, request->body_len);
        SET(t, CURLOPT_POST, 1L);
        SET(t, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->body_len);
    } else if (strcmp(method, "HEAD") == 0) {
        SET(t, CURLOPT_NOBODY, 1L);
    } else {
        SET(t, CURLOPT_HTTPGET, 1L);
    }
    SET(t, CURLOPT_CUSTOMREQUEST, method);
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
        note(t, "too many transfers in flight");
        finish(t, CURLE_FAILED_INIT);
        return t;
    }
    t->easy = curl_easy_init();
    if (!t->easy) die("libcurl: no handle");
    set_callbacks(t);
    set_rules(t);
    SET(t, CURLOPT_URL, request->url);
    set_method(t, request);
    set_headers(t, request);
    if (t->setup != CURLE_OK)
        finish(t, t->setup);
    else if (curl_multi_add_handle(pool->multi, t->easy) != CURLM_OK)
        die("libcurl: a handle was not taken");
    return t;
}

void transfer_abort(struct transfer *t)
{
    if (t->ended) return;
    note(t, "given up");
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

bool transfer_sent_all(const struct transfer *t)
{
    return t->sent_all;
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

struct transfer_pool *transfer_pool_new(int max)
{
    struct transfer_pool *pool = xcalloc(1, sizeof *pool);
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) die("libcurl cannot be started");
    pool->multi = curl_multi_init();
    if (!pool->multi) die("libcurl: no multi handle");
    pool->max = max;
    TAILQ_INIT(&pool->active);
    TAILQ_INIT(&pool->done);
    curl_multi_setopt(pool->multi, CURLMOPT_MAXCONNECTS, (long)max);
    log_proxies();
    return pool;
}

void transfer_pool_free(struct transfer_pool **pool_pointer)
{
    struct transfer_pool *pool = *pool_pointer;
    if (!pool) return;
    while (!TAILQ_EMPTY(&pool->active))
        transfer_abort(TAILQ_FIRST(&pool->active));
    for (struct transfer *t; (t = transfer_next_done(pool));)
        transfer_free(&t);
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

/* Lets libcurl do what can be done now. What is past its limit gets nothing more to send. */
static void drive(struct transfer_pool *pool)
{
    int running, queued;
    int64_t now_ms = clock_boottime_ms();
    struct transfer *t;
    for (t = TAILQ_FIRST(&pool->active); t; t = TAILQ_NEXT(t, link))
        t->expired = t->expired || now_ms >= t->started_boot_ms + t->options.limit_ms;
    CURLMcode result = curl_multi_perform(pool->multi, &running);
    if (result != CURLM_OK) die("libcurl: %s", curl_multi_strerror(result));
    for (CURLMsg *message; (message = curl_multi_info_read(pool->multi, &queued));) {
        CURLcode code = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&t);
        finish(t, code);
    }
    for (t = TAILQ_FIRST(&pool->active); t; t = TAILQ_NEXT(t, link))
        look_for_last_byte(t);
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
    drive_and_expire(pool);
    CURLMcode result = curl_multi_poll(pool->multi, pool->wait_fds, used, wait_limit(pool, timeout_ms), NULL);
    if (result != CURLM_OK) die("libcurl: %s", curl_multi_strerror(result));
    for (size_t i = 0, j = 0; i < fd_count; i++) {
        if (fds[i].fd >= 0) fds[i].ready = pool->wait_fds[j++].revents != 0;
    }
    drive_and_expire(pool);
}
