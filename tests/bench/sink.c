/* SPDX-License-Identifier: MIT */
/*
 * sink: the receiver of the bench. HTTP/1.1 with keep-alive on 127.0.0.1, one thread, epoll.
 *
 *     bench_sink --secret whsec_... [--wait-ms N]
 *
 * It prints its port on the first line. Each POST is read whole, its Standard Webhooks signature is checked, and its
 * webhook-id and the item's id in its body are counted: how many there were, how many different ones. It answers 204 at
 * once, or N ms later. On each line of standard input it answers with one line on standard output:
 *
 *     until K     when K posts have been answered since the last reset: "reached K"
 *     reset       "reset"; forgets what it counted
 *     report      posts, different webhook-ids, different item ids, bad posts
 *
 * The end of standard input ends it. Only the harness speaks to it, so what is not understood is counted as bad and its
 * connection is closed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/wire.h"

#define HEAD_MAX_BYTES (16 * 1024)
#define EVENTS_MAX     256

/* ---- the set of ids: 64-bit hashes, open addressing ---- */

struct id_set {
    uint64_t *slots; /* 0: free */
    size_t size, count;
};

static uint64_t hash_of(const char *bytes, size_t len)
{
    uint64_t hash = 14695981039346656037U; /* FNV-1a */
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 1099511628211U;
    return hash != 0 ? hash : 1;
}

static void *alloc(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL) wire_die("out of memory");
    return memory;
}

static void id_set_put(struct id_set *set, uint64_t hash)
{
    size_t at = hash & (set->size - 1);
    while (set->slots[at] != 0 && set->slots[at] != hash)
        at = (at + 1) & (set->size - 1);
    if (set->slots[at] == 0) set->count++;
    set->slots[at] = hash;
}

static void id_set_add(struct id_set *set, const char *bytes, size_t len)
{
    if ((set->count + 1) * 2 > set->size) {
        struct id_set larger = {.size = set->size > 0 ? set->size * 2 : 4096};
        larger.slots = alloc(larger.size, sizeof *larger.slots);
        for (size_t i = 0; i < set->size; i++) {
            if (set->slots[i] != 0) id_set_put(&larger, set->slots[i]);
        }
        free(set->slots);
        *set = larger;
    }
    id_set_put(set, hash_of(bytes, len));
}

static void id_set_clear(struct id_set *set)
{
    free(set->slots);
    *set = (struct id_set){0};
}

/* ---- connections ---- */

struct connection {
    int fd;
    char *bytes; /* one request, as far as it has come */
    size_t len, capacity;
    uint64_t generation; /* an answer that is due belongs to this one only */
};

/* Answers wait equally long, so they fall due in the order of their requests: a ring. */
struct due {
    int64_t at_us;
    struct connection *connection;
    uint64_t generation;
};

struct sink {
    struct wire_signer signer;
    int epoll_fd, listen_fd;
    int64_t wait_us;
    uint64_t posts, answered, bad, until;
    struct id_set keys, items;
    struct due *ring;
    size_t ring_size, ring_head, ring_count;
    uint64_t generations;
    struct connection *free_connections[4096];
    size_t free_count;
};

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void connection_close(struct sink *sink, struct connection *connection)
{
    close(connection->fd);
    connection->generation = 0;
    connection->len = 0;
    if (sink->free_count < sizeof sink->free_connections / sizeof sink->free_connections[0])
        sink->free_connections[sink->free_count++] = connection; /* never freed: an answer in the ring may name it */
}

