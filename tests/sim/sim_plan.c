/* SPDX-License-Identifier: MIT */
/* What a seed decides before anything happens. Most seeds have few kinds of faults and many of those, because two rare
 * things that must meet seldom do where everything is a little broken. */
#include "tests/sim/sim.h"

#include <stdio.h>

#define EXPLORED_US       (20 * SIM_S) /* faults come so long */
#define ITEMS_MAX         4
#define ARRIVAL_MOST_US   (6 * SIM_S)
#define SCHEDULE_LEAST_MS 2000
#define SCHEDULE_MOST_MS  15000
#define FAULTS_LEAST_S    8
#define FAULTS_MOST_S     45

const char *const sim_plan_channels[] = {"key/one",      "keyonly/one", "upsert/one", "read/one",
                                         "verified/one", "steps/one",   "blind/one",  "ping/one"};
const int sim_plan_channel_count = sizeof sim_plan_channels / sizeof sim_plan_channels[0];

static const struct sim_faults explored_faults = {.crash = 1,
                                                  .pause = 1,
                                                  .late_command = 1,
                                                  .lost_command = 1,
                                                  .lost_answer = 1,
                                                  .late_answer = 1,
                                                  .cut_round = 1,
                                                  .lost_request = 1,
                                                  .no_connection = 1,
                                                  .late_commit = 1,
                                                  .twice = 1,
                                                  .lost_response = 1,
                                                  .late_response = 1,
                                                  .read_error = 1,
                                                  .bad_answer = 1,
                                                  .refused = 1,
                                                  .asks_to_wait = 1,
                                                  .unavailable = 1};

/* Off in most seeds; else up to `most`. */
static double draw(double most)
{
    if (sim_between(0, 9) < 6) return 0;
    return most * (double)sim_between(5, 100) / 100;
}

static void draw_faults(struct sim_faults *f)
{
    f->crash = draw(0.04);
    f->pause = draw(0.03);
    f->late_command = draw(0.10);
    f->lost_command = draw(0.10);
    f->lost_answer = draw(0.20);
    f->late_answer = draw(0.10);
    f->cut_round = draw(0.10);
    f->lost_request = draw(0.30);
    f->no_connection = draw(0.20);
    f->late_commit = draw(0.80);
    f->twice = draw(0.30);
    f->lost_response = draw(0.50);
    f->late_response = draw(0.30);
    f->read_error = draw(0.20);
    f->bad_answer = draw(0.30);
    f->refused = draw(0.20);
    f->asks_to_wait = draw(0.20);
    f->unavailable = draw(0.30);
    f->redis_restarts = sim_between(0, 4) == 0 ? (int)sim_between(1, 2) : 0;
    f->rewinds = sim_between(0, 4) == 0 ? 1 : 0;
    f->partitions = sim_between(0, 3) == 0 ? (int)sim_between(1, 3) : 0;
    f->kills = sim_between(0, 2) == 0 ? (int)sim_between(1, 6) : 0;
}

/* One that comes earlier on the same channel, sometimes. */
static const struct sim_delivery_plan *draw_predecessor(const struct sim_plan *plan, int i)
{
    int earlier = i > 0 && sim_between(0, 2) == 0 ? (int)sim_between(0, i - 1) : i;
    const struct sim_delivery_plan *before = &plan->delivery[earlier];
    return earlier < i && before->channel == plan->delivery[i].channel ? before : NULL;
}

static void draw_deliveries(struct sim_plan *plan)
{
    int kinds = (int)sim_between(1, 3);
    int first = (int)sim_between(0, sim_plan_channel_count - 1);
    bool all_end = sim_between(0, 5) == 0;
    plan->delivery_count = (int)sim_between(1, ITEMS_MAX);
    for (int i = 0; i < plan->delivery_count; i++) {
        struct sim_delivery_plan *d = &plan->delivery[i];
        int channel = first + (int)sim_between(0, kinds - 1);
        d->channel = sim_plan_channels[channel % sim_plan_channel_count];
        snprintf(d->item, sizeof d->item, "i%d", i + 1);
        snprintf(d->name, sizeof d->name, "%s/i%d", d->channel, i + 1);
        d->at_us = sim.began_us + sim_between(0, ARRIVAL_MOST_US);
        d->raw = sim_between(0, 1);
        d->after = draw_predecessor(plan, i);
        int64_t at_ms = d->at_us / SIM_MS;
        if (sim_between(0, 9) == 0) d->not_before_ms = at_ms + sim_between(0, SCHEDULE_MOST_MS);
        if (all_end || sim_between(0, 9) == 0)
            d->not_after_ms = at_ms + (d->not_before_ms > 0 ? SCHEDULE_MOST_MS : 0) +
                              sim_between(SCHEDULE_LEAST_MS, SCHEDULE_MOST_MS);
    }
}

static void add_processes(void)
{
    const struct sim_plan *plan = &sim.plan;
    char name[16];
    sim_process_start(sim_process_add(SIM_PRODUCER, "P"), sim.now_us);
    for (int i = 0; i < plan->workers; i++) {
        snprintf(name, sizeof name, "W%d", i + 1);
        sim_process_start(sim_process_add(SIM_WORKER, name), sim.now_us + sim_between(0, SIM_S));
    }
    for (int i = 0; i < plan->reconcilers; i++) {
        snprintf(name, sizeof name, "R%d", i + 1);
        sim_process_start(sim_process_add(SIM_RECONCILER, name), sim.now_us + sim_between(0, SIM_S));
    }
    if (plan->operator_there) sim_process_start(sim_process_add(SIM_OPERATOR, "O"), sim.now_us + SIM_S);
}

void sim_plan_make(void)
{
    struct sim_plan *plan = &sim.plan;
    plan->workers = (int)sim_between(1, 3);
    plan->reconcilers = (int)sim_between(1, 2);
    plan->operator_there = sim_between(0, 2) == 0;
    plan->faults_end_us = sim.now_us + sim_between(FAULTS_LEAST_S, FAULTS_MOST_S) * SIM_S;
    draw_deliveries(plan);
    draw_faults(&plan->faults);
    add_processes();
}

/* Every kind of fault may come; which ones do, sim.explore says. */
void sim_plan_explore(void)
{
    struct sim_plan *plan = &sim.plan;
    struct sim_delivery_plan *d = &plan->delivery[0];
    *plan = (struct sim_plan){.workers = 2, .reconcilers = 1, .delivery_count = 1, .faults = explored_faults};
    plan->faults_end_us = sim.now_us + EXPLORED_US;
    d->channel = sim_plan_channels[sim.explore->channel];
    snprintf(d->item, sizeof d->item, "i1");
    snprintf(d->name, sizeof d->name, "%s/i1", d->channel);
    d->at_us = sim.now_us + sim_between(0, SIM_S);
    d->raw = sim_between(0, 1);
    add_processes();
}
