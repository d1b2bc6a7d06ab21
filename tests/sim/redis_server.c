/* SPDX-License-Identifier: MIT */
/*
 * sim_redis: the in-memory Redis behind a socket, so that tests written for redis-server run against it unchanged:
 *
 *   LANDFALL_REDIS_SERVER=build/release/bin/sim_redis /usr/bin/python3 -m pytest tests/scripts
 *
 * It takes --port, --bind, --unixsocket and passes over every other option of redis-server with its value. Clients
 * speak RESP2 or single lines. A blocking read is asked again until its time is over. One thread, one poll loop.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "runtime/buf.h"
#include "runtime/die.h"
#include "tests/sim/redis_command.h"

#define CLIENTS_MAX   64
#define ARGS_MAX      (1 << 18)
#define INPUT_BYTES   ((size_t)64 << 20)
#define BLOCK_STEP_MS 5

struct client {
    int fd; /* -1: free */
    struct buf in, out;
    int64_t blocked_until_ms; /* 0: it is not */
};

static struct redis_db db;
static struct client clients[CLIENTS_MAX];
static struct redis_arg args[ARGS_MAX];

static int64_t wall_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void drop_front(struct buf *buf, size_t len)
{
    memmove(buf->data, buf->data + len, buf->len - len);
    buf->len -= len;
}

/* ---- answers ---- */

static void put(struct buf *out, const void *bytes, size_t len)
{
    if (!buf_append(out, bytes, len)) die("sim_redis: an answer is too long");
}

static void put_line(struct buf *out, char kind, const char *text, size_t len)
{
    put(out, &kind, 1);
    put(out, text, len);
    put(out, "\r\n", 2);
}

static void put_number(struct buf *out, char kind, long long number)
{
    char text[24];
    put_line(out, kind, text, (size_t)snprintf(text, sizeof text, "%lld", number));
}

static void put_reply(struct buf *out, const struct redis_reply *reply)
{
    switch (reply->kind) {
    case REDIS_NIL: put(out, "$-1\r\n", 5); break;
    case REDIS_INTEGER: put_number(out, ':', reply->integer); break;
    case REDIS_STATUS: put_line(out, '+', reply->text, reply->len); break;
    case REDIS_ERROR: put_line(out, '-', reply->text, reply->len); break;
    case REDIS_BULK:
        put_number(out, '$', (long long)reply->len);
        put(out, reply->text, reply->len);
        put(out, "\r\n", 2);
        break;
    case REDIS_ARRAY:
        put_number(out, '*', (long long)reply->count);
        for (size_t i = 0; i < reply->count; i++)
            put_reply(out, &reply->child[i]);
        break;
    }
}

/* ---- commands ---- */

/* Words of a line that is no RESP: what somebody types. Returns how many; *used is 0 while the line is not complete. */
static size_t read_inline(const struct buf *in, size_t *used)
{
    size_t argc = 0;
    const char *end = memchr(in->data, '\n', in->len), *at = in->data;
    *used = end != NULL ? (size_t)(end - in->data) + 1 : 0;
    while (end != NULL && argc < ARGS_MAX) {
        at += strspn(at, " \t\r");
        if (at >= end) break;
        size_t len = strcspn(at, " \t\r\n");
        args[argc++] = (struct redis_arg){at, len};
        at += len;
    }
    return argc;
}

/* The next command in `in`, into args. *used is 0 while it is not complete. */
static size_t read_command(const struct buf *in, size_t *used)
{
    *used = 0;
    if (in->len == 0) return 0;
    return in->data[0] == '*' ? redis_command_read(in->data, in->len, args, ARGS_MAX, used) : read_inline(in, used);
}

static int64_t block_ms(size_t argc)
{
    int64_t ms = 0;
    if (argc == 0 || !(redis_arg_is(&args[0], "XREADGROUP") || redis_arg_is(&args[0], "XREAD"))) return 0;
    for (size_t i = 1; i + 1 < argc; i++)
        if (redis_arg_is(&args[i], "BLOCK") && redis_arg_integer(&args[i + 1], &ms)) return ms == 0 ? INT32_MAX : ms;
    return 0;
}

