/* SPDX-License-Identifier: MIT */
/*
 * landfall_sim: plays seeds of the simulation.
 *
 *   landfall_sim --seeds 10000 [--from 1]    plays so many, says how long it took; ends with 1 at the first that fails
 *   landfall_sim --seed N [--story]          plays one; with its story, one line a step
 *   landfall_sim --explore 1|2 [--timings T] every run with so many faults at most, on every kind of channel
 *   landfall_sim --explore-one C:T:F:G       one of those: channel, timing, faults
 *
 * docs/simulation.md says what is real here and what is not.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/errbuf.h"
#include "tests/sim/sim.h"

struct options {
    uint64_t from, count, timings;
    int explore;
    const char *explore_one;
    bool story;
    const char *config_path;
};

static double cpu_s(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

static bool read_options(int argc, char **argv, struct options *o)
{
    static const struct option table[] = {
        {"seed", required_argument, NULL, 's'},
        {"seeds", required_argument, NULL, 'n'},
        {"from", required_argument, NULL, 'f'},
        {"story", no_argument, NULL, 't'},
        {"config", required_argument, NULL, 'c'},
        {"explore", required_argument, NULL, 'x'},
        {"timings", required_argument, NULL, 'm'},
        {"explore-one", required_argument, NULL, 'o'},
        {NULL, 0, NULL, 0},
    };
    int option;
    *o = (struct options){.from = 1, .count = 1000, .timings = 1, .config_path = TREE "/tests/sim/fleet.json"};
    while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
        switch (option) {
        case 's':
            o->from = strtoull(optarg, NULL, 10);
            o->count = 1;
            break;
        case 'n': o->count = strtoull(optarg, NULL, 10); break;
        case 'f': o->from = strtoull(optarg, NULL, 10); break;
        case 't': o->story = true; break;
        case 'c': o->config_path = optarg; break;
        case 'x': o->explore = (int)strtol(optarg, NULL, 10); break;
        case 'm': o->timings = strtoull(optarg, NULL, 10); break;
        case 'o': o->explore_one = optarg; break;
        default: return false;
        }
    }
    return optind == argc;
}

static bool explore_one(const struct options *o, struct redis_lua *lua)
{
    struct sim_explore e = {0};
    int read =
        sscanf(o->explore_one, "%d:%" SCNu64 ":%" SCNu64 ":%" SCNu64, &e.channel, &e.timing, &e.fault[0], &e.fault[1]);
    if (read != 4 || e.channel < 0 || e.channel >= sim_plan_channel_count) return false;
    bool good = sim_explore_run(&e, o->story, lua);
    printf("%s\n", good ? "nothing wrong" : sim.failure);
    return good;
}

/* Plays the seeds; says what they were like. */
static bool play_seeds(const struct options *o, struct redis_lua *lua)
{
    uint64_t scripts = 0, commands = 0, faults = 0, events = 0, played = 0;
    double began_s = cpu_s();
    bool good = true;
    for (uint64_t seed = o->from; good && seed < o->from + o->count; seed++) {
        good = sim_run(seed, o->story, lua);
        played++;
        scripts += sim.scripts;
        commands += sim.commands;
        faults += sim.fault_count;
        events += sim.events;
        if (!good) printf("seed %" PRIu64 ": %s\n", seed, sim.failure);
    }
    double used_s = cpu_s() - began_s, n = (double)played;
    printf("%" PRIu64
           " seeds, %s; a seed has %.0f scripts, %.0f commands, %.1f faults, %.0f events; %.0f seeds a minute "
           "of CPU\n",
           played, good ? "nothing wrong" : "the last one failed", (double)scripts / n, (double)commands / n,
           (double)faults / n, (double)events / n, n / used_s * 60);
    return good;
}

int main(int argc, char **argv)
{
    struct options o;
    struct errbuf err = {{0}};
    if (!read_options(argc, argv, &o)) {
        fprintf(stderr,
                "usage: landfall_sim [--seed N [--story]] [--seeds N] [--from N] [--explore 1|2 [--timings T]]\n"
                "                    [--explore-one C:T:F:G] [--config FILE]\n");
        return 2;
    }
    if (!sim_machine_open(o.config_path, &err)) {
        fprintf(stderr, "landfall_sim: %s\n", err.text);
        return 2;
    }
    struct redis_lua *lua = redis_lua_new();
    bool good = o.explore_one != NULL ? explore_one(&o, lua)
                : o.explore > 0       ? sim_explore_all(o.explore, o.timings, lua)
                                      : play_seeds(&o, lua);
    redis_lua_free(&lua);
    sim_machine_close();
    return good ? 0 : 1;
}
