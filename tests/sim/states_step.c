/* SPDX-License-Identifier: MIT */
#include "tests/sim/states.h"

#include <stdio.h>

#include "runtime/die.h"

/* ---- which ---- */

struct states_step *states_add(struct states_steps *steps, enum states_kind kind, int who, int turn)
{
    if (steps->count == STATES_STEPS_MAX) die("states: too many steps");
    struct states_step *step = &steps->step[steps->count++];
    *step = (struct states_step){.kind = kind, .who = who, .turn = turn};
    return step;
}

struct states_step *states_add_fault(struct states_steps *steps, enum states_kind kind, int who)
{
    struct states_step *step = states_add(steps, kind, who, 0);
    step->fault = true;
    return step;
}

static bool is_at_work(const struct state *s)
{
    bool works = s->reader.phase != STATES_RESTING || states_redis_row(s->redis)->core.state == DS_UNCERTAIN;
    for (int i = 0; i < STATES_WORKERS; i++)
        works = works || s->worker[i].phase != STATES_IDLE;
    for (int i = 0; i < STATES_REQUESTS_MAX; i++)
        works = works || s->platform.request[i].stage != STATES_FREE;
    return works;
}

static bool ends_next(const struct state *s, const struct states_request *r)
{
    return (r->stage == STATES_SENT || r->stage == STATES_EXECUTING) && r->last == s->now + 1;
}

/* Time passes unit by unit, and where nobody can do anything as far as the agenda says. */
static void add_time(const struct state *s, struct states_steps *steps)
{
    struct states_step *step = states_add(steps, STEP_TIME, STATES_NOBODY, 60);
    const struct states_row *row = states_redis_row(s->redis);
    const int64_t wait_ms = row->next_ms - states_ms(s->now);
    step->by = 1;
    if (!is_at_work(s) && !row->queued && wait_ms > 0)
        step->by = (int)((wait_ms + states.unit_ms - 1) / states.unit_ms);
    for (int i = 0; i < STATES_REQUESTS_MAX; i++)
        if (ends_next(s, &s->platform.request[i])) states_add(steps, STEP_TIME, i, 0)->by = 1;
}

void states_steps_of(const struct state *s, struct states_steps *steps)
{
    steps->count = 0;
    for (int i = 0; i < STATES_WORKERS; i++)
        states_worker_steps(s, i, steps);
    states_platform_steps(s, steps);
    states_reader_steps(s, steps);
    add_time(s, steps);
}

/* ---- made ---- */

void states_make(struct state *s, const struct states_step *step)
{
    states.steps++;
    s->faults += step->fault;
    if (step->kind == STEP_TIME) {
        s->now += step->by;
        if (step->who != STATES_NOBODY) states_platform_make(s, step);
        states_platform_time(s);
    } else if (step->kind <= STEP_CRASH) {
        states_worker_make(s, step);
    } else if (step->kind <= STEP_COMMIT) {
        states_platform_make(s, step);
    } else {
        states_reader_make(s, step);
    }
}

/* ---- told ---- */

static const char *words(enum states_kind kind)
{
    static const char *const table[] = {
        [STEP_TIME] = "time passes",
        [STEP_READ_ENTRY] = "reads the queue's entry",
        [STEP_TAKE] = "takes what is due",
        [STEP_CLAIM] = "claims",
        [STEP_CLAIM_UNHEARD] = "claims, and the answer is lost",
        [STEP_SEND] = "begins to send",
        [STEP_SEND_NOTHING] = "sends nothing",
        [STEP_HEAR] = "hears that it is posted",
        [STEP_TURNED_DOWN] = "is turned down",
        [STEP_GIVE_UP] = "gives up waiting for the answer",
        [STEP_SETTLE] = "settles",
        [STEP_SETTLE_UNHEARD] = "settles, and the answer is lost",
        [STEP_CRASH] = "crashes",
        [STEP_ARRIVE] = "the platform looks the key up",
        [STEP_COMMIT] = "the platform executes the request",
        [STEP_LOOK] = "reads the row",
        [STEP_READ_CLOCK] = "reads the server's time",
        [STEP_READ] = "reads the platform",
        [STEP_RESOLVE] = "resolves",
        [STEP_RESOLVE_UNHEARD] = "resolves, and the answer is lost",
        [STEP_READER_CRASH] = "crashes",
    };
    return table[kind];
}

static void tell_who(const struct state *s, const struct states_step *step, char *out, size_t size)
{
    int worker = step->who;
    if (step->kind == STEP_TIME)
        snprintf(out, size, "%s", worker == STATES_NOBODY ? "" : "a request is executed at its last moment: ");
    else if (step->kind == STEP_ARRIVE || step->kind == STEP_COMMIT)
        snprintf(out, size, "request %d: ", step->who + 1);
    else if (worker != STATES_NOBODY && s->worker[worker].attempt > 0)
        snprintf(out, size, "W%d, attempt %d: ", worker + 1, s->worker[worker].attempt);
    else if (worker != STATES_NOBODY)
        snprintf(out, size, "W%d: ", worker + 1);
    else
        snprintf(out, size, "R: ");
}

void states_tell(const struct state *s, const struct states_step *step, char *out, size_t size)
{
    char who[48];
    const struct states_row *row = states_redis_row(s->redis);
    const bool says = step->kind == STEP_TURNED_DOWN || step->kind == STEP_READ;
    const bool reports = step->kind == STEP_SETTLE || step->kind == STEP_SETTLE_UNHEARD;
    const enum delivery_event event = reports ? s->worker[step->who].event : step->event;
    tell_who(s, step, who, sizeof who);
    snprintf(out, size, "%4d  %-10s %s%s%s%s", s->now, delivery_state_name(row->core.state), who, words(step->kind),
             says || reports ? ": " : "", says || reports ? delivery_event_name(event) : "");
}
