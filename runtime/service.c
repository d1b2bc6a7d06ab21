/* SPDX-License-Identifier: MIT */
#include "runtime/service.h"

#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/clock.h"
#include "runtime/config.h"
#include "runtime/log.h"
#include "runtime/plain.h"
#include "runtime/signals.h"

#define ASK_LIMIT_S    3
#define ANSWER_BYTES   2048
#define LISTEN_OFF     "off"
#define LISTEN_AUTO    "auto"
#define LISTEN_AUTO_AT "127.0.0.1"

void service_init(struct service *service, const struct service_program *program, struct metrics *metrics)
{
    *service = (struct service){.program = program, .address = "none"};
    service->signal_fd = signals_open();
    service->turns = metrics_counter(metrics, "landfall_loop_turns_total", "Turns of the process's loop");
    service->started_wall_ms = clock_wall_ms();
    service->last_turn_boot_ms = clock_boottime_ms();
}

void service_close(struct service *service)
{
    metrics_http_close(&service->http);
    signals_close(service->signal_fd);
}

/* ---- the page */

static bool live(void *context, char *why, size_t why_size)
{
    const struct service *service = context;
    const int64_t age_ms = clock_boottime_ms() - service->last_turn_boot_ms;
    snprintf(why, why_size, "the loop turned %" PRId64 " ms ago", age_ms);
    return age_ms < SERVICE_LIVE_MS;
}

static bool ready(void *context, char *why, size_t why_size)
{
    const struct service *service = context;
    return service->ready(service->context, why, why_size);
}

/* The address number i where the page may be; false: there are no more. */
static bool address_at(const struct service_program *program, const char *listen, unsigned i,
                       char out[SERVICE_ADDRESS_SIZE])
{
    const bool chosen = strcmp(listen, LISTEN_AUTO) == 0;
    if (strcmp(listen, LISTEN_OFF) == 0 || i >= (chosen ? SERVICE_PORTS : 1)) return false;
    if (chosen)
        snprintf(out, SERVICE_ADDRESS_SIZE, "%s:%u", LISTEN_AUTO_AT, program->first_port + i);
    else
        snprintf(out, SERVICE_ADDRESS_SIZE, "%s", listen);
    return true;
}

bool service_open_page(struct service *service, const char *listen, struct metrics *metrics,
                       metrics_http_check *is_ready, void *context, struct errbuf *err)
{
    char address[SERVICE_ADDRESS_SIZE];
    struct metrics_http_options options = {.listen = address,
                                           .program = service->program->name,
                                           .metrics = metrics,
                                           .live = live,
                                           .ready = ready,
                                           .context = service};
    service->ready = is_ready;
    service->context = context;
    for (unsigned i = 0; !service->http && address_at(service->program, listen, i, address); i++)
        if (metrics_http_open(&options, &service->http, err))
            snprintf(service->address, sizeof service->address, "%.*s:%u", (int)(strrchr(address, ':') - address),
                     address, metrics_http_port(service->http));
    if (service->http) {
        err->text[0] = '\0';
        log_event(LOG_LEVEL_INFO, "metrics.listening", LOG_S("at", service->address));
    } else if (strcmp(listen, LISTEN_AUTO) == 0) {
        log_event(LOG_LEVEL_WARN, "metrics.none", LOG_S("why", err->text),
                  LOG_S("todo", "it works without a page; give it an address with LANDFALL_METRICS_LISTEN"));
        err->text[0] = '\0';
    }
    return service->http || strcmp(listen, LISTEN_AUTO) == 0 || strcmp(listen, LISTEN_OFF) == 0;
}

/* ---- the loop */

int service_timeout_ms(const struct service *service, int limit_ms)
{
    return metrics_http_timeout_ms(service->http, limit_ms);
}

void service_turned(struct service *service)
{
    metrics_http_run(service->http);
    metrics_add(service->turns, "", 1);
    service->last_turn_boot_ms = clock_boottime_ms();
}

