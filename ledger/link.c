/* SPDX-License-Identifier: MIT */
#include "ledger/link.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/backoff.h"
#include "ledger/answer.h"
#include "ledger/errors.h"
#include "ledger/link_private.h"
#include "runtime/die.h"
#include "runtime/log.h"
#include "runtime/random.h"

static char *copy(const char *text)
{
    return text ? xstrdup(text) : NULL;
}

struct redis_link *link_new(const struct link_address *address)
{
    struct errbuf err;
    struct redis_link *link = xcalloc(1, sizeof *link);
    if (!config_redis_parse(address->url, &link->where, &err)) die("ledger: %s", err.text);
    link->name = copy(address->name);
    link->probe_key = copy(address->probe_key);
    link->ca_file = copy(address->ca_file);
    link->cert_file = copy(address->cert_file);
    link->key_file = copy(address->key_file);
    if (address->password) link->password = secret_copy(address->password);
    if (address->sentinel_password) link->sentinel_password = secret_copy(address->sentinel_password);
    return link;
}

void link_free(struct redis_link **link)
{
    if (!*link) return;
    link_close(*link);
    secret_free(&(*link)->password);
    secret_free(&(*link)->sentinel_password);
    config_redis_fini(&(*link)->where);
    free((*link)->name);
    free((*link)->probe_key);
    free((*link)->ca_file);
    free((*link)->cert_file);
    free((*link)->key_file);
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
    while (link->kept_at < link->kept_count)
        answer_free(link->kept[link->kept_at++]);
    free(link->kept);
    link->kept = NULL;
    link->kept_count = link->kept_at = link->awaited = 0;
    link->wrong_server = false;
    link->context = NULL;
    link->run_id[0] = '\0';
}

bool link_drop(struct redis_link *link)
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

bool link_was_replica(const struct redis_link *link)
{
    return link->was_replica;
}

void link_note_master(struct redis_link *link)
{
    link->was_replica = false;
}

int link_fd(const struct redis_link *link)
{
    return link->context ? link->context->fd : -1;
}

void link_note_time(struct redis_link *link, int64_t server_ms)
{
    server_clock_note(&link->clock, server_ms, link->sent_boot_ms, link->received_boot_ms);
}

/* ---- writing, reading ---- */

struct timeval link_timeval(int64_t ms)
{
    return (struct timeval){.tv_sec = (time_t)(ms / 1000), .tv_usec = (suseconds_t)(ms % 1000 * 1000)};
}

const char *link_words(const struct redis_link *link)
{
    const redisContext *context = link->context;
    if (context->err == REDIS_ERR_IO && !link->where.tls) return strerror(errno);
    return context->errstr[0] ? context->errstr : "closed by the server";
}

/* A server that has no room, or refuses strangers, says so and closes before anybody has asked. */
static bool write_failed(const struct redis_link *link, struct errbuf *err)
{
    char text[256];
    char word[ERRORS_WORD_BYTES];
    ssize_t bytes = recv(link->context->fd, text, sizeof text - 1, MSG_DONTWAIT);
    if (bytes <= 1 || text[0] != '-') return errbuf_set(err, "redis: writing: %s", link_words(link));
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

/* The next answer of the stream. The socket blocks, so it is read only when poll() says that there is something.
 * LINK_LOST: the caller drops the link. */
static enum link_poll read_one(struct redis_link *link, int64_t until_ms, struct redisReply **reply, struct errbuf *err)
{
    void *found = NULL;
    for (;;) {
        if (redisGetReplyFromReader(link->context, &found) != REDIS_OK) {
            errbuf_set(err, "redis: the answer cannot be read: %s", link->context->errstr);
            return LINK_LOST;
        }
        *reply = found;
        if (found) return LINK_ANSWER;
        if (until_ms > 0) log_flush(); /* the wait may be long */
        int64_t left = until_ms > 0 ? until_ms - clock_boottime_ms() : 0;
        struct pollfd fd = {.fd = link->context->fd, .events = POLLIN};
        int ready = poll(&fd, 1, left > 0 ? (int)left : 0);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return LINK_NOTHING;
        if (redisBufferRead(link->context) != REDIS_OK) {
            errbuf_set(err, "redis: reading: %s", link_words(link));
            return LINK_LOST;
        }
    }
}

/* As read_one(), where the answer has to come by then. */
static bool must_read(struct redis_link *link, int64_t deadline_ms, struct redisReply **reply, struct errbuf *err)
{
    enum link_poll got = read_one(link, deadline_ms, reply, err);
    if (got == LINK_NOTHING) errbuf_set(err, "redis: no answer within the time limit of the round");
    return got == LINK_ANSWER;
}

/* What is awaited comes first on the wire. */
static bool keep_awaited(struct redis_link *link, int64_t deadline_ms, struct errbuf *err)
{
    if (link->awaited_until_ms < deadline_ms) deadline_ms = link->awaited_until_ms;
    while (link->kept_count - link->kept_at < link->awaited) {
        struct redisReply *reply;
        if (!must_read(link, deadline_ms, &reply, err)) return false;
        link->kept = xrealloc_array(link->kept, link->kept_count + 1, sizeof *link->kept);
        link->kept[link->kept_count++] = reply;
    }
    return true;
}

static bool write_commands(struct redis_link *link, const struct link_command *commands, size_t count, int64_t limit_ms,
                           struct errbuf *err)
{
    if (limit_ms != link->timeout_ms && redisSetTimeout(link->context, link_timeval(limit_ms)) != REDIS_OK)
        return errbuf_set(err, "redis: the socket takes no time limit: %s", link_words(link));
    link->timeout_ms = limit_ms;
    for (size_t i = 0; i < count; i++) {
        if (redisAppendFormattedCommand(link->context, commands[i].bytes, commands[i].len) != REDIS_OK)
            die("ledger: out of memory for a command");
    }
    return write_all(link, clock_boottime_ms() + limit_ms, err);
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
        link->was_replica |= strstr(text, "READONLY") != NULL;
        return errbuf_set(err, "redis: %s: %s", errors_word(text, word), errors_advice(text));
    }
    return true;
}

