/* SPDX-License-Identifier: MIT */
/*
 * process: everything around the worker's work: opening, waiting, chores, the end.
 */
#ifndef LANDFALL_WORKER_PROCESS_H
#define LANDFALL_WORKER_PROCESS_H

#include "platforms/fleet.h"
#include "runtime/service.h"
#include "worker/gauges.h"
#include "worker/worker.h"

struct process {
    struct config *config;
    struct fleet fleet;
    struct worker worker;
    struct gauges gauges;
    struct service service;
    char name[64];
    int64_t last_seen_boot_ms, next_ask_ms;
    uint64_t agenda_reads_at_idle;
    bool pauses_compared, idle_seen, given_up;
    bool takes_writes; /* Redis took the last heartbeat */
    int exit_code;     /* of an open that failed */
};

extern const struct service_program process_program;

/* serve: answer under metrics.listen, which the check of a process that runs already must not. False: err says why,
 * exit_code with what to end; nothing is left open. */
MUSTCHECK bool process_open(struct process *p, const char *config_path, bool until_idle, bool serve,
                            struct errbuf *err);
void process_close(struct process *p);

/* True when the loop is to end. */
bool process_over(const struct process *p);
/* One turn of the loop: waits for something to happen, and does what it leads to. */
void process_turn(struct process *p);
/* --check: asks Redis once. The exit code. */
int process_check(struct process *p);
/* The last line and the exit code. */
int process_report(struct process *p);

#endif
