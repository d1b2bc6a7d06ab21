/* SPDX-License-Identifier: MIT */
#include "ledger/link.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/backoff.h"
#include "ledger/answer.h"
#include "ledger/errors.h"
#include "runtime/die.h"
#include "runtime/random.h"

struct redis_link {
    char *unix_path, *host, *user, *name;
    int port, db;
    bool tls;
    struct secret *password;

    redisContext *context; /* NULL: closed */
    int64_t timeout_ms;    /* what the socket is set to */
    char run_id[LINK_RUN_ID_BYTES];
    struct server_clock clock;
    int64_t sent_boot_ms, received_boot_ms; /* of the newest round */
    uint64_t round_trips;
    int failures; /* since the last round that was answered */
    int64_t next_try_ms;
    bool must_stop;
    bool opening; /* an answered handshake is no round that was answered */
};

static char *copy(const char *text)
{
    return text ? xstrdup(text) : NULL;
}

struct redis_link *link_new(const struct link_address *address)
{
    struct redis_link *link = xcalloc(1, sizeof *link);
    link->unix_path = copy(address->unix_path);
    link->host = copy(address->host);
    link->user = copy(address->user);
    link->name = copy(address->name);
    link->port = address->port;
    link->db = address->db;
    link->tls = address->tls;
    if (address->password) link->password = secret_copy(address->password);
    return link;
}

void link_free(struct redis_link **link)
{
    if (!*link) return;
    link_close(*link);
    secret_free(&(*link)->password);
    free((*link)->unix_path);
    free((*link)->host);
    free((*link)->user);
    free((*link)->name);
    free(*link);
    *link = NULL;
}

void link_set_password(struct redis_link *link, const struct secret *password)
{
    struct secret *fresh = password ? secret_copy(password) : NULL;
    secret_free(&link->password);
    link->password = fresh;
}

void link_close(struct redis_link *link)
{
    if (link->context) redisFree(link->context);
    link->context = NULL;
    link->run_id[0] = '\0';
}

/* The connection is never used again; the next try is put off. */
static bool drop(struct redis_link *link)
{
    link_close(link);
    if (link->failures < 1000) link->failures++;
    uint32_t jitter = random_below(UINT32_MAX);
    link->next_try_ms =
        clock_boottime_ms() + backoff_ms(link->failures, LINK_BACKOFF_BASE_MS, LINK_BACKOFF_CAP_MS, jitter);
    return false;
}

bool link_is_open(const struct redis_link *link)
{
    return link->context != NULL;
}

int64_t link_next_try_ms(const struct redis_link *link)
{
    return link->context ? 0 : link->next_try_ms;
}

const char *link_run_id(const struct redis_link *link)
{
    return link->run_id;
}

struct server_clock *link_clock(struct redis_link *link)
{
    return &link->clock;
}

uint64_t link_round_trips(const struct redis_link *link)
{
    return link->round_trips;
}

bool link_must_stop(const struct redis_link *link)
{
    return link->must_stop;
}

int link_fd(const struct redis_link *link)
{
    return link->context ? link->context->fd : -1;
}

void link_note_time(struct redis_link *link, int64_t server_ms)
{
    server_clock_note(&link->clock, server_ms, link->sent_boot_ms, link->received_boot_ms);
}

/* ---- one round ---- */

static struct timeval timeval_of(int64_t ms)
{
    return (struct timeval){.tv_sec = (time_t)(ms / 1000), .tv_usec = (suseconds_t)(ms % 1000 * 1000)};
}

static const char *words_of(const redisContext *context)
{
    if (context->err == REDIS_ERR_IO) return strerror(errno);
    return context->errstr[0] ? context->errstr : "closed by the server";
}

/* A server that has no room, or refuses strangers, says so and closes before anybody has asked. */
static bool write_failed(const struct redis_link *link, struct errbuf *err)
{
    char text[256];
    char word[ERRORS_WORD_BYTES];
    ssize_t bytes = recv(link->context->fd, text, sizeof text - 1, MSG_DONTWAIT);
    if (bytes <= 1 || text[0] != '-') return errbuf_set(err, "redis: writing: %s", words_of(link->context));
    text[bytes] = '\0';
    return errbuf_set(err, "redis: the server closed the connection: %s: %s", errors_word(text + 1, word),
                      errors_advice(text + 1));
}

static bool write_all(struct redis_link *link, int64_t deadline_ms, struct errbuf *err)
{
    int done = 0;
    while (!done) {
        if (redisBufferWrite(link->context, &done) != REDIS_OK) return write_failed(link, err);
        if (!done && clock_boottime_ms() >= deadline_ms)
            return errbuf_set(err, "redis: the server takes nothing in; the time limit of the round is over");
    }
    return true;
}

