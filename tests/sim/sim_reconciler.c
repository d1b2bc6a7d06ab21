/* SPDX-License-Identifier: MIT */
/* A reconciler of the world: the real one, from its opening to its end. */
#include "tests/sim/sim.h"

#include <stdlib.h>

#include "reconciler/process.h"
#include "runtime/die.h"

static bool is_idle(const struct reconciler *r)
{
    bool walks = false;
    for (size_t i = 0; i < RECONCILER_WALKS_MAX; i++)
        walks = walks || r->walks[i].phase != WALK_FREE;
    return !walks && link_is_open(r->link) && r->clock_known && !r->stopping;
}

void sim_reconciler_run(struct sim_process *p)
{
    struct errbuf err = {{0}};
    struct process *process = xcalloc(1, sizeof *process);
    if (!process_open(process, "", true, &err)) die("sim: %s", err.text);
    p->inner = process;
    while (!p->dead && !process_over(process)) {
        process_turn(process);
        p->idle = is_idle(&process->reconciler);
    }
    p->inner = NULL;
    process_close(process);
    free(process);
}
