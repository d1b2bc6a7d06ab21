/* SPDX-License-Identifier: MIT */
/*
 * attempt: one execution of a delivery's write request, as steps.
 *
 * Pure: it is told what happened and says what is to be done next. A login, where the channel has sessions, comes first
 * and is repeated once if the platform says that the session is over. Then come the steps that the write needs, in
 * their order, and the ledger gets the request that was made with their results: before it has it, nothing is written.
 * The write goes out once, or once more with the same bytes where the platform refused it for the session alone. Every
 * end is one outcome. Nothing here knows of sockets, Redis or clocks.
 */
#ifndef LANDFALL_WORKER_ATTEMPT_H
#define LANDFALL_WORKER_ATTEMPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "platforms/verdict.h"

struct attempt {
    bool needs_session;
    bool renewed;       /* a session was refused once already */
    bool frozen;        /* the ledger has the request that is to be sent */
    size_t step, steps; /* the step that comes next, and how many there are */
};

/* What happened. */
enum attempt_event {
    ATTEMPT_BEGIN,        /* the claim is written */
    ATTEMPT_SESSION,      /* there is a session now */
    ATTEMPT_LOGIN_FAILED, /* `outcome` says how */
    ATTEMPT_STEP_KEPT,    /* what the step gives is kept */
    ATTEMPT_STEP_FAILED,  /* `outcome` says how; also for a request that cannot be made with the results */
    ATTEMPT_FROZEN,       /* the ledger has the request that was made with the results */
    ATTEMPT_ANSWERED,     /* `outcome` is the verdict on the write */
    ATTEMPT_NO_COPIES,    /* fewer copies of the claim were acknowledged than are wanted: the send is not begun */
    ATTEMPT_TOO_LATE, /* the lease does not cover a send any more, or the ledger knows better: the send is not begun */
};

/* What is to be done. */
enum attempt_action {
    ATTEMPT_DO_LOGIN,  /* get a session (there may be one already) */
    ATTEMPT_DO_STEP,   /* send step number a->step */
    ATTEMPT_DO_FREEZE, /* make the write request of the results and have the ledger keep it */
    ATTEMPT_DO_WRITE,  /* send the frozen request */
    ATTEMPT_DO_SETTLE, /* the attempt is over; *outcome is its outcome */
};

/* needs_session: the channel has sessions. Steps from number `step` up to `steps` are to be done; with none left, the
 * ledger has got the frozen request with the claim. */
void attempt_init(struct attempt *a, bool needs_session, size_t step, size_t steps);

/* Advances. outcome: in and out, see above. */
enum attempt_action attempt_next(struct attempt *a, enum attempt_event event, struct outcome *outcome);

#endif