struct service_wanted service_wanted(struct service *service, bool stopping)
{
    struct service_wanted wanted = {false, false};
    enum signals_event event;
    while ((event = signals_read(service->signal_fd)) != SIGNALS_NONE) {
        if (event == SIGNALS_RELOAD) {
            wanted.reload = true;
        } else {
            service->stop_at_once = service->stop_at_once || stopping || wanted.stop;
            wanted.stop = true;
        }
    }
    return wanted;
}

/* ---- asking another process */

/* A socket that is connected to it, and does not wait for ever; -1: nobody listens there. */
static int reach(const char *address)
{
    const struct timeval limit = {.tv_sec = ASK_LIMIT_S};
    struct addrinfo *found = NULL;
    struct errbuf ignored;
    if (!metrics_http_resolve(address, &found, &ignored)) return -1;
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0 ||
                    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0 ||
                    connect(fd, found->ai_addr, found->ai_addrlen) != 0)) {
        close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    return fd;
}

/* The whole answer, or what came of it in time. */
static void exchange(int fd, const char *path, char answer[ANSWER_BYTES])
{
    char request[128];
    size_t used = 0;
    int len = snprintf(request, sizeof request, "GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n", path);
    bool more = send(fd, request, (size_t)len, MSG_NOSIGNAL) == len;
    while (more && used < ANSWER_BYTES - 1) {
        ssize_t got = recv(fd, answer + used, ANSWER_BYTES - 1 - used, 0);
        more = got > 0;
        used += more ? (size_t)got : 0;
    }
    answer[used] = '\0';
}

/* "HTTP/1.1 200 OK ... <program>: <words>". */
static enum service_answer read_answer(const char *program, const char *answer, char *says, size_t says_size)
{
    const char *body = strstr(answer, "\r\n\r\n");
    const char *status = strchr(answer, ' ');
    const size_t len = strlen(program);
    if (strncmp(answer, "HTTP/1.", 7) != 0 || !body || !status) return SERVICE_NOBODY;
    body += 4;
    if (strncmp(body, program, len) != 0 || body[len] != ':') return SERVICE_NOBODY;
    snprintf(says, says_size, "%.*s", (int)strcspn(body, "\r\n"), body);
    return strncmp(status, " 200 ", 5) == 0 ? SERVICE_FINE : SERVICE_NOT_FINE;
}

enum service_answer service_ask(const struct service_program *program, const char *listen, const char *path, char *says,
                                size_t says_size)
{
    char address[SERVICE_ADDRESS_SIZE], answer[ANSWER_BYTES];
    enum service_answer result = SERVICE_NOBODY;
    snprintf(says, says_size, "no %s answers at metrics.listen, now %s", program->name, listen);
    for (unsigned i = 0; result == SERVICE_NOBODY && address_at(program, listen, i, address); i++) {
        int fd = reach(address);
        if (fd < 0) continue;
        exchange(fd, path, answer);
        close(fd);
        result = read_answer(program->name, answer, says, says_size);
    }
    return result;
}

int service_check(const struct service_program *program, const char *config_path, const char *word)
{
    char path[16], says[256];
    struct config *config = NULL;
    struct errbuf err = {{0}};
    if (strcmp(word, "live") != 0 && strcmp(word, "ready") != 0) {
        fprintf(stderr, "%s: it is --check, --check=live or --check=ready\n", program->name);
        return 1;
    }
    if (!config_load(config_path, &config, &err)) {
        plain_line(stderr, "%s: %s", program->name, err.text);
        return 1;
    }
    snprintf(path, sizeof path, "/%s", word);
    enum service_answer answer = service_ask(program, config->metrics_listen, path, says, sizeof says);
    plain_line(answer == SERVICE_FINE ? stdout : stderr, "%s", says);
    config_free(&config);
    return answer == SERVICE_FINE ? 0 : 1;
}
