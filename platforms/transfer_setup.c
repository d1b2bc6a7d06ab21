/* SPDX-License-Identifier: MIT */
/*
 * What libcurl is told about a request, and what it asks us while it runs.
 *
 * A request whose address comes from data (an item, an answer) may connect to public addresses only, and to what the
 * configuration allows. The address that is checked is the one that the socket is made for, so a name that resolves to
 * something else the next time gains nothing. Such a request neither takes a connection from the pool, which another
 * request may have opened to an address that it may not reach, nor leaves one there, and goes through no proxy, whose
 * connections we cannot see.
 */
#include "platforms/transfer_inner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "platforms/form.h"
#include "runtime/address.h"
#include "runtime/clock.h"
#include "runtime/die.h"
#include "runtime/secret.h"

/* libcurl's own limit stands so long after ours. */
#define BACKSTOP_MS 3600000
/* An address that moved is noticed after this long, for reused connections and cached names. */
#define CONNECTION_MAX_AGE_S 60L
#define NAME_MAX_AGE_S       10L
/* What a socket's buffer takes at once (Linux begins with 16 KiB and more): such a body leaves together with the head,
 * in one system call. */
#define TOGETHER_MAX_BYTES 8192
/* libcurl 7.88 allocates its buffers for each transfer: 16 KiB to receive, and over TLS 64 KiB to send, unless it is
 * told to take less. 16 KiB is the least that it takes for sending. */
#define SEND_BUFFER_BYTES    16384L
#define RECEIVE_BUFFER_BYTES 4096L

void transfer_note(struct transfer *t, const char *text)
{
    if (t->facts.error[0] == '\0') secret_mask(t->facts.error, sizeof t->facts.error, text, strlen(text));
}

/* Whether the kernel has the request: its head is written and so is every byte of the body. */
void transfer_look_for_last_byte(struct transfer *t)
{
    long head_bytes = 0;
    curl_off_t body_bytes = 0;
    if (t->list != &t->pool->unsent || !t->facts.reached || !t->easy) return;
    curl_easy_getinfo(t->easy, CURLINFO_REQUEST_SIZE, &head_bytes);
    curl_easy_getinfo(t->easy, CURLINFO_SIZE_UPLOAD_T, &body_bytes);
    if (head_bytes <= 0 || body_bytes < (curl_off_t)t->body_len) return;
    transfer_move(t, &t->pool->sent);
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
        transfer_note(t, "the connection died before an answer");
        return CURL_PREREQFUNC_ABORT;
    }
    if (now_ms >= t->started_boot_ms + t->options.limit_ms ||
        (t->options.deadline_boot_ms && now_ms >= t->options.deadline_boot_ms)) {
        t->facts.timed_out = true;
        transfer_note(t, "too late to send");
        return CURL_PREREQFUNC_ABORT;
    }
    if (t->facts.forbidden) { /* one address of several was, and this is another */
        t->facts.forbidden = false;
        t->facts.error[0] = '\0';
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
    if (t->list == &t->pool->expired) return CURL_READFUNC_ABORT;
    if (room > left) room = left;
    if (room > 0) memcpy(out, t->request.body + t->body_read, room);
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
    transfer_look_for_last_byte(t);
    t->received_bytes += len;
    if (++t->head_lines > TRANSFER_HEADERS_MAX || (t->head_bytes += len) > TRANSFER_HEADERS_MAX_BYTES) {
        t->facts.head_cut = true;
        transfer_note(t, "the head of the answer is too long");
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
        transfer_note(t, "the body of the answer is longer than what is kept");
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

/* The last moment before a connection: the address is the one that the kernel will be given. */
static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)purpose;
    struct transfer *t = context;
    char ip[ADDRESS_TEXT_BYTES], text[TRANSFER_ERROR_BYTES];
    if (t->foreign_host && !address_may_reach(&address->addr, t->foreign_host, t->pool->allowed)) {
        address_text(&address->addr, ip);
        snprintf(text, sizeof text, "%.100s is at %s, which is no public address; fetch.allow names exceptions",
                 t->foreign_host, ip);
        transfer_note(t, text);
        t->facts.forbidden = true;
        return CURL_SOCKET_BAD;
    }
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (fd >= 0) transfer_socket_opened(t->pool, fd);
    return fd;
}