/* Next answer, or NULL with err. The socket blocks, so it is read only when poll() says that there is something. */
static struct redisReply *read_one(struct redis_link *link, int64_t deadline_ms, struct errbuf *err)
{
    void *reply = NULL;
    for (;;) {
        if (redisGetReplyFromReader(link->context, &reply) != REDIS_OK) {
            errbuf_set(err, "redis: the answer cannot be read: %s", link->context->errstr);
            return NULL;
        }
        if (reply) return reply;
        int64_t left = deadline_ms - clock_boottime_ms();
        struct pollfd fd = {.fd = link->context->fd, .events = POLLIN};
        int ready = left > 0 ? poll(&fd, 1, (int)left) : 0;
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) {
            errbuf_set(err, "redis: no answer within the time limit of the round");
            return NULL;
        }
        if (redisBufferRead(link->context) != REDIS_OK) {
            errbuf_set(err, "redis: reading: %s", words_of(link->context));
            return NULL;
        }
    }
}

/* Errors that say: this connection, or this server, is the wrong one. */
static bool look_at_errors(struct redis_link *link, struct redisReply **replies, size_t count, struct errbuf *err)
{
    for (size_t i = 0; i < count; i++) {
        const char *text = answer_error(replies[i]);
        enum errors_action action = text ? errors_action(text) : ERRORS_WAIT;
        if (action != ERRORS_RECONNECT && action != ERRORS_STOP) continue;
        char word[ERRORS_WORD_BYTES];
        link->must_stop |= action == ERRORS_STOP;
        return errbuf_set(err, "redis: %s: %s", errors_word(text, word), errors_advice(text));
    }
    return true;
}

bool link_ask(struct redis_link *link, const struct link_command *commands, size_t count, struct redisReply **replies,
              int64_t limit_ms, struct errbuf *err)
{
    memset(replies, 0, count * sizeof *replies);
    if (!link->context) return errbuf_set(err, "redis: not connected");
    if (limit_ms != link->timeout_ms && redisSetTimeout(link->context, timeval_of(limit_ms)) != REDIS_OK) {
        errbuf_set(err, "redis: the socket takes no time limit: %s", words_of(link->context));
        return drop(link);
    }
    link->timeout_ms = limit_ms;
    link->sent_boot_ms = clock_boottime_ms();
    int64_t deadline_ms = link->sent_boot_ms + limit_ms;
    for (size_t i = 0; i < count; i++) {
        if (redisAppendCommandArgv(link->context, commands[i].argc, commands[i].argv, commands[i].argv_bytes) !=
            REDIS_OK)
            die("ledger: out of memory for a command");
    }
    if (!write_all(link, deadline_ms, err)) return drop(link);
    for (size_t i = 0; i < count; i++) {
        replies[i] = read_one(link, deadline_ms, err);
        if (!replies[i]) return drop(link);
    }
    link->received_boot_ms = clock_boottime_ms();
    link->round_trips++;
    return true;
}

bool link_exchange(struct redis_link *link, const struct link_command *commands, size_t count,
                   struct redisReply **replies, int64_t limit_ms, struct errbuf *err)
{
    if (!link_ask(link, commands, count, replies, limit_ms, err)) return false;
    if (!look_at_errors(link, replies, count, err)) return drop(link);
    if (!link->opening) link->failures = 0;
    return true;
}

bool link_send(struct redis_link *link, const struct link_command *command, struct errbuf *err)
{
    if (!link->context) return errbuf_set(err, "redis: not connected");
    link->sent_boot_ms = clock_boottime_ms();
    if (redisAppendCommandArgv(link->context, command->argc, command->argv, command->argv_bytes) != REDIS_OK)
        die("ledger: out of memory for a command");
    return write_all(link, link->sent_boot_ms + LINK_CONNECT_LIMIT_MS, err) || drop(link);
}

enum link_poll link_receive(struct redis_link *link, struct redisReply **reply, struct errbuf *err)
{
    void *found = NULL;
    *reply = NULL;
    if (!link->context) {
        errbuf_set(err, "redis: not connected");
        return LINK_LOST;
    }
    struct pollfd fd = {.fd = link->context->fd, .events = POLLIN};
    bool readable = poll(&fd, 1, 0) > 0;
    if (readable && redisBufferRead(link->context) != REDIS_OK) {
        errbuf_set(err, "redis: reading: %s", words_of(link->context));
        drop(link);
        return LINK_LOST;
    }
    if (redisGetReplyFromReader(link->context, &found) != REDIS_OK) {
        errbuf_set(err, "redis: the answer cannot be read: %s", link->context->errstr);
        drop(link);
        return LINK_LOST;
    }
    if (!found) return LINK_NOTHING;
    *reply = found;
    link->received_boot_ms = clock_boottime_ms();
    link->failures = 0;
    if (look_at_errors(link, reply, 1, err)) return LINK_ANSWER;
    freeReplyObject(found);
    *reply = NULL;
    drop(link);
    return LINK_LOST;
}

/* ---- connecting ---- */

/* One command of the handshake. Its arguments may be secret, so the server's text is not repeated: servers quote the
 * arguments of commands that they do not know. NULL: err has the words, the caller drops the link. */
