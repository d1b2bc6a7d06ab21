/* SPDX-License-Identifier: MIT */
/*
 * The network between processes and Redis: hiredis as ledger/link.c uses it, with a simulated way in place of sockets.
 *
 * What a process writes in one go is a message; it arrives after a while, late, or never; its commands are executed one
 * by one, with those of others between them; the answers come back together, late, or never. A connection that breaks
 * says so to the process. What has left the process is executed even if the process is gone by then.
 */
#include <hiredis/hiredis.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "ledger/answer.h"
#include "runtime/die.h"
#include "tests/sim/redis_command.h"
#include "tests/sim/redis_hiredis.h"
#include "tests/sim/sim.h"
#include "tests/sim/sim_network.h"

#define FD_FIRST        1000000 /* no descriptor of the real process */
#define CONNECTIONS_MAX 64
#define WORDS_MAX       4096 /* of one command */
#define HOP_LEAST_US    50
#define HOP_MOST_US     2000
#define LATE_LEAST_US   (200 * SIM_MS)
#define LATE_MOST_US    (20 * SIM_S) /* longer than a claim is valid */
#define BREAK_MOST_US   (3 * SIM_S)  /* until a process notices that its connection is broken */
#define TURN_MOST_US    500          /* between two commands of one message, if others come in between */

struct connection {
    redisContext context; /* first: what the process holds */
    redisReader reader;   /* of the context */
    struct sim_process *owner;
    int refs; /* the process's, and one for each message under way */
    bool closed, broken, end_seen;
    uint64_t redis_life;
    struct sim_message *writing;
    redisReply **arrived; /* not yet looked at by redisBufferRead() */
    size_t arrived_count, taken;
    size_t ready;                /* of those, may be taken */
    struct sim_message *blocked; /* a read that waits for an entry */
    int64_t blocked_until_us;
};

struct sim_network {
    struct connection *connection[CONNECTIONS_MAX];
};

/* ---- connections ---- */

void sim_network_init(void)
{
    sim.network = xcalloc(1, sizeof *sim.network);
}

static void message_free(struct sim_message *m);

static void connection_drop(struct connection *c)
{
    if (--c->refs > 0) return;
    sim.network->connection[c->context.fd - FD_FIRST] = NULL;
    for (size_t i = c->taken; i < c->arrived_count; i++)
        answer_free(c->arrived[i]);
    free(c->arrived);
    message_free(c->writing);
    free(c);
}

void sim_network_fini(void)
{
    free(sim.network);
    sim.network = NULL;
}

static struct connection *connection_of(int fd)
{
    bool ours = fd >= FD_FIRST && fd < FD_FIRST + CONNECTIONS_MAX;
    return ours ? sim.network->connection[fd - FD_FIRST] : NULL;
}

static redisContext *connect_now(struct timeval limit)
{
    struct connection *c = xcalloc(1, sizeof *c);
    int place = 0;
    bool alive = sim_action("connects to Redis");
    while (place < CONNECTIONS_MAX && sim.network->connection[place] != NULL)
        place++;
    if (place == CONNECTIONS_MAX) die("sim: too many connections");
    sim.network->connection[place] = c;
    c->context.fd = FD_FIRST + place;
    c->context.reader = &c->reader;
    c->owner = sim.current;
    c->refs = 1;
    c->redis_life = sim.redis_life;
    bool away = c->owner->away_until_us > sim.now_us;
    if (alive && away)
        sim_wait(sim.now_us + (int64_t)limit.tv_sec * SIM_S);
    else if (alive)
        sim_wait(sim.now_us + sim_between(HOP_LEAST_US, HOP_MOST_US));
    if (alive && !away && !c->owner->dead && !sim.redis_down) return &c->context;
    c->context.err = REDIS_ERR_IO;
    errno = away ? ETIMEDOUT : ECONNREFUSED;
    return &c->context;
}

redisContext *redisConnectWithTimeout(const char *ip, int port, const struct timeval tv)
{
    (void)ip;
    (void)port;
    return connect_now(tv);
}

redisContext *redisConnectUnixWithTimeout(const char *path, const struct timeval tv)
{
    (void)path;
    return connect_now(tv);
}

static void unblock(struct connection *c)
{
    if (c->blocked == NULL) return;
    struct sim_message *m = c->blocked;
    c->blocked = NULL;
    message_free(m);
    connection_drop(c);
}

/* The server sees that the client is gone when the connection's end arrives there. */
static void closed_at_server(void *object, uint64_t tag)
{
    struct connection *c = object;
    (void)tag;
    unblock(c);
    connection_drop(c);
}

void redisFree(redisContext *context)
{
    struct connection *c = (struct connection *)context;
    if (context == NULL) return;
    c->closed = true;
    c->refs++;
    sim_at(sim.now_us + sim_between(HOP_LEAST_US, HOP_MOST_US), closed_at_server, c, 0);
    connection_drop(c);
}

static void notice_break(void *object, uint64_t tag)
{
    struct connection *c = object;
    (void)tag;
    c->end_seen = true;
    if (!c->closed) sim_wake(c->owner);
    connection_drop(c);
}

