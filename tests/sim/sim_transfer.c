/* SPDX-License-Identifier: MIT */
/*
 * platforms/transfer.h over the simulated network. As there: a write goes out once, not after its deadline, which is
 * looked at at the last moment; "reached" says that this moment came; at the limit what has arrived is read, nothing is
 * sent any more; and a transfer moves only while its process runs its loop.
 */
#include "platforms/transfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "platforms/answer.h"
#include "platforms/form.h"
#include "runtime/clock.h"
#include "runtime/die.h"
#include "tests/sim/sim.h"
#include "tests/sim/sim_platform.h"

#define HOP_LEAST_US  (1 * SIM_MS)
#define HOP_MOST_US   (80 * SIM_MS)
#define LATE_MOST_US  (6 * SIM_S)
#define RESET_MOST_US (2 * SIM_S)
#define GAP_US        (3 * SIM_S)    /* behind the lease: late_commit and most of a search */
#define SHORT_GAP_US  (300 * SIM_MS) /* margin_ms of fleet.json */

enum stage { CONNECTING, SENT, ENDED };

struct transfer {
    TAILQ_ENTRY(transfer) link;
    struct transfer_pool *pool;
    struct transfer_options options;
    struct sim_request *request;
    enum stage stage;
    int64_t connected_us, limit_us;
    int64_t heard_us; /* an answer, or the end of the connection, is there; SIM_NEVER: nothing yet */
    bool reset;       /* what is heard is the end of the connection */
    bool refused;     /* no connection */
    struct transfer_facts facts;
    struct answer answer;
};

TAILQ_HEAD(transfer_list, transfer);

struct transfer_pool {
    struct transfer_list active, done;
    int in_flight;
};

struct transfer_pool *transfer_pool_new(int max, const struct address_list *allowed)
{
    struct transfer_pool *pool = xcalloc(1, sizeof *pool);
    (void)max;
    (void)allowed;
    TAILQ_INIT(&pool->active);
    TAILQ_INIT(&pool->done);
    return pool;
}

void transfer_pool_only(struct transfer_pool *pool, const struct address_list *hosts)
{
    (void)pool;
    (void)hosts;
}

static void release(struct transfer *t)
{
    t->request->transfer = NULL;
    sim_request_drop(t->request);
    answer_fini(&t->answer);
    free(t);
}

static void free_list(struct transfer_list *list)
{
    struct transfer *t;
    while ((t = TAILQ_FIRST(list)) != NULL) {
        TAILQ_REMOVE(list, t, link);
        release(t);
    }
}

void transfer_pool_free(struct transfer_pool **own_pool)
{
    if (*own_pool == NULL) return;
    free_list(&(*own_pool)->active);
    free_list(&(*own_pool)->done);
    free(*own_pool);
    *own_pool = NULL;
}

/* ---- the way there ---- */

static void arrive(void *object, uint64_t tag)
{
    struct sim_request *r = object;
    (void)tag;
    sim_platform_arrive(r);
    sim_request_drop(r);
}

static void judge(const struct transfer *t, const struct sim_process *p)
{
    const struct sim_request *r = t->request;
    if (p->role == SIM_RECONCILER && strcmp(r->method, "GET") != 0)
        sim_fail("%s sent %s %s: the reconciler reads", p->name, r->method, r->path);
    if (p->role != SIM_WORKER || !r->is_write) return;
    const struct sim_attempt attempt = sim_worker_attempt(t->options.owner);
    sim_tell("%s: sends the write of %s, attempt %d", p->name, attempt.delivery, attempt.attempt);
    sim_judge_sent(&attempt);
}

/* Between its last look at the clock and the kernel a process can be stopped, and nobody can call the request back. How
 * long that may last is a limit of the contract; beyond it anything may happen. It counts from the lease's end, of
 * which much may be over at the last look: a claim whose answer was lost is made again. */
