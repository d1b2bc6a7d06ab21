/* SPDX-License-Identifier: MIT */
/*
 * attempt: one execution of a delivery's write request, as steps.
 *
 * Pure: it is told what happened and says what is to be done next. A login, where the channel has sessions, comes
 * before the write and is repeated once if the platform says that the session is over; the write goes out once, or once
 * more with the same bytes where the platform refused it for the session alone. Every end is one outcome. Nothing here
 * knows of sockets, Redis or clocks.
 */
#ifndef LANDFALL_WORKER_ATTEMPT_H
#define LANDFALL_WORKER_ATTEMPT_H

#include <stdbool.h>
#include <stdint.h>

#include "platforms/verdict.h"

struct attempt {
    bool renewed; /* a session was refused once already */
};

/* What happened. */
enum attempt_event {
    ATTEMPT_BEGIN,        /* the claim is written */
    ATTEMPT_SESSION,      /* there is a session now */
    ATTEMPT_LOGIN_FAILED, /* `outcome` says how */
    ATTEMPT_ANSWERED,     /* `outcome` is the verdict on the write */
    ATTEMPT_TOO_LATE, /* the lease does not cover a send any more, or the ledger knows better: the send is not begun */
};

/* What is to be done. */
enum attempt_action {
    ATTEMPT_DO_LOGIN,  /* get a session (there may be one already) */
    ATTEMPT_DO_WRITE,  /* send the frozen request */
    ATTEMPT_DO_SETTLE, /* the attempt is over; *outcome is its outcome */
};

void attempt_init(struct attempt *a);

/* Advances. needs_session: the channel has sessions. outcome: in and out, see above. */
enum attempt_action attempt_next(struct attempt *a, enum attempt_event event, bool needs_session,
                                 struct outcome *outcome);

#endif