static struct redisReply *ask(struct redis_link *link, int argc, const char **argv, struct errbuf *err)
{
    size_t bytes[4];
    for (int i = 0; i < argc; i++)
        bytes[i] = strlen(argv[i]);
    const struct link_command command = {argc, argv, bytes};
    struct redisReply *reply = NULL;
    bool ok = link_exchange(link, &command, 1, &reply, LINK_CONNECT_LIMIT_MS, err);
    const char *text = answer_error(reply);
    if (text) {
        char word[ERRORS_WORD_BYTES];
        errbuf_set(err, "redis: %s is answered with %s: %s", argv[0], errors_word(text, word), errors_advice(text));
    }
    if (ok && !text) return reply;
    if (reply) freeReplyObject(reply);
    return NULL;
}

static bool tell(struct redis_link *link, int argc, const char **argv, struct errbuf *err)
{
    struct redisReply *reply = ask(link, argc, argv, err);
    if (!reply) return false;
    freeReplyObject(reply);
    return true;
}

static bool authenticate(struct redis_link *link, struct errbuf *err)
{
    if (!link->password) return true;
    size_t len;
    const char *password = secret_bytes(link->password, &len);
    const char *argv[] = {"AUTH", link->user ? link->user : password, password};
    return tell(link, link->user ? 3 : 2, argv, err);
}

static bool introduce(struct redis_link *link, struct errbuf *err)
{
    char db[16];
    snprintf(db, sizeof db, "%d", link->db);
    const char *setname[] = {"CLIENT", "SETNAME", link->name};
    const char *select[] = {"SELECT", db};
    if (link->name && !tell(link, 3, setname, err)) return false;
    return link->db == 0 || tell(link, 2, select, err);
}

static bool check_master(struct redis_link *link, struct errbuf *err)
{
    const char *argv[] = {"ROLE"};
    struct redisReply *reply = ask(link, 1, argv, err);
    if (!reply) return false;
    bool master = answer_is(answer_at(reply, 0), "master");
    freeReplyObject(reply);
    return master || errbuf_set(err, "redis: this server is no master; give the address of the master");
}

static bool learn_run_id(struct redis_link *link, struct errbuf *err)
{
    const char *argv[] = {"INFO", "server"};
    struct redisReply *reply = ask(link, 2, argv, err);
    if (!reply) return false;
    const char *at = strstr(answer_text(reply, NULL), "run_id:");
    size_t len = at ? strspn(at + 7, "0123456789abcdef") : 0;
    bool ok = len > 0 && len < LINK_RUN_ID_BYTES;
    if (ok) snprintf(link->run_id, sizeof link->run_id, "%.*s", (int)len, at + 7);
    freeReplyObject(reply);
    return ok || errbuf_set(err, "redis: INFO server names no run_id; is this a Redis server?");
}

static bool learn_time(struct redis_link *link, struct errbuf *err)
{
    const char *argv[] = {"TIME"};
    struct redisReply *reply = ask(link, 1, argv, err);
    if (!reply) return false;
    int64_t seconds, micros;
    bool ok = answer_number(answer_at(reply, 0), &seconds) && answer_number(answer_at(reply, 1), &micros) &&
              seconds > 0 && seconds < INT64_MAX / 2000;
    if (ok) link_note_time(link, seconds * 1000 + micros / 1000);
    freeReplyObject(reply);
    return ok || errbuf_set(err, "redis: TIME is answered with something else");
}

static bool connect_socket(struct redis_link *link, struct errbuf *err)
{
    if (link->tls)
        return errbuf_set(err, "redis: TLS is not built in; put a TLS proxy (stunnel, the service mesh) in front");
    struct timeval limit = timeval_of(LINK_CONNECT_LIMIT_MS);
    link->context = link->unix_path ? redisConnectUnixWithTimeout(link->unix_path, limit)
                                    : redisConnectWithTimeout(link->host, link->port, limit);
    link->timeout_ms = 0;
    if (!link->context) return errbuf_set(err, "redis: out of memory for a connection");
    if (link->context->err) {
        const char *words = words_of(link->context);
        if (link->unix_path) return errbuf_set(err, "redis: cannot connect to %s: %s", link->unix_path, words);
        return errbuf_set(err, "redis: cannot connect to %s:%d: %s", link->host, link->port, words);
    }
    if (!link->unix_path) (void)redisEnableKeepAlive(link->context);
    return true;
}

bool link_open(struct redis_link *link, struct errbuf *err)
{
    link_close(link);
    link->opening = true;
    bool ok = connect_socket(link, err) && authenticate(link, err) && introduce(link, err) && check_master(link, err) &&
              learn_run_id(link, err) && learn_time(link, err);
    link->opening = false;
    return ok || drop(link);
}

bool link_keep(struct redis_link *link, struct errbuf *err)
{
    if (err) err->text[0] = '\0';
    if (link->context) return true;
    if (link->must_stop || clock_boottime_ms() < link->next_try_ms) return false;
    return link_open(link, err);
}
