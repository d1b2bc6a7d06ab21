/* SPDX-License-Identifier: MIT */
#include "tests/sim/sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/die.h"

#define EPOCH_US       INT64_C(1800000000000000) /* where all worlds begin */
#define LIFE_US        (INT64_C(3600) * SIM_S)   /* no seed needs so long */
#define SETTLE_STEP_US (5 * SIM_S)
#define EVENTS_MAX     400000 /* a world that never comes to rest */

struct sim sim;

/* ---- randomness ---- */

uint64_t sim_random(void)
{
    uint64_t z = sim.random += 0x9e3779b97f4a7c15u; /* splitmix64, as Steele, Lea and Flood give it */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

int64_t sim_between(int64_t low, int64_t high)
{
    return high <= low ? low : low + (int64_t)(sim_random() % (uint64_t)(high - low + 1));
}

bool sim_chance(double probability)
{
    return !sim.faults_over && probability > 0 && (double)(sim_random() >> 11) * 0x1p-53 < probability;
}

/* Moments count while somebody has work in hand: a fault between two looks at nothing changes nothing. */
static bool is_explored(double probability)
{
    bool counts = probability > 0 && !sim.faults_over && (sim.current == NULL || !sim.current->idle);
    if (!counts) return false;
    sim.moments++;
    for (int i = 0; i < SIM_EXPLORE_FAULTS_MAX; i++)
        if (sim.explore->fault[i] == sim.moments) return true;
    return false;
}

bool sim_fault(double probability)
{
    bool yes = sim.explore != NULL ? is_explored(probability) : sim_chance(probability);
    sim.fault_count += yes;
    return yes;
}

/* ---- the queue ---- */

static bool before(const struct sim_event *a, const struct sim_event *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->number < b->number;
}

static void swap(struct sim_event *a, struct sim_event *b)
{
    struct sim_event kept = *a;
    *a = *b;
    *b = kept;
}

void sim_at(int64_t at_us, void (*run)(void *object, uint64_t tag), void *object, uint64_t tag)
{
    if (sim.queue_count == sim.queue_room) {
        sim.queue_room = sim.queue_room ? sim.queue_room * 2 : 256;
        sim.queue = xrealloc_array(sim.queue, sim.queue_room, sizeof *sim.queue);
    }
    size_t at = sim.queue_count++;
    sim.queue[at] = (struct sim_event){at_us > sim.now_us ? at_us : sim.now_us, sim.events++, run, object, tag};
    for (; at > 0 && before(&sim.queue[at], &sim.queue[(at - 1) / 2]); at = (at - 1) / 2)
        swap(&sim.queue[at], &sim.queue[(at - 1) / 2]);
}

static struct sim_event take(void)
{
    struct sim_event first = sim.queue[0];
    sim.queue[0] = sim.queue[--sim.queue_count];
    for (size_t at = 0;;) {
        size_t least = at, left = 2 * at + 1, right = left + 1;
        if (left < sim.queue_count && before(&sim.queue[left], &sim.queue[least])) least = left;
        if (right < sim.queue_count && before(&sim.queue[right], &sim.queue[least])) least = right;
        if (least == at) return first;
        swap(&sim.queue[at], &sim.queue[least]);
        at = least;
    }
}

void sim_fail(const char *format, ...)
{
    va_list arguments;
    if (sim.failed) return;
    sim.failed = true;
    va_start(arguments, format);
    vsnprintf(sim.failure, sizeof sim.failure, format, arguments);
    va_end(arguments);
    sim_tell("!!! %s", sim.failure);
}

/* ---- one seed ---- */

static void run_until(int64_t end_us, bool until_settled)
{
    int64_t look_us = sim.now_us + SETTLE_STEP_US;
    while (!sim.failed && sim.queue_count > 0 && sim.queue[0].at_us <= end_us) {
        struct sim_event event = take();
        sim.now_us = event.at_us;
        event.run(event.object, event.tag);
        if (sim.events > EVENTS_MAX) sim_fail("the world does not come to rest: %d events", EVENTS_MAX);
        if (!until_settled || sim.now_us < look_us) continue;
        look_us = sim.now_us + SETTLE_STEP_US;
        if (sim_judge_settled()) return;
    }
    if (sim.now_us < end_us && !until_settled) sim.now_us = end_us;
}

static void begin(uint64_t seed, bool story, struct redis_lua *lua)
{
    struct sim_event *queue = sim.queue;
    size_t room = sim.queue_room;
    memset(&sim, 0, sizeof sim);
    sim.queue = queue;
    sim.queue_room = room;
    sim.seed = seed;
    sim.random = seed * 0x2545f4914f6cdd1du + 1;
    sim.story = story;
    sim.began_us = sim.now_us = EPOCH_US + sim_between(0, 1000) * SIM_MS;
    redis_db_init(&sim.redis, lua);
    sim.redis.now_us = sim.redis.started_us = sim.now_us;
    sim.redis.random = sim_random();
    memset(sim.redis.run_id, 'a', REDIS_RUN_ID_BYTES - 1);
}

static bool play(void)
{
    sim_network_init();
    sim_platform_init();
    sim_judge_init();
    sim_faults_begin();
    run_until(sim.plan.faults_end_us, false);
    sim.faults_over = true;
    sim_tell("faults end");
    run_until(sim.now_us + LIFE_US, true);
    if (!sim.failed) sim_judge_end();
    sim.scripts = sim.redis.scripts;
    sim.commands = sim.redis.commands;
    sim.over = true;
    sim_processes_fini();
    while (sim.queue_count > 0) { /* what was under way is taken back by whoever would have worked it */
        struct sim_event event = take();
        event.run(event.object, event.tag);
    }
    sim_judge_fini();
    sim_platform_fini();
    sim_network_fini();
    redis_db_fini(&sim.redis);
    return !sim.failed;
}

bool sim_run(uint64_t seed, bool story, struct redis_lua *lua)
{
    begin(seed, story, lua);
    sim_plan_make();
    return play();
}

bool sim_explore_run(const struct sim_explore *explore, bool story, struct redis_lua *lua)
{
    begin(explore->timing, story, lua);
    sim.explore = explore;
    sim_plan_explore();
    return play();
}