static void pass_the_gap(const struct transfer *t)
{
    struct sim_process *p = sim.current;
    const int64_t lease_left_us = (t->options.deadline_boot_ms - clock_boottime_ms()) * SIM_MS;
    p->stopped_most_us = sim_platform_repeats_unread(t->request) ? SHORT_GAP_US : lease_left_us + GAP_US;
    t->options.at_point(t->options.point_context, TRANSFER_BEFORE_FIRST_BYTE);
    p->stopped_most_us = 0;
}

static void send_now(struct transfer *t)
{
    const struct sim_faults *f = &sim.plan.faults;
    struct sim_request *r = t->request;
    t->facts.reached = true;
    t->stage = SENT;
    if (t->options.at_point != NULL) pass_the_gap(t);
    if (sim.current->dead) return;
    judge(t, sim.current);
    r->sent_us = sim.now_us;
    if (sim_fault(f->lost_request)) {
        if (sim_chance(0.5)) {
            t->heard_us = sim.now_us + sim_between(HOP_LEAST_US, RESET_MOST_US);
            t->reset = true;
        }
        sim_tell("network: the request of %s is lost", sim.current->name);
    } else {
        r->refs++;
        sim_at(sim.now_us + sim_between(HOP_LEAST_US, HOP_MOST_US), arrive, r, 0);
    }
    if (t->options.at_point != NULL) t->options.at_point(t->options.point_context, TRANSFER_AFTER_LAST_BYTE);
}

struct transfer *transfer_start(struct transfer_pool *pool, struct http_request *request,
                                const struct transfer_options *options)
{
    struct transfer *t = xcalloc(1, sizeof *t);
    (void)sim_action(options->write ? "begins a request" : "begins a read");
    t->pool = pool;
    t->options = *options;
    t->request = sim_request_new(request, sim.current->name);
    t->request->transfer = t;
    http_request_fini(request);
    answer_init(&t->answer, TRANSFER_BODY_MAX_BYTES);
    t->connected_us = sim.now_us + sim_between(HOP_LEAST_US, HOP_MOST_US);
    t->refused = sim_fault(sim.plan.faults.no_connection);
    t->limit_us = sim.now_us + options->limit_ms * SIM_MS;
    t->heard_us = SIM_NEVER;
    TAILQ_INSERT_TAIL(&pool->active, t, link);
    pool->in_flight++;
    return t;
}

/* ---- the way back ---- */

static void hear(void *object, uint64_t tag)
{
    struct sim_request *r = object;
    (void)tag;
    if (r->transfer != NULL && r->transfer->stage == SENT && r->transfer->heard_us == SIM_NEVER) {
        r->transfer->heard_us = sim.now_us;
        for (int i = 0; i < sim.process_count; i++)
            if (strcmp(sim.process[i].name, r->sender) == 0) sim_wake(&sim.process[i]);
    }
    sim_request_drop(r);
}

void sim_transfer_answered(struct sim_request *r)
{
    const struct sim_faults *f = &sim.plan.faults;
    if (r->transfer == NULL) return;
    int64_t way_us = sim_between(HOP_LEAST_US, HOP_MOST_US);
    if (sim_fault(f->late_response)) way_us = sim_between(HOP_MOST_US, LATE_MOST_US);
    if (sim_fault(f->lost_response)) {
        sim_tell("network: the answer to %s is lost", r->sender);
        r->transfer->reset = true;
        way_us = sim_between(HOP_LEAST_US, RESET_MOST_US);
    }
    r->refs++;
    sim_at(sim.now_us + way_us, hear, r, 0);
}

static void take_answer(struct transfer *t)
{
    char line[64];
    const struct sim_request *r = t->request;
    answer_header_line(&t->answer, line, (size_t)snprintf(line, sizeof line, "HTTP/1.1 %d Said", r->status));
    const char *type = r->html ? "content-type: text/html" : "content-type: application/json";
    answer_header_line(&t->answer, type, strlen(type));
    if (r->retry_after_s > 0)
        answer_header_line(&t->answer, line, (size_t)snprintf(line, sizeof line, "retry-after: %d", r->retry_after_s));
    (void)answer_body(&t->answer, r->answer, r->answer_len);
    t->facts.complete = true;
    t->facts.status = t->answer.status = r->status;
    if (!r->is_write || r->status != 201 || sim.current->role != SIM_WORKER) return;
    const struct sim_attempt attempt = sim_worker_attempt(t->options.owner);
    sim_judge_told(&attempt);
}

