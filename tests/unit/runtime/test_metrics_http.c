/* SPDX-License-Identifier: MIT */
/* The endpoint as a loop drives it: answers, refusals, half requests, too many connections. One thread is client and
 * server. */
#include "tests/unit/runtime/test.h"

#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include "runtime/clock.h"
#include "runtime/metrics_http.h"

#define PATIENCE_MS 5000

struct fixture {
    struct metrics *metrics;
    struct metrics_http *server;
    bool ready;
};

static bool check_live(void *context, char *why, size_t why_size)
{
    (void)context, (void)why, (void)why_size;
    return true;
}

static bool check_ready(void *context, char *why, size_t why_size)
{
    const struct fixture *fixture = context;
    (void)snprintf(why, why_size, "%s", fixture->ready ? "Redis answers writes" : "Redis does not answer\nfor 12 s");
    return fixture->ready;
}

static int start(void **state)
{
    static struct fixture fixture;
    struct errbuf err = {""};
    fixture = (struct fixture){.metrics = metrics_new(), .ready = true};
    metrics_set(metrics_gauge(fixture.metrics, "landfall_in_flight", "Transfers in flight"), "", 3);
    const struct metrics_http_options options = {.listen = "127.0.0.1:0",
                                                 .metrics = fixture.metrics,
                                                 .live = check_live,
                                                 .ready = check_ready,
                                                 .context = &fixture,
                                                 .connection_timeout_s = 1};
    if (!metrics_http_open(&options, &fixture.server, &err)) print_error("%s\n", err.text);
    *state = &fixture;
    return fixture.server ? 0 : -1;
}

static int stop(void **state)
{
    struct fixture *fixture = *state;
    metrics_http_close(&fixture->server);
    metrics_free(&fixture->metrics);
    return 0;
}

static int client(const struct fixture *fixture)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)metrics_http_port(fixture->server)),
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* One round of the loop: wait as a program does, then run. */
static void drive(struct fixture *fixture, int client_fd)
{
    struct pollfd wait[] = {{.fd = metrics_http_fd(fixture->server), .events = POLLIN},
                            {.fd = client_fd, .events = POLLIN}};
    poll(wait, 2, metrics_http_timeout_ms(fixture->server, 50));
    metrics_http_run(fixture->server);
}

/* Drives until the server closes; returns what came. */
static const char *answer_on(struct fixture *fixture, int fd)
{
    static char answer[64 * 1024];
    size_t len = 0;
    int64_t give_up = clock_boottime_ms() + PATIENCE_MS;
    for (;;) {
        if (clock_boottime_ms() > give_up) fail_msg("the server did not close the connection");
        drive(fixture, fd);
        ssize_t got = recv(fd, answer + len, sizeof answer - 1 - len, MSG_DONTWAIT);
        if (got == 0) break;
        if (got > 0) len += (size_t)got;
    }
    close(fd);
    answer[len] = '\0';
    return answer;
}

static const char *ask(struct fixture *fixture, const char *request)
{
    int fd = client(fixture);
    assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    return answer_on(fixture, fd);
}

static const struct {
    const char *request;
    bool ready;
    const char *status, *part, *absent;
} requests[] = {
#define CLOSE " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    {"GET /metrics" CLOSE, true, "HTTP/1.1 200 ", "\r\n\r\n# HELP landfall_metrics_dropped_total", "zzz"},
    {"GET /metrics" CLOSE, true, "HTTP/1.1 200 ", "\nlandfall_in_flight 3\n", "zzz"},
    {"GET /metrics" CLOSE, true, "HTTP/1.1 200 ", "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n", "zzz"},
    {"HEAD /metrics" CLOSE, true, "HTTP/1.1 200 ", "Content-Length: ", "# HELP"},
    {"GET /live" CLOSE, true, "HTTP/1.1 200 ", "\r\n\r\nok\n", "zzz"},
    {"GET /ready" CLOSE, true, "HTTP/1.1 200 ", "\r\n\r\nRedis answers writes\n", "zzz"},
    {"GET /ready" CLOSE, false, "HTTP/1.1 503 ", "\r\n\r\nRedis does not answer\n", "for 12 s"}, /* one line */
    {"GET /ready?x=1" CLOSE, false, "HTTP/1.1 503 ", "\r\n\r\nRedis does not answer\n", "zzz"},
    {"GET /" CLOSE, true, "HTTP/1.1 404 ", "/metrics, /live or /ready", "# HELP"},
    {"GET /metrics/../etc" CLOSE, true, "HTTP/1.1 404 ", "/metrics, /live or /ready", "# HELP"},
    {"POST /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc", true, "HTTP/1.1 405 ",
     "Allow: GET, HEAD\r\n", "# HELP"},
    {"DELETE /metrics" CLOSE, true, "HTTP/1.1 405 ", "Allow: GET, HEAD\r\n", "# HELP"},
    {"OPTIONS /live" CLOSE, true, "HTTP/1.1 405 ", "GET or HEAD", "zzz"},
};

static void test_requests(void **state)
{
    struct fixture *fixture = *state;
    for (size_t i = 0; i < COUNT(requests); i++) {
        fixture->ready = requests[i].ready;
        const char *answer = ask(fixture, requests[i].request);
        if (strncmp(answer, requests[i].status, strlen(requests[i].status)) != 0)
            fail_msg("%s: %s", requests[i].request, answer);
        assert_contains(answer, requests[i].part);
        assert_lacks(answer, requests[i].absent);
    }
}