/* Often long after the transfer that the connection was made for has gone. */
static int close_socket(void *pool, curl_socket_t fd)
{
    transfer_socket_closing(pool, fd);
    return close(fd);
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
    SET(t, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    SET(t, CURLOPT_OPENSOCKETDATA, t);
    SET(t, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    SET(t, CURLOPT_CLOSESOCKETDATA, t->pool);
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
    /* What a write is answered is short. */
    if (t->options.write && t->options.body_max_bytes == 0) SET(t, CURLOPT_BUFFERSIZE, RECEIVE_BUFFER_BYTES);
    const bool fresh = t->options.fresh_connection || t->foreign_host;
    SET(t, CURLOPT_FRESH_CONNECT, fresh ? 1L : 0L);
    SET(t, CURLOPT_FORBID_REUSE, fresh ? 1L : 0L);
    if (t->foreign_host || !t->pool->proxies) SET(t, CURLOPT_PROXY, "");
}

/* The host as libcurl reads it; the caller frees it. NULL: an address that it cannot read. */
static char *host_of(const char *url)
{
    char *host = NULL, *own = NULL;
    CURLU *parts = curl_url();
    if (!parts) die("out of memory");
    if (curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK)
        own = xstrdup(host);
    curl_free(host);
    curl_url_cleanup(parts);
    return own;
}

static void check_host(struct transfer *t)
{
    const struct http_request *request = &t->request;
    if (!request->foreign && !t->pool->only) return;
    char *host = host_of(request->url), text[TRANSFER_ERROR_BYTES];
    if (!host) {
        t->setup = CURLE_URL_MALFORMAT;
        t->facts.forbidden = request->foreign;
    } else if (t->pool->only && !address_list_has_host(t->pool->only, host)) {
        snprintf(text, sizeof text, "http.only_hosts does not name %.100s", host);
        transfer_note(t, text);
        t->setup = CURLE_URL_MALFORMAT;
    }
    if (request->foreign)
        t->foreign_host = host;
    else
        free(host);
}

/* libcurl writes an empty value where it is told "Name;", and drops "Name:". */
static char *empty_header(char *own_line, const char *colon)
{
    char *empty = xformat("%.*s;", (int)(colon - own_line), own_line);
    free(own_line);
    return empty;
}

/* The list's links are ours, and what they link is the request's. */
static void set_headers(struct transfer *t)
{
    /* What libcurl would add: a wait of a second before larger bodies, and a type that is not ours. */
    static char no_wait[] = "Expect:", no_type[] = "Content-Type:";
    struct http_request *request = &t->request;
    bool typed = false;
    t->headers = xcalloc(request->header_count + 2, sizeof *t->headers);
    struct curl_slist *at = t->headers;
    *at = (struct curl_slist){.data = no_wait};
    for (size_t i = 0; i < request->header_count; i++) {
        char *line = request->headers[i], *colon = strchr(line, ':');
        if (!colon || strpbrk(line, "\r\n")) {
            transfer_note(t, "a header of the request is none");
            t->setup = CURLE_BAD_FUNCTION_ARGUMENT;
            return;
        }
        typed = typed || strncasecmp(line, "content-type:", 13) == 0;
        if (colon[strspn(colon, ": \t")] == '\0') request->headers[i] = empty_header(line, colon);
        at->next = at + 1;
        *++at = (struct curl_slist){.data = request->headers[i]};
    }
    if (!typed) {
        at->next = at + 1;
        *++at = (struct curl_slist){.data = no_type};
    }
    SET(t, CURLOPT_HTTPHEADER, t->headers);
}

static void set_method(struct transfer *t)
{
    const struct http_request *request = &t->request;
    const char *method = request->method;
    if (request->has_body || strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 ||
        strcmp(method, "PATCH") == 0) {
        t->body_len = request->body_len;
        SET(t, CURLOPT_POST, 1L);
        SET(t, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->body_len);
        t->together = t->body_len <= TOGETHER_MAX_BYTES;
        if (t->together) {
            SET(t, CURLOPT_POSTFIELDS, request->body ? request->body : "");
            SET(t, CURLOPT_UPLOAD_BUFFERSIZE, SEND_BUFFER_BYTES);
        }
    } else if (strcmp(method, "HEAD") == 0) {
        SET(t, CURLOPT_NOBODY, 1L);
    } else {
        SET(t, CURLOPT_HTTPGET, 1L);
    }
    SET(t, CURLOPT_CUSTOMREQUEST, method);
}

void transfer_setup(struct transfer *t)
{
    check_host(t);
    set_callbacks(t);
    set_rules(t);
    SET(t, CURLOPT_URL, t->request.url);
    set_method(t);
    set_headers(t);
}
