/* SPDX-License-Identifier: MIT */
/*
 * landfall_states: walks through all states of each case.
 *
 *   landfall_states [--case NAME] [--depth STEPS] [--faults N] [--attempts N] [--grid N]
 *
 * Ends with 1 where something does not hold, and prints the way there. docs/simulation.md says what the bounds mean.
 */
#include "tests/sim/states.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/sim/redis_db.h"

struct states states;

/* The spans that all have, in units: a lease that covers a write that begins one unit after the claim. */
#define UNIT_MS     1000
#define WRITE_LIMIT 1
#define SPANS       .lease_ms = 2, .late_commit_ms = 1, .visibility_lag_ms = 1, .give_up_after_ms = STATES_NEVER_MS
#define WINDOW      7 /* a replay's claim, and its newest commit, lie within it some units long */

static const struct states_case cases[] = {
    {"key",
     STATES_KEYS_AT_START,
     {SPANS, .gives_id = true, .can_read = true, .key_window_ms = WINDOW, .clean_misses = 2}},
    {"key_at_end",
     STATES_KEYS_AT_END,
     {SPANS, .gives_id = true, .can_read = true, .key_window_ms = WINDOW, .clean_misses = 2}},
    {"keyonly", STATES_KEYS_AT_END, {SPANS, .gives_id = true, .key_window_ms = WINDOW}},
    {"upsert",
     STATES_UPSERT,
     {SPANS, .gives_id = true, .can_read = true, .key_window_ms = DELIVERY_FOREVER, .clean_misses = 2}},
    {"read", STATES_NO_KEYS, {SPANS, .gives_id = true, .can_read = true, .clean_misses = 2}},
    {"read_once", STATES_NO_KEYS, {SPANS, .gives_id = true, .can_read = true, .clean_misses = 1}},
    {"read_hold_absent",
     STATES_NO_KEYS,
     {SPANS, .gives_id = true, .can_read = true, .clean_misses = 2, .hold_absent = true}},
    {"read_give_up",
     STATES_NO_KEYS,
     {.lease_ms = 2,
      .late_commit_ms = 1,
      .visibility_lag_ms = 1,
      .give_up_after_ms = 6,
      .gives_id = true,
      .can_read = true,
      .clean_misses = 2}},
    {"verified", STATES_NO_KEYS, {SPANS, .gives_id = true, .can_read = true, .verify = true, .clean_misses = 2}},
    {"blind", STATES_NO_KEYS, {SPANS}},
    {"ping", STATES_NO_KEYS, {SPANS, .harmless = true}},
};

int64_t states_ms(int at)
{
    return STATES_EPOCH_MS + at * states.unit_ms;
}

void states_fail(const char *format, ...)
{
    va_list arguments;
    if (states.failed) return;
    states.failed = true;
    va_start(arguments, format);
    vsnprintf(states.failure, sizeof states.failure, format, arguments);
    va_end(arguments);
}

static void begin(const struct states_case *of, const struct states_bound *bound)
{
    struct delivery_policy *p = &states.of.policy;
    const int grid = bound->steps_a_unit;
    states = (struct states){.of = *of, .bound = *bound, .unit_ms = UNIT_MS / grid, .write_limit = WRITE_LIMIT * grid};
    states.late_commit = (int)p->late_commit_ms * grid;
    states.visibility_lag = (int)p->visibility_lag_ms * grid;
    states.key_window = p->key_window_ms > 0 ? (int)p->key_window_ms * grid : 0;
    p->lease_ms *= UNIT_MS;
    p->late_commit_ms *= UNIT_MS;
    p->visibility_lag_ms *= UNIT_MS;
    if (p->give_up_after_ms < STATES_NEVER_MS) p->give_up_after_ms *= UNIT_MS;
    if (p->key_window_ms > 0) p->key_window_ms *= UNIT_MS;
    p->max_attempts = bound->attempts;
    p->backoff_base_ms = p->backoff_cap_ms = 1;
}

static double cpu_s(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

static bool read_options(int argc, char **argv, const char **name, struct states_bound *bound)
{
    static const struct option table[] = {
        {"case", required_argument, NULL, 'c'},  {"faults", required_argument, NULL, 'f'},
        {"grid", required_argument, NULL, 'g'},  {"attempts", required_argument, NULL, 'a'},
        {"depth", required_argument, NULL, 'd'}, {NULL, 0, NULL, 0},
    };
    int option;
    while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
        const int number = optarg != NULL ? (int)strtol(optarg, NULL, 10) : 0;
        switch (option) {
        case 'c': *name = optarg; break;
        case 'd': bound->depth = number; break;
        case 'f': bound->faults = number; break;
        case 'g': bound->steps_a_unit = number; break;
        case 'a': bound->attempts = number; break;
        default: return false;
        }
    }
    return optind == argc && bound->steps_a_unit > 0 && UNIT_MS % bound->steps_a_unit == 0 && bound->attempts > 0 &&
           bound->attempts <= STATES_REQUESTS_MAX;
}

int main(int argc, char **argv)
{
    struct states_bound bound = {.steps_a_unit = 1, .attempts = 2, .depth = 14, .faults = 1};
    const char *name = NULL;
    bool good = true, found_one = false;
    if (!read_options(argc, argv, &name, &bound)) {
        fprintf(stderr,
                "usage: landfall_states [--case NAME] [--depth STEPS] [--faults N] [--attempts N] [--grid N]\n");
        return 2;
    }
    struct redis_lua *lua = redis_lua_new();
    states_redis_open(lua);
    for (size_t i = 0; good && i < sizeof cases / sizeof cases[0]; i++) {
        struct states_found found;
        double began_s = cpu_s();
        if (name != NULL && strcmp(name, cases[i].name) != 0) continue;
        found_one = true;
        begin(&cases[i], &bound);
        good = states_search(&found);
        printf("%s: %" PRIu64 " states, %" PRIu64 " steps, %" PRIu64
               " of them cut by their hash, the farthest after %d steps, %.1f s: %s\n",
               states.of.name, found.states, found.steps, found.cuts, found.longest, cpu_s() - began_s,
               good ? "nothing wrong" : "something does not hold");
        fflush(stdout);
    }
    states_redis_close();
    redis_lua_free(&lua);
    if (!found_one) fprintf(stderr, "landfall_states: no such case\n");
    return good && found_one ? 0 : 1;
}