static void accept_all(struct sink *sink)
{
    int fd;
    const int one = 1;
    while ((fd = accept4(sink->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        struct connection *connection =
            sink->free_count > 0 ? sink->free_connections[--sink->free_count] : alloc(1, sizeof *connection);
        connection->fd = fd;
        connection->generation = ++sink->generations;
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
        if (epoll_ctl(sink->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) wire_die("epoll_ctl failed");
    }
}

static void answer(struct sink *sink, struct connection *connection)
{
    static const char text[] = "HTTP/1.1 204 No Content\r\n\r\n";
    if (write(connection->fd, text, sizeof text - 1) != sizeof text - 1) {
        connection_close(sink, connection);
        return;
    }
    if (++sink->answered == sink->until) {
        printf("reached %llu\n", (unsigned long long)sink->until);
        fflush(stdout);
    }
}

static void answer_later(struct sink *sink, struct connection *connection)
{
    if (sink->wait_us == 0) {
        answer(sink, connection);
        return;
    }
    if (sink->ring_count == sink->ring_size) wire_die("more requests in hand than the ring has places");
    size_t at = (sink->ring_head + sink->ring_count++) % sink->ring_size;
    sink->ring[at] = (struct due){now_us() + sink->wait_us, connection, connection->generation};
}

/* Answers what is due; gives how many ms the next one has to wait, -1: there is none. */
static int answer_due(struct sink *sink)
{
    while (sink->ring_count > 0) {
        struct due due = sink->ring[sink->ring_head];
        int64_t left_us = due.at_us - now_us();
        if (left_us > 0) return (int)((left_us + 999) / 1000);
        sink->ring_head = (sink->ring_head + 1) % sink->ring_size;
        sink->ring_count--;
        if (due.connection->generation == due.generation) answer(sink, due.connection);
    }
    return -1;
}

/* ---- requests ---- */

struct text {
    const char *bytes;
    size_t len;
};

static struct text header(const char *head, size_t head_len, const char *name)
{
    size_t name_len = strlen(name);
    const char *end = head + head_len;
    for (const char *line = memchr(head, '\n', head_len); line != NULL && ++line < end;
         line = memchr(line, '\n', (size_t)(end - line))) {
        if ((size_t)(end - line) <= name_len || line[name_len] != ':' || strncasecmp(line, name, name_len) != 0)
            continue;
        const char *value = line + name_len + 1;
        while (value < end && *value == ' ')
            value++;
        const char *stop = memchr(value, '\r', (size_t)(end - value));
        return (struct text){value, stop != NULL ? (size_t)(stop - value) : 0};
    }
    return (struct text){NULL, 0};
}

/* The item's id: the value of the first "id" behind "data". */
static struct text item_id(const char *body, size_t len)
{
    static const char data[] = "\"data\":", id[] = "\"id\":\"";
    const char *at = memmem(body, len, data, sizeof data - 1);
    if (at != NULL) at = memmem(at, len - (size_t)(at - body), id, sizeof id - 1);
    if (at == NULL) return (struct text){NULL, 0};
    at += sizeof id - 1;
    const char *stop = memchr(at, '"', len - (size_t)(at - body));
    return (struct text){at, stop != NULL ? (size_t)(stop - at) : 0};
}

static bool count_post(struct sink *sink, const char *head, size_t head_len, const char *body, size_t len)
{
    char expected[WIRE_SIGNATURE_BYTES] = "";
    struct text key = header(head, head_len, "webhook-id"), when = header(head, head_len, "webhook-timestamp"),
                signature = header(head, head_len, "webhook-signature"), item = item_id(body, len);
    if (memcmp(head, "POST ", 5) != 0 || key.len == 0 || when.len == 0 || item.len == 0) return false;
    wire_sign(&sink->signer, key.bytes, key.len, when.bytes, when.len, body, len, expected);
    if (signature.len != strlen(expected) || memcmp(signature.bytes, expected, signature.len) != 0) return false;
    id_set_add(&sink->keys, key.bytes, key.len);
    id_set_add(&sink->items, item.bytes, item.len);
    return true;
}

/* Bytes that the whole request takes; 0: its head is not complete; SIZE_MAX: it is none. */
static size_t request_size(const struct connection *connection, size_t *head_len)
{
    const char *end = memmem(connection->bytes, connection->len, "\r\n\r\n", 4);
    if (end == NULL) return connection->len > HEAD_MAX_BYTES ? SIZE_MAX : 0;
    *head_len = (size_t)(end - connection->bytes) + 4;
    struct text length = header(connection->bytes, *head_len, "content-length");
    if (length.len == 0 || length.len > 9) return SIZE_MAX;
    return *head_len + (size_t)strtoul(length.bytes, NULL, 10);
}

static void grow(struct connection *connection, size_t capacity)
{
    if (capacity <= connection->capacity) return;
    connection->bytes = realloc(connection->bytes, capacity);
    if (connection->bytes == NULL) wire_die("out of memory");
    connection->capacity = capacity;
}

static void read_request(struct sink *sink, struct connection *connection)
{
    grow(connection, 4096);
    ssize_t got = read(connection->fd, connection->bytes + connection->len, connection->capacity - connection->len);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
        connection_close(sink, connection);
        return;
    }
    connection->len += (size_t)got;
    size_t head_len = 0, size = request_size(connection, &head_len);
    if (size == 0 || (size != SIZE_MAX && connection->len < size)) {
        grow(connection, size > 0 ? size : connection->len + 4096);
        return;
    }
    sink->posts++;
    if (size != connection->len || /* nobody pipelines */
        !count_post(sink, connection->bytes, head_len, connection->bytes + head_len, size - head_len)) {
        sink->bad++;
        connection_close(sink, connection);
        return;
    }
    connection->len = 0;
    answer_later(sink, connection);
}

/* ---- the harness ---- */

static void obey(struct sink *sink)
{
    char line[64];
    if (fgets(line, sizeof line, stdin) == NULL) exit(0);
    if (strncmp(line, "until ", 6) == 0) {
        sink->until = strtoull(line + 6, NULL, 10);
        if (sink->answered < sink->until) return; /* it is said when it is reached */
        printf("reached %llu\n", (unsigned long long)sink->until);
    } else if (strncmp(line, "reset", 5) == 0) {
        sink->posts = sink->answered = sink->bad = sink->until = 0;
        id_set_clear(&sink->keys);
        id_set_clear(&sink->items);
        puts("reset");
    } else {
        printf("report %llu %zu %zu %llu\n", (unsigned long long)sink->posts, sink->keys.count, sink->items.count,
               (unsigned long long)sink->bad);
    }
    fflush(stdout);
}

static void listen_here(struct sink *sink)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    sink->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (sink->listen_fd < 0 || bind(sink->listen_fd, (struct sockaddr *)&address, size) != 0 ||
        listen(sink->listen_fd, SOMAXCONN) != 0 ||
        getsockname(sink->listen_fd, (struct sockaddr *)&address, &size) != 0)
        wire_die("cannot listen on 127.0.0.1");
    printf("%u\n", ntohs(address.sin_port));
    fflush(stdout);
}

static void watch(struct sink *sink, int fd, void *what)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = what};
    if (epoll_ctl(sink->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) wire_die("epoll_ctl failed");
}

