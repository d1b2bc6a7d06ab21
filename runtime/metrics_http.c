/* SPDX-License-Identifier: MIT */
#include "runtime/metrics_http.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "runtime/buf.h"
#include "runtime/die.h"

#define CONNECTION_MEMORY_BYTES 16384 /* request line and headers; what is larger is answered 431 by the library */
#define WHY_SIZE                256

struct metrics_http {
    struct metrics_http_options options;
    struct MHD_Daemon *daemon;
    int epoll_fd;
    unsigned port;
};

/* Takes own_body, which came from malloc. */
static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, char *own_body, size_t len)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(len, own_body, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        free(own_body);
        return MHD_NO;
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8");
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED) {
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    }
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned status, const char *text)
{
    char *body = xformat("%s\n", text);
    return answer(connection, status, body, strlen(body));
}

static enum MHD_Result answer_metrics(struct MHD_Connection *connection, const struct metrics *metrics)
{
    struct buf text;
    size_t len = 0;

    buf_init(&text, METRICS_TEXT_MAX_BYTES);
    metrics_write(metrics, &text);
    if (text.cut) { /* half a text would read as if the rest were gone */
        buf_fini(&text);
        return answer_text(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "the metrics are too large to be served");
    }
    char *body = buf_take(&text, &len);
    return answer(connection, MHD_HTTP_OK, body, len);
}

static enum MHD_Result answer_check(struct MHD_Connection *connection, const struct metrics_http_options *options,
                                    metrics_http_check *check)
{
    char why[WHY_SIZE] = "", text[WHY_SIZE + 64];
    bool fine = !check || check(options->context, why, sizeof why);
    why[strcspn(why, "\r\n")] = '\0';
    if (why[0] == '\0') {
        (void)snprintf(why, sizeof why, "%s", fine ? "ok" : "not ok");
    }
    (void)snprintf(text, sizeof text, "%s%s%s", options->program ? options->program : "", options->program ? ": " : "",
                   why);
    return answer_text(connection, fine ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE, text);
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *upload, size_t *upload_size, void **state)
{
    const struct metrics_http *server = context;
    (void)version, (void)upload, (void)upload_size, (void)state;

    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
        return answer_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET or HEAD");
    }
    if (strcmp(url, "/metrics") == 0) {
        return answer_metrics(connection, server->options.metrics);
    }
    if (strcmp(url, "/live") == 0) {
        return answer_check(connection, &server->options, server->options.live);
    }
    if (strcmp(url, "/ready") == 0) {
        return answer_check(connection, &server->options, server->options.ready);
    }
    return answer_text(connection, MHD_HTTP_NOT_FOUND, "/metrics, /live or /ready");
}

/* getaddrinfo() of glibc takes 65536 for 0. */
static bool is_port(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits <= 5 && text[digits] == '\0' && strtoul(text, NULL, 10) <= 65535;
}

/* "host:port" or "[host]:port" with a numeric host: a name server has no say in where a process listens. */
bool metrics_http_resolve(const char *listen_at, struct addrinfo **address, struct errbuf *err)
{
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV};
    char host[64];
    const char *colon = strrchr(listen_at, ':');
    size_t host_len = colon ? (size_t)(colon - listen_at) : 0;
    const char *from = listen_at;

    if (host_len > 2 && from[0] == '[' && from[host_len - 1] == ']') {
        from++;
        host_len -= 2;
    }
    if (host_len == 0 || host_len >= sizeof host) {
        return errbuf_set(err, "metrics.listen: \"%s\" must be auto, off, or address:port, such as 127.0.0.1:9464",
                          listen_at);
    }
    memcpy(host, from, host_len);
    host[host_len] = '\0';
    if (!is_port(colon + 1) || getaddrinfo(host, colon + 1, &hints, address) != 0) {
        return errbuf_set(err, "metrics.listen: \"%s\" must be a numeric address and a port from 0 to 65535",
                          listen_at);
    }
    return true;
}

/* The port that a bound socket has. */
static unsigned port_of(int fd)
{
    struct sockaddr_storage bound = {0};
    socklen_t size = sizeof bound;
    if (getsockname(fd, (struct sockaddr *)&bound, &size) != 0) {
        return 0;
    }
    /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): it was zeroed, and getsockname() filled it */
    return ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
                                             : ((struct sockaddr_in *)&bound)->sin_port);
}

/* A listening socket of our own, because the library says only that it failed, not why. -1 with err. */
static int open_socket(const char *listen_at, struct errbuf *err)
{
    struct addrinfo *address = NULL;
    const int on = 1;
    if (!metrics_http_resolve(listen_at, &address, err)) {
        return -1;
    }
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): resolved, there is an address */
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, address->ai_addr, address->ai_addrlen) != 0 || listen(fd, METRICS_HTTP_CONNECTIONS_MAX) != 0) {
        errbuf_set(err, "metrics.listen: cannot listen at %s: %s%s", listen_at, strerror(errno),
                   errno == EADDRINUSE ? "; each process needs its own, give this one LANDFALL_METRICS_LISTEN" : "");
        if (fd >= 0) {
            close(fd);
        }
        fd = -1;
    }
    freeaddrinfo(address);
    return fd;
}

bool metrics_http_open(const struct metrics_http_options *options, struct metrics_http **server, struct errbuf *err)
{
    *server = NULL;
    int fd = open_socket(options->listen, err);
    if (fd < 0) {
        return false;
    }
    struct metrics_http *opened = xcalloc(1, sizeof *opened);
    opened->options = *options;
    opened->port = port_of(fd);
    unsigned timeout_s = options->connection_timeout_s ? options->connection_timeout_s : METRICS_HTTP_TIMEOUT_S;
    opened->daemon = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, handle, opened, MHD_OPTION_LISTEN_SOCKET, fd,
                                      MHD_OPTION_CONNECTION_LIMIT, (unsigned)METRICS_HTTP_CONNECTIONS_MAX,
                                      MHD_OPTION_CONNECTION_TIMEOUT, timeout_s, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                                      (size_t)CONNECTION_MEMORY_BYTES, MHD_OPTION_END);
    const union MHD_DaemonInfo *info =
        opened->daemon ? MHD_get_daemon_info(opened->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    if (!info) {
        errbuf_set(err, "metrics.listen: the HTTP server cannot be started at %s", options->listen);
        if (!opened->daemon) {
            close(fd); /* else the daemon closes it */
        }
        metrics_http_close(&opened);
        return false;
    }
    opened->epoll_fd = info->epoll_fd;
    *server = opened;
    return true;
}

void metrics_http_close(struct metrics_http **server)
{
    if (*server) {
        if ((*server)->daemon) {
            MHD_stop_daemon((*server)->daemon); /* closes the listening socket too */
        }
        free(*server);
        *server = NULL;
    }
}

int metrics_http_fd(const struct metrics_http *server)
{
    return server ? server->epoll_fd : -1;
}

int metrics_http_timeout_ms(const struct metrics_http *server, int limit_ms)
{
    MHD_UNSIGNED_LONG_LONG wanted_ms = 0;
    if (!server || MHD_get_timeout(server->daemon, &wanted_ms) != MHD_YES || wanted_ms > (unsigned long long)limit_ms) {
        return limit_ms;
    }
    return (int)wanted_ms;
}

void metrics_http_run(struct metrics_http *server)
{
    if (server) {
        MHD_run(server->daemon);
    }
}

unsigned metrics_http_port(const struct metrics_http *server)
{
    return server->port;
}
