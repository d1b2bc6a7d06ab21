/* SPDX-License-Identifier: MIT */
/*
 * Waiting, and what is done then: libcurl says by callbacks which sockets it waits for and when it wants to be called,
 * epoll says which of them are ready, and only their transfers go on.
 *
 * Between two transfers a kept connection stays in epoll, which is two system calls less for each; it is taken out when
 * something happens on it that nobody waits for. That is safe only with descriptors whose end we see, since the number
 * of a closed one comes back as another socket: those that we open and close ourselves. libcurl does not say of every
 * connection that it will be closed (seen in 8.11, where the cache of connections is full), and closes descriptors of
 * its name resolver without asking; those leave epoll as soon as they are not waited for.
 *
 * libcurl may not be called from its callbacks; they only write down what it said.
 */
#include "platforms/transfer_inner.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <unistd.h>

#include "runtime/clock.h"
#include "runtime/die.h"

/* How often a transfer at its limit is driven while it still receives: 4 KiB or more each time, libcurl's buffer. */
#define LAST_DRIVES_MAX 512
/* Sockets that are looked at in a turn; where more are ready, the kernel names the others the next time. */
#define EVENTS_MAX 512

/* ---- what libcurl waits for ---- */

static struct transfer_socket *socket_of(struct transfer_pool *pool, int fd)
{
    if ((size_t)fd >= pool->socket_count) {
        size_t count = 2 * (size_t)fd + 64;
        pool->sockets = xrealloc_array(pool->sockets, count, sizeof *pool->sockets);
        memset(&pool->sockets[pool->socket_count], 0, (count - pool->socket_count) * sizeof *pool->sockets);
        pool->socket_count = count;
    }
    return &pool->sockets[fd];
}

static void disarm(struct transfer_pool *pool, int fd)
{
    (void)epoll_ctl(pool->epoll_fd, EPOLL_CTL_DEL, fd, NULL); /* fails where it was closed, and is out for that */
    pool->sockets[fd].armed = 0;
}

static void arm(struct transfer_pool *pool, int fd)
{
    struct transfer_socket *s = &pool->sockets[fd];
    struct epoll_event event = {.events = s->wanted, .data.fd = fd};
    if (s->own && s->armed == s->wanted) return;
    if (epoll_ctl(pool->epoll_fd, EPOLL_CTL_MOD, fd, &event) != 0 &&
        (errno != ENOENT || epoll_ctl(pool->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0))
        die("epoll: %s", strerror(errno));
    s->armed = s->wanted;
}

static int socket_changed(CURL *easy, curl_socket_t fd, int what, void *context, void *of_socket)
{
    struct transfer_pool *pool = context;
    struct transfer_socket *s = socket_of(pool, fd);
    struct transfer *t = NULL;
    (void)of_socket;
    s->wanted = 0;
    if (what == CURL_POLL_IN || what == CURL_POLL_INOUT) s->wanted |= EPOLLIN;
    if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT) s->wanted |= EPOLLOUT;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&t); /* NULL: a handle of libcurl's own */
    if (t && s->wanted)
        t->fd = fd;
    else if (t && t->fd == fd)
        t->fd = -1;
    if (s->wanted)
        arm(pool, fd);
    else if (!s->own)
        disarm(pool, fd);
    return 0;
}

void transfer_socket_opened(struct transfer_pool *pool, int fd)
{
    *socket_of(pool, fd) = (struct transfer_socket){.own = true};
}

void transfer_socket_closing(struct transfer_pool *pool, int fd)
{
    *socket_of(pool, fd) = (struct transfer_socket){0}; /* to close it takes it out of epoll */
}

static int timer_changed(CURLM *multi, long wait_ms, void *context)
{
    struct transfer_pool *pool = context;
    (void)multi;
    pool->timer_boot_ms = wait_ms < 0 ? INT64_MAX : clock_boottime_ms() + wait_ms;
    return 0;
}

void transfer_drive_open(struct transfer_pool *pool)
{
    pool->timer_boot_ms = INT64_MAX;
    pool->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (pool->epoll_fd < 0) die("epoll: %s", strerror(errno));
    curl_multi_setopt(pool->multi, CURLMOPT_SOCKETFUNCTION, socket_changed);
    curl_multi_setopt(pool->multi, CURLMOPT_SOCKETDATA, pool);
    curl_multi_setopt(pool->multi, CURLMOPT_TIMERFUNCTION, timer_changed);
    curl_multi_setopt(pool->multi, CURLMOPT_TIMERDATA, pool);
}

void transfer_drive_close(struct transfer_pool *pool)
{
    close(pool->epoll_fd);
    free(pool->sockets);
    free(pool->wait_fds);
}

/* ---- driving ---- */

static void act(struct transfer_pool *pool, int fd, int events)
{
    int running;
    CURLMcode result = curl_multi_socket_action(pool->multi, fd, events, &running);
    if (result != CURLM_OK) die("libcurl: %s", curl_multi_strerror(result));
}

static void collect(struct transfer_pool *pool)
{
    int queued;
    struct transfer *t;
    for (CURLMsg *message; (message = curl_multi_info_read(pool->multi, &queued));) {
        CURLcode code = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&t);
        transfer_finish(t, code);
    }
}

/* The events of an error belong to both directions, as they do where libcurl asks the kernel itself; an error alone
 * would end a transfer whose answer lies there. */