/* Half a request is closed by the time limit, because the loop's wait asks for it; nothing else wakes the loop. */
static void test_half_a_request(void **state)
{
    static const char half[] = "GET /metrics HTTP/1.1\r\nHost:";
    struct fixture *fixture = *state;
    int64_t started = clock_boottime_ms();
    int fd = client(fixture);
    assert_int_equal(metrics_http_timeout_ms(fixture->server, 60000), 60000); /* nothing to wait for */
    assert_int_equal(send(fd, half, sizeof half - 1, MSG_NOSIGNAL), sizeof half - 1);
    while (metrics_http_timeout_ms(fixture->server, 60000) == 60000) {
        assert_true(clock_boottime_ms() - started < PATIENCE_MS);
        drive(fixture, fd);
    }
    assert_true(metrics_http_timeout_ms(fixture->server, 60000) <= 1000);
    assert_lacks(answer_on(fixture, fd), "# HELP");
    assert_true(clock_boottime_ms() - started >= 500);
}

static void test_too_many_connections(void **state)
{
    struct fixture *fixture = *state;
    int fds[2 * METRICS_HTTP_CONNECTIONS_MAX];
    size_t served = 0;
    for (size_t i = 0; i < COUNT(fds); i++) {
        fds[i] = client(fixture);
        drive(fixture, -1);
    }
    static const char request[] = "GET /live" CLOSE;
    for (size_t i = 0; i < COUNT(fds); i++)
        (void)!send(fds[i], request, sizeof request - 1, MSG_NOSIGNAL);
    for (size_t i = 0; i < COUNT(fds); i++)
        served += strstr(answer_on(fixture, fds[i]), "200 OK") != NULL;
    assert_true(served >= METRICS_HTTP_CONNECTIONS_MAX); /* and the others were closed or waited for a place */
    assert_contains(ask(fixture, request), "200 OK");
}

static void test_a_large_request(void **state)
{
    struct fixture *fixture = *state;
    static char request[64 * 1024];
    (void)snprintf(request, sizeof request, "GET /metrics HTTP/1.1\r\nHost: x\r\nX: %050000d\r\n\r\n", 1);
    int fd = client(fixture);
    (void)!send(fd, request, strlen(request), MSG_NOSIGNAL | MSG_DONTWAIT);
    int64_t give_up = clock_boottime_ms() + PATIENCE_MS;
    char answer[1024];
    ssize_t got = 0;
    while ((got = recv(fd, answer, sizeof answer - 1, MSG_DONTWAIT)) < 0 && clock_boottime_ms() < give_up) {
        if (errno == ECONNRESET) break;
        drive(fixture, fd);
    }
    if (got > 0) {
        answer[got] = '\0';
        assert_lacks(answer, "200 OK");
    }
    close(fd);
    assert_contains(ask(fixture, "GET /live" CLOSE), "200 OK");
}

static size_t open_descriptors(void)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static void test_addresses(void **state)
{
    static const struct {
        const char *listen, *error; /* error NULL: taken */
    } addresses[] = {
        {"127.0.0.1:0", NULL},
        {"0.0.0.0:0", NULL},
        {"9464", "must be auto, off, or address:port"},
        {":9464", "must be auto, off, or address:port"},
        {"", "must be auto, off, or address:port"},
        {"localhost:9464", "must be a numeric address"},
        {"127.0.0.1:http", "must be a numeric address"},
        {"127.0.0.1:65536", "must be a numeric address"},
        {"192.0.2.1:9464", "cannot listen at 192.0.2.1:9464: "},
    };
    const struct fixture *fixture = *state;
    size_t before = open_descriptors();
    for (size_t i = 0; i < COUNT(addresses); i++) {
        struct metrics_http *server = NULL;
        struct errbuf err = {""};
        const struct metrics_http_options options = {.listen = addresses[i].listen, .metrics = fixture->metrics};
        bool done = metrics_http_open(&options, &server, &err);
        if (done != !addresses[i].error) fail_msg("%s: %s", addresses[i].listen, err.text);
        if (!done) assert_contains(err.text, addresses[i].error);
        assert_true(!done || metrics_http_port(server) > 0);
        metrics_http_close(&server);
        assert_int_equal(open_descriptors(), before);
    }
}

static void test_a_port_in_use(void **state)
{
    const struct fixture *fixture = *state;
    struct metrics_http *server = NULL;
    struct errbuf err;
    char listen_at[64];
    (void)snprintf(listen_at, sizeof listen_at, "127.0.0.1:%u", metrics_http_port(fixture->server));
    const struct metrics_http_options options = {.listen = listen_at, .metrics = fixture->metrics};
    assert_false(metrics_http_open(&options, &server, &err));
    assert_contains(err.text, ": Address already in use");
}

static void test_no_server(void **state)
{
    (void)state;
    assert_int_equal(metrics_http_fd(NULL), -1);
    assert_int_equal(metrics_http_timeout_ms(NULL, 250), 250);
    metrics_http_run(NULL);
}

#define SERVED(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVED(test_requests),
        SERVED(test_half_a_request),
        SERVED(test_too_many_connections),
        SERVED(test_a_large_request),
        SERVED(test_addresses),
        SERVED(test_a_port_in_use),
        cmocka_unit_test(test_no_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
