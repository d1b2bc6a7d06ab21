/* SPDX-License-Identifier: MIT */
/* Faults that come at a moment of their own: Redis restarts or goes back to what it had on its disk, processes are cut
 * off from it or killed. */
#include "tests/sim/sim.h"

#include <string.h>

#include "runtime/die.h"

#define DOWN_MOST_US     (4 * SIM_S)
#define AWAY_MOST_US     (8 * SIM_S)
#define SNAPSHOT_MOST_US (12 * SIM_S) /* how far a rewind goes back */

static struct redis_db snapshot; /* what stands on the disk */
static bool has_snapshot;

static int64_t moment(void)
{
    return sim_between(sim.now_us + 500 * SIM_MS, sim.plan.faults_end_us);
}

static void come_back(void *object, uint64_t rewinds)
{
    (void)object;
    if (sim.over) return;
    sim.redis.now_us = sim.now_us + sim.leap_us;
    redis_db_restart(&sim.redis, (char)('a' + sim.redis_life % 6));
    if (rewinds && has_snapshot) {
        redis_db_copy_data(&sim.redis, &snapshot);
        sim_tell("redis: is back, with an earlier state");
        sim_judge_rewound();
    } else {
        sim_tell("redis: is back");
    }
    sim.redis_down = false;
}

static void restart_redis(void *object, uint64_t rewinds)
{
    (void)object;
    if (sim.redis_down || sim.over) return;
    sim_tell("redis: ends");
    sim.fault_count++;
    sim.redis_down = true;
    sim.redis_life++;
    sim_network_drop_all();
    sim_at(sim.now_us + sim_between(20 * SIM_MS, DOWN_MOST_US), come_back, NULL, rewinds);
}

static void keep_snapshot(void *object, uint64_t tag)
{
    (void)object;
    (void)tag;
    if (sim.over) return;
    redis_db_copy_data(&snapshot, &sim.redis);
    has_snapshot = true;
    sim_tell("redis: this state is on its disk");
}

static void cut_off(void *object, uint64_t tag)
{
    struct sim_process *p = &sim.process[sim_between(0, sim.process_count - 1)];
    (void)object;
    (void)tag;
    if (sim.over) return;
    sim.fault_count++;
    p->away_until_us = sim.now_us + sim_between(500 * SIM_MS, AWAY_MOST_US);
    sim_tell("network: %s is cut off from Redis for %lld ms", p->name,
             (long long)((p->away_until_us - sim.now_us) / SIM_MS));
}

static void end_process(void *object, uint64_t tag)
{
    struct sim_process *p = &sim.process[sim_between(0, sim.process_count - 1)];
    (void)object;
    (void)tag;
    if (sim.over) return;
    sim.fault_count++;
    if (sim_chance(0.3)) {
        sim_tell("%s: gets SIGTERM", p->name);
        p->signals++;
        sim_wake(p);
    } else {
        sim_kill(p, "from outside");
    }
}

void sim_faults_begin(void)
{
    const struct sim_faults *f = &sim.plan.faults;
    redis_db_flush(&snapshot);
    has_snapshot = false;
    for (int i = 0; i < f->redis_restarts; i++)
        sim_at(moment(), restart_redis, NULL, 0);
    for (int i = 0; i < f->rewinds; i++) {
        int64_t at_us = moment();
        sim_at(at_us - sim_between(0, SNAPSHOT_MOST_US), keep_snapshot, NULL, 0);
        sim_at(at_us, restart_redis, NULL, 1);
    }
    for (int i = 0; i < f->partitions; i++)
        sim_at(moment(), cut_off, NULL, 0);
    for (int i = 0; i < f->kills; i++)
        sim_at(moment(), end_process, NULL, 0);
}