static void break_connection(struct connection *c, int64_t most_us)
{
    if (c->broken) return;
    c->broken = true;
    c->refs++;
    sim_at(sim.now_us + sim_between(HOP_LEAST_US, most_us), notice_break, c, 0);
}

void sim_network_drop_all(void)
{
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        struct connection *c = sim.network->connection[i];
        if (c == NULL) continue;
        c->refs++;
        unblock(c);
        break_connection(c, HOP_MOST_US);
        connection_drop(c);
    }
}

/* ---- messages ---- */

static void message_free(struct sim_message *m)
{
    if (m == NULL) return;
    for (size_t i = 0; i < m->count; i++) {
        free(m->command[i].bytes);
        free(m->command[i].arg);
    }
    for (size_t i = 0; i < m->answered; i++)
        answer_free(m->answer[i]);
    free(m->command);
    free(m->answer);
    free(m);
}

int redisAppendFormattedCommand(redisContext *context, const char *bytes, size_t len)
{
    struct connection *c = (struct connection *)context;
    static struct redis_arg words[WORDS_MAX];
    size_t used;
    if (c->writing == NULL) c->writing = xcalloc(1, sizeof *c->writing);
    struct sim_message *m = c->writing;
    m->command = xrealloc_array(m->command, m->count + 1, sizeof *m->command);
    struct sim_command *command = &m->command[m->count++];
    command->bytes = xstrndup(bytes, len);
    command->argc = redis_command_read(command->bytes, len, words, WORDS_MAX, &used);
    if (used != len) die("sim: %zu bytes are not one command", len);
    for (size_t i = 0; i < command->argc; i++) /* the CR behind each */
        command->bytes[words[i].bytes + words[i].len - command->bytes] = '\0';
    command->arg = xrealloc_array(NULL, command->argc, sizeof *command->arg);
    memcpy(command->arg, words, command->argc * sizeof *words);
    return REDIS_OK;
}

/* ---- the server's side ---- */

static int64_t block_us(const struct sim_command *command)
{
    int64_t ms = 0;
    if (!redis_arg_is(&command->arg[0], "XREADGROUP")) return 0;
    for (size_t i = 1; i + 1 < command->argc; i++)
        if (redis_arg_is(&command->arg[i], "BLOCK") && redis_arg_integer(&command->arg[i + 1], &ms)) return ms * SIM_MS;
    return 0;
}

static bool reaches(const struct connection *c)
{
    return !sim.over && !sim.redis_down && c->redis_life == sim.redis_life && !c->broken;
}

static const struct redis_reply *run_command(const struct sim_message *m, const struct sim_command *command)
{
    sim.redis.now_us = sim.now_us + sim.leap_us;
    const struct redis_reply *reply = redis_db_run(&sim.redis, command->argc, command->arg);
    if (sim.story) sim_network_tell(m->sender, command, reply);
    return reply;
}

static void deliver(void *object, uint64_t tag)
{
    struct sim_message *m = object;
    struct connection *c = m->connection;
    (void)tag;
    bool away = c->owner->away_until_us > sim.now_us;
    if (!c->closed && !c->broken && !away) {
        c->arrived = xrealloc_array(c->arrived, c->arrived_count + m->answered, sizeof *c->arrived);
        memcpy(c->arrived + c->arrived_count, m->answer, m->answered * sizeof *m->answer);
        c->arrived_count += m->answered;
        m->answered = 0;
        sim_wake(c->owner);
    }
    if (m->breaks) break_connection(c, HOP_MOST_US);
    message_free(m);
    connection_drop(c);
}

static void answer(struct sim_message *m)
{
    sim_at(sim.now_us + m->way_back_us, deliver, m, 0);
}

/* Readers that wait for an entry, in the order in which they came. */
static void serve_blocked(void)
{
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        struct connection *c = sim.network->connection[i];
        if (c == NULL || c->blocked == NULL) continue;
        struct sim_message *m = c->blocked;
        const struct redis_reply *reply = run_command(m, &m->command[0]);
        if (reply->kind == REDIS_NIL && sim.now_us < c->blocked_until_us) continue;
        m->answer[m->answered++] = redis_hiredis_reply(reply);
        c->blocked = NULL;
        answer(m);
    }
}

static void block_over(void *object, uint64_t tag)
{
    struct connection *c = object;
    (void)tag;
    if (sim.over)
        unblock(c);
    else if (c->blocked != NULL && sim.now_us >= c->blocked_until_us)
        serve_blocked();
    connection_drop(c);
}

static void block(struct sim_message *m, int64_t span_us)
{
    struct connection *c = m->connection;
    c->blocked = m;
    c->blocked_until_us = sim.now_us + span_us;
    c->refs++;
    sim_at(c->blocked_until_us, block_over, c, 0);
}

static bool has_new_entries(void)
{
    for (size_t i = 0; i < sim.redis.dirty_count; i++)
        if (redis_text_is(sim.redis.dirty[i], SIM_QUEUE_KEY, strlen(SIM_QUEUE_KEY))) return true;
    return false;
}