static void drive_sockets(struct transfer_pool *pool)
{
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(pool->epoll_fd, events, EVENTS_MAX, 0);
    for (int i = 0; i < count; i++) {
        int fd = events[i].data.fd;
        const struct transfer_socket *s = &pool->sockets[fd];
        const uint32_t now = events[i].events & (EPOLLERR | EPOLLHUP) ? EPOLLIN | EPOLLOUT : events[i].events;
        if (s->wanted == 0)
            disarm(pool, fd);
        else
            act(pool, fd, (now & EPOLLIN ? CURL_CSELECT_IN : 0) | (now & EPOLLOUT ? CURL_CSELECT_OUT : 0));
    }
}

static void drive_timer(struct transfer_pool *pool)
{
    if (clock_boottime_ms() < pool->timer_boot_ms) return;
    pool->timer_boot_ms = INT64_MAX; /* until libcurl says otherwise, which it does at once */
    act(pool, CURL_SOCKET_TIMEOUT, 0);
}

static void look_for_last_bytes(struct transfer_pool *pool)
{
    for (struct transfer *t = TAILQ_FIRST(&pool->unsent), *next; t; t = next) {
        next = TAILQ_NEXT(t, link);
        transfer_look_for_last_byte(t);
    }
}

/* ---- limits ---- */

static void expire_list(struct transfer_pool *pool, struct transfer_list *list, int64_t now_ms)
{
    for (struct transfer *t = TAILQ_FIRST(list), *next; t; t = next) {
        next = TAILQ_NEXT(t, link);
        int64_t limit_ms = t->started_boot_ms + t->options.limit_ms;
        if (now_ms >= limit_ms) {
            /* Nothing more may be sent. Where libcurl has the rest of the body already, the transfer ends here. */
            const bool sends = t->together && t->facts.reached && list == &pool->unsent;
            transfer_move(t, &pool->expired);
            if (sends) transfer_finish(t, CURLE_OPERATION_TIMEDOUT);
        } else if (limit_ms < pool->first_limit_boot_ms) {
            pool->first_limit_boot_ms = limit_ms;
        }
    }
}

/* Reads what has arrived. */
static void drive_last(struct transfer_pool *pool, const struct transfer *t)
{
    size_t before_bytes;
    int drives = 0;
    do {
        before_bytes = t->received_bytes;
        if (t->fd >= 0) act(pool, t->fd, CURL_CSELECT_IN);
    } while (t->received_bytes > before_bytes && ++drives < LAST_DRIVES_MAX);
}

/* Ends what is past its limit: before anything else is driven, for that could send more of it. */
static void expire(struct transfer_pool *pool)
{
    int64_t now_ms = clock_boottime_ms();
    if (now_ms < pool->first_limit_boot_ms) return;
    pool->first_limit_boot_ms = INT64_MAX;
    expire_list(pool, &pool->unsent, now_ms);
    expire_list(pool, &pool->sent, now_ms);
    for (struct transfer *t; (t = TAILQ_FIRST(&pool->expired));) {
        drive_last(pool, t);
        collect(pool);
        if (!t->ended) transfer_finish(t, CURLE_OPERATION_TIMEDOUT);
    }
}

static void drive(struct transfer_pool *pool, bool sockets)
{
    expire(pool);
    if (sockets) drive_sockets(pool);
    drive_timer(pool);
    look_for_last_bytes(pool);
    collect(pool);
}

/* ---- waiting ---- */

/* timeout_ms, or less where a limit or libcurl's timer comes sooner. */
static int wait_limit(const struct transfer_pool *pool, int timeout_ms)
{
    int64_t until_ms =
        pool->first_limit_boot_ms < pool->timer_boot_ms ? pool->first_limit_boot_ms : pool->timer_boot_ms;
    if (!TAILQ_EMPTY(&pool->done)) return 0;
    if (until_ms == INT64_MAX) return timeout_ms;
    int64_t left_ms = until_ms - clock_boottime_ms();
    if (left_ms >= timeout_ms) return timeout_ms;
    return left_ms > 0 ? (int)left_ms : 0;
}

void transfer_wait(struct transfer_pool *pool, struct transfer_fd *fds, size_t fd_count, int timeout_ms)
{
    if (fd_count + 1 > pool->wait_fds_size) {
        pool->wait_fds = xrealloc_array(pool->wait_fds, fd_count + 1, sizeof *pool->wait_fds);
        pool->wait_fds_size = fd_count + 1;
    }
    struct pollfd *wait_fds = pool->wait_fds;
    for (size_t i = 0; i < fd_count; i++) /* poll() passes over what is negative */
        wait_fds[i] = (struct pollfd){.fd = fds[i].fd, .events = fds[i].want_write ? POLLOUT : POLLIN};
    wait_fds[fd_count] = (struct pollfd){.fd = pool->epoll_fd, .events = POLLIN};
    drive(pool, false); /* what is new */
    int ready = poll(wait_fds, fd_count + 1, wait_limit(pool, timeout_ms));
    if (ready < 0 && errno != EINTR) die("poll: %s", strerror(errno));
    for (size_t i = 0; i < fd_count; i++)
        fds[i].ready = ready > 0 && wait_fds[i].revents != 0;
    drive(pool, ready > 0 && wait_fds[fd_count].revents != 0);
}
