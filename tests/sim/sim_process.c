/* SPDX-License-Identifier: MIT */
/*
 * Processes: coroutines with a stack each. A process runs until it waits; then the next event of the world comes.
 *
 * A killed process is not cut off in the middle: it is told that it is dead, everything that it says from there on is
 * heard by nobody, and its loop ends. So its memory is taken back, and for the world it ended where it was killed.
 */
#include "tests/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/die.h"

#define STACK_BYTES ((size_t)1 << 20) /* touched where it is used; a page below it is forbidden */
#define TURNS_MAX   1000              /* at one moment */
#define SHORT_US    (400 * SIM_MS)
#define LONG_US     (14 * SIM_S) /* longer than a lease and all that comes after it */

static void *stacks[SIM_PROCESSES_MAX]; /* kept from world to world */

static void *stack_of(int number)
{
    if (stacks[number] == NULL) {
        char *memory =
            mmap(NULL, STACK_BYTES + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED || mprotect(memory, 4096, PROT_NONE) != 0) die("sim: no memory for a stack");
        stacks[number] = memory + 4096;
    }
    return stacks[number];
}

struct sim_process *sim_process_add(enum sim_role role, const char *name)
{
    if (sim.process_count == SIM_PROCESSES_MAX) die("sim: too many processes");
    struct sim_process *p = &sim.process[sim.process_count];
    *p = (struct sim_process){.number = sim.process_count++, .role = role};
    snprintf(p->name, sizeof p->name, "%s", name);
    p->stack = stack_of(p->number);
    p->boot_offset_us = sim_between(SIM_S, 1000 * SIM_S);
    return p;
}

/* ---- a life ---- */

static void restart(struct sim_process *p)
{
    sim_process_start(p, sim.now_us + sim_between(50 * SIM_MS, 4 * SIM_S));
}

static void live(void)
{
    static void (*const run[])(struct sim_process *) = {sim_worker_run, sim_reconciler_run, sim_producer_run,
                                                        sim_operator_run};
    struct sim_process *p = sim.current;
    run[p->role](p);
    p->running = false;
    if (!p->dead && p->role != SIM_PRODUCER) restart(p); /* whoever runs it starts it again */
    sim_tell("%s: %s", p->name, p->dead ? "is gone" : "has ended");
}

static void resume(struct sim_process *p)
{
    sim.current = p;
    swapcontext(&sim.scheduler, &p->context);
    sim.current = NULL;
}

static void begin_life(void *object, uint64_t tag)
{
    struct sim_process *p = object;
    (void)tag;
    if (p->running || sim.over) return;
    p->running = true;
    p->dead = p->waiting = p->idle = p->due = false;
    p->signals = 0;
    p->paused_until_us = 0;
    p->lives++;
    p->boot_offset_us += SIM_S;
    getcontext(&p->context);
    p->context.uc_stack.ss_sp = p->stack;
    p->context.uc_stack.ss_size = STACK_BYTES;
    p->context.uc_link = &sim.scheduler;
    makecontext(&p->context, live, 0);
    sim_tell("%s: starts", p->name);
    resume(p);
}

void sim_process_start(struct sim_process *p, int64_t at_us)
{
    sim_at(at_us, begin_life, p, 0);
}

/* ---- waiting ---- */

static void wake_up(void *object, uint64_t tag)
{
    struct sim_process *p = object;
    if (!p->running || !p->waiting || p->wait != tag || sim.over) return;
    if (p->paused_until_us > sim.now_us && !p->dead) {
        sim_at(p->paused_until_us, wake_up, p, tag);
        return;
    }
    p->waiting = p->due = false;
    resume(p);
}

void sim_wait(int64_t until_us)
{
    struct sim_process *p = sim.current;
    if (p->dead) return;
    p->waiting = true;
    p->due = false;
    p->wait++;
    if (until_us != SIM_NEVER) sim_at(until_us, wake_up, p, p->wait);
    swapcontext(&p->context, &sim.scheduler);
    sim.current = p;
}

void sim_process_turns(int64_t until_us)
{
    struct sim_process *p = sim.current;
    if (until_us > sim.now_us || p->turned_us != sim.now_us) p->turns = 0;
    p->turned_us = sim.now_us;
    if (++p->turns < TURNS_MAX || p->dead) return;
    sim_fail("%s turns its loop without waiting", p->name);
    p->dead = true;
}

void sim_wake(struct sim_process *p)
{
    if (!p->running || !p->waiting || p->due) return;
    p->due = true;
    sim_at(sim.now_us, wake_up, p, p->wait);
}

/* ---- ends ---- */

void sim_kill(struct sim_process *p, const char *why)
{
    if (!p->running || p->dead) return;
    sim_tell("%s: killed, %s", p->name, why);
    p->dead = true;
    p->paused_until_us = 0;
    p->due = false; /* a wake may be waiting for the end of a pause */
    restart(p);
    if (sim.current != p) sim_wake(p);
}

bool sim_action(const char *what)
{
    struct sim_process *p = sim.current;
    if (p == NULL || p->dead) return p == NULL;
    p->actions++;
    if (sim_fault(sim.plan.faults.crash)) {
        sim_kill(p, what);
    } else if (sim_fault(sim.plan.faults.pause)) {
        int64_t span_us = sim_chance(0.5) ? sim_between(SIM_MS, SHORT_US) : sim_between(SHORT_US, LONG_US);
        if (p->stopped_most_us > 0 && span_us > p->stopped_most_us) span_us = p->stopped_most_us;
        sim_tell("%s: stopped for %lld ms, %s", p->name, (long long)(span_us / SIM_MS), what);
        p->paused_until_us = sim.now_us + span_us;
        sim_wait(p->paused_until_us);
    }
    return !p->dead;
}

void sim_processes_fini(void)
{
    for (int i = 0; i < sim.process_count; i++) {
        struct sim_process *p = &sim.process[i];
        while (p->running) { /* every wait returns at once now */
            p->dead = true;
            p->waiting = false;
            resume(p);
        }
    }
}