bool link_ask(struct redis_link *link, const struct link_command *commands, size_t count, struct redisReply **replies,
              int64_t limit_ms, struct errbuf *err)
{
    memset(replies, 0, count * sizeof *replies);
    if (!link->context) return errbuf_set(err, "redis: not connected");
    link->sent_boot_ms = clock_boottime_ms();
    int64_t deadline_ms = link->sent_boot_ms + limit_ms;
    if (!write_commands(link, commands, count, limit_ms, err) || !keep_awaited(link, deadline_ms, err))
        return link_drop(link);
    for (size_t i = 0; i < count; i++) {
        if (!must_read(link, deadline_ms, &replies[i], err)) return link_drop(link);
    }
    link->received_boot_ms = clock_boottime_ms();
    link->round_trips++;
    return true;
}

bool link_exchange(struct redis_link *link, const struct link_command *commands, size_t count,
                   struct redisReply **replies, int64_t limit_ms, struct errbuf *err)
{
    if (!link_ask(link, commands, count, replies, limit_ms, err)) return false;
    if (!look_at_errors(link, replies, count, err)) return link_drop(link);
    if (!link->opening) link->failures = 0;
    return true;
}

/* ---- without waiting ---- */

bool link_send(struct redis_link *link, const struct link_command *commands, size_t count, int64_t limit_ms,
               struct errbuf *err)
{
    if (!link->context) return errbuf_set(err, "redis: not connected");
    if (link->awaited > 0) die("ledger: asked again before the answers to the last question were taken");
    link->awaited = count;
    link->awaited_until_ms = clock_boottime_ms() + limit_ms;
    return write_commands(link, commands, count, limit_ms, err) || link_drop(link);
}

bool link_answer_is_here(const struct redis_link *link)
{
    return link->awaited == 0 || link->kept_at < link->kept_count;
}

static enum link_poll take_awaited(struct redis_link *link, int64_t until_ms, struct redisReply **reply,
                                   struct errbuf *err)
{
    enum link_poll got = LINK_ANSWER;
    *reply = NULL;
    if (link->awaited == 0) {
        errbuf_set(err, "redis: the connection was lost, and the answer with it");
        return LINK_LOST;
    }
    if (link->kept_at == link->kept_count) {
        link->kept_at = link->kept_count = 0;
        got = read_one(link, until_ms, reply, err);
    } else {
        *reply = link->kept[link->kept_at++];
    }
    if (got == LINK_LOST) link_drop(link);
    if (got != LINK_ANSWER) return got;
    link->failures = 0;
    if (--link->awaited == 0) link->round_trips++;
    return LINK_ANSWER;
}

enum link_poll link_answer(struct redis_link *link, int64_t until_boot_ms, struct redisReply **reply,
                           struct errbuf *err)
{
    enum link_poll got = take_awaited(link, until_boot_ms, reply, err);
    bool over = until_boot_ms >= link->awaited_until_ms || clock_boottime_ms() >= link->awaited_until_ms;
    if (got == LINK_NOTHING && over) {
        errbuf_set(err, "redis: no answer within the time limit of the round");
        link_drop(link);
        return LINK_LOST;
    }
    if (got != LINK_ANSWER) return got;
    if (!look_at_errors(link, reply, 1, err)) link->wrong_server = true;
    if (link->awaited == 0 && link->wrong_server) link_drop(link);
    return LINK_ANSWER;
}

enum link_poll link_receive(struct redis_link *link, struct redisReply **reply, struct errbuf *err)
{
    enum link_poll got = take_awaited(link, 0, reply, err);
    if (got != LINK_ANSWER || look_at_errors(link, reply, 1, err)) return got;
    answer_free(*reply);
    *reply = NULL;
    link_drop(link);
    return LINK_LOST;
}