/* One command; the next one now, or when others had their turn. */
static void execute(void *object, uint64_t tag)
{
    struct sim_message *m = object;
    struct connection *c = m->connection;
    (void)tag;
    while (m->at < m->count) {
        if (!reaches(c) || (m->cut > 0 && m->at >= m->cut)) {
            break_connection(c, BREAK_MOST_US);
            message_free(m);
            connection_drop(c);
            return;
        }
        struct sim_command *command = &m->command[m->at++];
        const struct redis_reply *reply = run_command(m, command);
        int64_t span_us = reply->kind == REDIS_NIL ? block_us(command) : 0;
        if (span_us > 0) {
            block(m, span_us);
            return;
        }
        m->answer[m->answered++] = redis_hiredis_reply(reply);
        bool wakes = has_new_entries();
        sim_judge_redis();
        if (wakes) serve_blocked();
        if (m->at < m->count && m->interleaved) {
            sim_at(sim.now_us + sim_between(1, TURN_MOST_US), execute, m, 0);
            return;
        }
    }
    answer(m);
}

/* ---- the process's side ---- */

/* What becomes of a message is decided when it leaves. */
static int64_t draw_way(struct sim_message *m)
{
    const struct sim_faults *f = &sim.plan.faults;
    int64_t way_us = sim_between(HOP_LEAST_US, HOP_MOST_US);
    m->way_back_us = sim_between(HOP_LEAST_US, HOP_MOST_US);
    m->interleaved = m->count > 1 && sim_chance(0.5);
    if (sim_fault(f->late_command)) way_us = sim_between(LATE_LEAST_US, LATE_MOST_US);
    if (sim_fault(f->late_answer)) m->way_back_us = sim_between(LATE_LEAST_US, LATE_MOST_US);
    if (m->count > 1 && sim_fault(f->cut_round)) m->cut = (size_t)sim_between(1, (int64_t)m->count - 1);
    if (sim_fault(f->lost_answer)) m->breaks = true;
    return way_us;
}

static void execute_and_lose(void *object, uint64_t tag)
{
    struct sim_message *m = object;
    struct connection *c = m->connection;
    m->interleaved = false;
    c->refs++; /* execute() gives its own up */
    execute(m, tag);
    break_connection(c, BREAK_MOST_US);
    connection_drop(c);
}

int redisBufferWrite(redisContext *context, int *done)
{
    struct connection *c = (struct connection *)context;
    struct sim_message *m = c->writing;
    c->writing = NULL;
    *done = 1;
    bool alive = sim_action("asks Redis");
    if (m == NULL) return REDIS_OK;
    bool lost = alive && sim_fault(sim.plan.faults.lost_command);
    if (!alive || c->broken || lost || c->owner->away_until_us > sim.now_us) {
        message_free(m);
        if (lost) break_connection(c, BREAK_MOST_US);
        if (alive && !c->end_seen) return REDIS_OK; /* it does not know yet */
        context->err = REDIS_ERR_EOF;
        return REDIS_ERR;
    }
    snprintf(m->sender, sizeof m->sender, "%s", c->owner->name);
    m->connection = c;
    m->answer = xcalloc(m->count, sizeof(redisReply *));
    c->refs++;
    int64_t way_us = draw_way(m);
    sim_at(sim.now_us + way_us, m->breaks ? execute_and_lose : execute, m, 0);
    return REDIS_OK;
}

int redisGetReplyFromReader(redisContext *context, void **reply)
{
    struct connection *c = (struct connection *)context;
    *reply = c->taken < c->ready ? c->arrived[c->taken++] : NULL;
    return REDIS_OK;
}

int redisBufferRead(redisContext *context)
{
    struct connection *c = (struct connection *)context;
    if (c->ready < c->arrived_count) {
        c->ready = c->arrived_count;
        return REDIS_OK;
    }
    context->err = REDIS_ERR_EOF;
    snprintf(context->errstr, sizeof context->errstr, "Server closed the connection");
    return REDIS_ERR;
}

bool sim_network_readable(int fd)
{
    const struct connection *c = connection_of(fd);
    return c != NULL && (c->ready < c->arrived_count || c->end_seen);
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    if (count != 1) die("sim: a wait for %lu descriptors", (unsigned long)count);
    const int64_t until_us = sim.now_us + timeout_ms * SIM_MS;
    while (!sim_network_readable(fds[0].fd) && sim.now_us < until_us && !sim.current->dead)
        sim_wait(until_us);
    bool readable = sim_network_readable(fds[0].fd);
    if (readable) (void)sim_action("hears from Redis");
    fds[0].revents = readable ? POLLIN : 0;
    return readable && !sim.current->dead;
}

ssize_t __wrap_recv(int fd, void *bytes, size_t len, int flags);
ssize_t __wrap_recv(int fd, void *bytes, size_t len, int flags)
{
    (void)fd;
    (void)bytes;
    (void)len;
    (void)flags;
    return 0;
}