static void open_sink(struct sink *sink, int argc, char **argv)
{
    const char *secret = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--secret") == 0) secret = argv[i + 1];
        if (strcmp(argv[i], "--wait-ms") == 0) sink->wait_us = strtol(argv[i + 1], NULL, 10) * 1000;
    }
    if (secret == NULL) wire_die("--secret is missing");
    wire_signer_init(&sink->signer, secret);
    sink->ring_size = 65536;
    sink->ring = alloc(sink->ring_size, sizeof *sink->ring);
    sink->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    listen_here(sink);
    watch(sink, sink->listen_fd, &sink->listen_fd);
    watch(sink, STDIN_FILENO, stdin);
    setvbuf(stdin, NULL, _IONBF, 0); /* epoll knows only of what was not read ahead */
}

int main(int argc, char **argv)
{
    static struct sink sink;
    struct epoll_event events[EVENTS_MAX];
    open_sink(&sink, argc, argv);
    for (;;) {
        int count = epoll_wait(sink.epoll_fd, events, EVENTS_MAX, answer_due(&sink));
        for (int i = 0; i < count; i++) {
            void *what = events[i].data.ptr;
            if (what == stdin)
                obey(&sink);
            else if (what == &sink.listen_fd)
                accept_all(&sink);
            else
                read_request(&sink, what);
        }
    }
}
