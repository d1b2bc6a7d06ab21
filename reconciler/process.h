/* SPDX-License-Identifier: MIT */
/*
 * process: everything around the walks: opening, waiting, chores, the end.
 */
#ifndef LANDFALL_RECONCILER_PROCESS_H
#define LANDFALL_RECONCILER_PROCESS_H

#include "ledger/sweep.h"
#include "reconciler/reconciler.h"
#include "runtime/service.h"

struct process {
    struct config *config;
    struct reconciler reconciler;
    struct service service;
    int64_t next_chores_ms, next_ask_ms;
    struct sweep sweep; /* of a service only: a drain and a look end soon */
    bool is_service;
    bool takes_writes; /* Redis took the last heartbeat */
    int exit_code;     /* of an open that failed */
};

extern const struct service_program process_program;

/* serve: with metrics endpoint, as a service. False: err says why, exit_code with what to end; nothing is left open. */
MUSTCHECK bool process_open(struct process *p, const char *config_path, bool serve, struct errbuf *err);
void process_close(struct process *p);

/* One turn of the loop: wait, read, one round with the ledger, begin what is due. */
void process_turn(struct process *p);
/* True when the loop is to end. */
bool process_over(const struct process *p);
/* For a program that ends by itself: turns while `goes_on` says so, then to the orderly end of what is under way.
 * False: without Redis for so long that nothing can be concluded. */
MUSTCHECK bool process_work(struct process *p, bool (*goes_on)(void *context), void *context);
/* Asks Redis once; false says why. */
MUSTCHECK bool process_check(struct process *p, struct errbuf *err);

#endif