static void end(struct transfer *t, const char *error)
{
    answer_finish(&t->answer);
    snprintf(t->facts.error, sizeof t->facts.error, "%s", error);
    t->stage = ENDED;
    t->facts.elapsed_ms = t->options.limit_ms - (t->limit_us - sim.now_us) / SIM_MS;
    if (!t->facts.complete && t->facts.reached) sim_platform_given_up(t->request);
    t->request->transfer = NULL;
    TAILQ_REMOVE(&t->pool->active, t, link);
    TAILQ_INSERT_TAIL(&t->pool->done, t, link);
    t->pool->in_flight--;
}

/* ---- the loop's part ---- */

static bool drive(struct transfer *t)
{
    if (t->stage == CONNECTING && sim.now_us >= t->connected_us) {
        bool late = t->options.deadline_boot_ms > 0 && clock_boottime_ms() >= t->options.deadline_boot_ms;
        t->facts.timed_out = late;
        if (t->refused || late) {
            end(t, late ? "too late" : "connection refused");
            return true;
        }
        if (sim.now_us < t->limit_us) send_now(t);
    }
    if (sim.current->dead) return true;
    if (t->stage == SENT && sim.now_us >= t->heard_us) {
        if (!t->reset) take_answer(t);
        end(t, t->reset ? "connection reset" : "");
    } else if (sim.now_us >= t->limit_us) {
        t->facts.timed_out = true;
        end(t, "time limit reached");
    }
    return t->stage == ENDED;
}

static void drive_all(struct transfer_pool *pool)
{
    struct transfer *t = TAILQ_FIRST(&pool->active), *next;
    for (; t != NULL && !sim.current->dead; t = next) {
        next = TAILQ_NEXT(t, link);
        (void)drive(t);
    }
}

static int64_t wake_of(const struct transfer *t)
{
    int64_t wake_us = t->stage == CONNECTING ? t->connected_us : t->heard_us;
    return wake_us < t->limit_us ? wake_us : t->limit_us;
}

static bool is_ready(const struct transfer_fd *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (sim_network_readable(fds[i].fd)) return true;
    return sim.current->signals > 0;
}

void transfer_wait(struct transfer_pool *pool, struct transfer_fd *fds, size_t fd_count, int timeout_ms)
{
    int64_t until_us = sim.now_us + timeout_ms * SIM_MS;
    drive_all(pool);
    const struct transfer *t;
    TAILQ_FOREACH(t, &pool->active, link)
    if (wake_of(t) < until_us) until_us = wake_of(t);
    bool ready = !TAILQ_EMPTY(&pool->done) || is_ready(fds, fd_count);
    sim_process_turns(ready ? sim.now_us : until_us);
    sim_wait(ready ? sim.now_us : until_us);
    (void)sim_action("turns its loop");
    drive_all(pool);
}

struct transfer *transfer_next_done(struct transfer_pool *pool)
{
    struct transfer *t = sim.current != NULL && sim.current->dead ? NULL : TAILQ_FIRST(&pool->done);
    if (t != NULL) TAILQ_REMOVE(&pool->done, t, link);
    return t;
}

void transfer_abort(struct transfer *t)
{
    if (t->stage != ENDED) end(t, "given up");
}

int transfer_in_flight(const struct transfer_pool *pool)
{
    return pool->in_flight;
}

void *transfer_owner(const struct transfer *t)
{
    return t->options.owner;
}

const struct transfer_facts *transfer_facts(const struct transfer *t)
{
    return &t->facts;
}

const struct answer *transfer_answer(const struct transfer *t)
{
    return &t->answer;
}

void transfer_free(struct transfer **own_transfer)
{
    if (*own_transfer == NULL) return;
    release(*own_transfer);
    *own_transfer = NULL;
}