static void serve(struct client *client)
{
    size_t used;
    for (;;) {
        size_t argc = read_command(&client->in, &used);
        if (used == 0) return;
        if (argc > 0) {
            db.now_us = wall_us();
            const struct redis_reply *reply = redis_db_run(&db, argc, args);
            int64_t wait_ms = reply->kind == REDIS_NIL ? block_ms(argc) : 0;
            if (wait_ms > 0 && client->blocked_until_ms == 0) client->blocked_until_ms = db.now_us / 1000 + wait_ms;
            if (wait_ms > 0 && db.now_us / 1000 < client->blocked_until_ms) return; /* asked again later */
            client->blocked_until_ms = 0;
            put_reply(&client->out, reply);
            redis_db_clean(&db);
        }
        drop_front(&client->in, used);
    }
}

/* ---- sockets ---- */

static void client_close(struct client *client)
{
    close(client->fd);
    client->fd = -1;
    buf_fini(&client->in);
    buf_fini(&client->out);
}

static void client_read(struct client *client)
{
    static char bytes[65536];
    ssize_t len = recv(client->fd, bytes, sizeof bytes, 0);
    if (len <= 0 || !buf_append(&client->in, bytes, (size_t)len)) {
        client_close(client);
        return;
    }
    if (client->blocked_until_ms == 0) serve(client);
}

static void client_write(struct client *client)
{
    ssize_t len = send(client->fd, client->out.data, client->out.len, MSG_NOSIGNAL);
    if (len > 0)
        drop_front(&client->out, (size_t)len);
    else if (errno != EINTR && errno != EAGAIN)
        client_close(client);
}

static void client_accept(int listener)
{
    int fd = accept(listener, NULL, NULL);
    for (size_t i = 0; fd >= 0 && i < CLIENTS_MAX; i++) {
        if (clients[i].fd >= 0) continue;
        clients[i] = (struct client){.fd = fd};
        buf_init(&clients[i].in, INPUT_BYTES);
        buf_init(&clients[i].out, INPUT_BYTES);
        return;
    }
    if (fd >= 0) close(fd);
}

static int listen_at(const struct sockaddr *address, socklen_t len)
{
    int fd = socket(address->sa_family, SOCK_STREAM, 0), on = 1;
    if (fd < 0) die("sim_redis: socket: %s", strerror(errno));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, address, len) != 0 || listen(fd, 64) != 0) die("sim_redis: listening: %s", strerror(errno));
    return fd;
}

static int listen_unix(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) die("sim_redis: --unixsocket is too long");
    memcpy(address.sun_path, path, strlen(path) + 1);
    unlink(path);
    return listen_at((const struct sockaddr *)&address, sizeof address);
}

static int listen_tcp(long port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return listen_at((const struct sockaddr *)&address, sizeof address);
}

static void turn(const int listeners[2])
{
    struct pollfd fds[CLIENTS_MAX + 2];
    struct client *owner[CLIENTS_MAX + 2];
    nfds_t count = 2;
    bool blocked = false;
    for (int i = 0; i < 2; i++)
        fds[i] = (struct pollfd){.fd = listeners[i], .events = POLLIN};
    for (size_t i = 0; i < CLIENTS_MAX; i++) {
        if (clients[i].fd < 0) continue;
        blocked = blocked || clients[i].blocked_until_ms > 0;
        owner[count] = &clients[i];
        fds[count++] = (struct pollfd){clients[i].fd, (short)(POLLIN | (clients[i].out.len > 0 ? POLLOUT : 0)), 0};
    }
    if (poll(fds, count, blocked ? BLOCK_STEP_MS : -1) < 0 && errno != EINTR) die("sim_redis: poll");
    for (nfds_t i = 2; i < count; i++) {
        if (fds[i].revents & (POLLIN | POLLHUP | POLLERR)) client_read(owner[i]);
        if (owner[i]->fd >= 0 && owner[i]->blocked_until_ms > 0) serve(owner[i]);
        if (owner[i]->fd >= 0 && owner[i]->out.len > 0) client_write(owner[i]);
    }
    for (int i = 0; i < 2; i++)
        if (fds[i].revents & POLLIN) client_accept(listeners[i]);
}

int main(int argc, char **argv)
{
    int listeners[2] = {-1, -1};
    struct redis_lua *lua = redis_lua_new();
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--unixsocket") == 0) listeners[0] = listen_unix(argv[i + 1]);
        if (strcmp(argv[i], "--port") == 0) listeners[1] = listen_tcp(strtol(argv[i + 1], NULL, 10));
    }
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        clients[i].fd = -1;
    redis_db_init(&db, lua);
    db.started_us = wall_us();
    for (;;)
        turn(listeners);
}
