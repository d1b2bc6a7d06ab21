/* SPDX-License-Identifier: MIT */
/* A worker of the world: the real one, from its opening to its end. */
#include "tests/sim/sim.h"

#include <stdlib.h>

#include "ledger/feed.h"
#include "runtime/die.h"
#include "worker/process.h"

/* Nothing in hand, nothing read, Redis there: it waits for its next look. */
static bool is_idle(const struct worker *w)
{
    return w->slots_used == 0 && w->take_count == 0 && w->backlog.count == 0 && work_connected(w) && !w->stopping &&
           !round_under_way(w->round) && feed_fd(w->feed) >= 0;
}

void sim_worker_run(struct sim_process *p)
{
    struct errbuf err = {{0}};
    struct process *process = xcalloc(1, sizeof *process);
    if (!process_open(process, "", false, true, &err)) die("sim: %s", err.text);
    p->inner = process;
    while (!p->dead && !process_over(process)) {
        process_turn(process);
        p->idle = is_idle(&process->worker);
    }
    if (!p->dead) (void)process_report(process);
    p->inner = NULL;
    process_close(process);
    free(process);
}

struct sim_attempt sim_worker_attempt(const void *owner)
{
    const struct slot *slot = owner;
    return (struct sim_attempt){slot->delivery, slot->token, slot->claim.attempt};
}
