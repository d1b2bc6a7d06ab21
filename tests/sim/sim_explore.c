/* SPDX-License-Identifier: MIT */
/*
 * Exploration: not some faults, but all of them, up to a number of them in one run.
 *
 * A first run without a fault counts the moments at which one could come: every action of a process that has work in
 * hand, every message, every request, every answer, each kind of fault for itself. Then every run with one fault is
 * played, and, if asked for, every run with two: the second at any moment behind the first, counted in the run with the
 * first, for a fault leads to moments that were not there without it. All else (delays, the moment of a commit) comes
 * from the timing, a seed, of which several are played.
 */
#include <inttypes.h>
#include <stdio.h>

#include "tests/sim/sim.h"

static bool play(const struct sim_explore *e, struct redis_lua *lua, uint64_t *runs)
{
    ++*runs;
    if (sim_explore_run(e, false, lua)) return true;
    printf("%s, timing %" PRIu64 ", faults %" PRIu64 " and %" PRIu64 ": %s\n", sim_plan_channels[e->channel], e->timing,
           e->fault[0], e->fault[1], sim.failure);
    printf("its story: --explore-one %d:%" PRIu64 ":%" PRIu64 ":%" PRIu64 " --story\n", e->channel, e->timing,
           e->fault[0], e->fault[1]);
    return false;
}

static bool play_second(struct sim_explore *e, struct redis_lua *lua, uint64_t moments, uint64_t *runs)
{
    bool good = true;
    for (e->fault[1] = e->fault[0] + 1; good && e->fault[1] <= moments; e->fault[1]++)
        good = play(e, lua, runs);
    return good;
}

bool sim_explore_all(int faults, uint64_t timings, struct redis_lua *lua)
{
    uint64_t runs = 0, all_moments = 0;
    bool good = true;
    for (int channel = 0; good && channel < sim_plan_channel_count; channel++) {
        for (uint64_t timing = 1; good && timing <= timings; timing++) {
            struct sim_explore e = {.channel = channel, .timing = timing};
            good = play(&e, lua, &runs);
            const uint64_t moments = sim.moments;
            all_moments += moments;
            for (e.fault[0] = 1; good && e.fault[0] <= moments; e.fault[0]++) {
                e.fault[1] = 0;
                good = play(&e, lua, &runs);
                if (good && faults > 1) good = play_second(&e, lua, sim.moments, &runs);
            }
        }
    }
    printf("explored: %d kinds of channels, %" PRIu64 " timings, up to %d faults, %" PRIu64 " runs, %" PRIu64
           " moments in a run: %s\n",
           sim_plan_channel_count, timings, faults, runs, all_moments / (timings * (uint64_t)sim_plan_channel_count),
           good ? "nothing wrong" : "the last one failed");
    return good;
}
