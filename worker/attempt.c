/* SPDX-License-Identifier: MIT */
#include "worker/attempt.h"

#include <stdio.h>
#include <string.h>

void attempt_init(struct attempt *a, bool needs_session, size_t step, size_t steps)
{
    *a = (struct attempt){.needs_session = needs_session, .step = step, .steps = steps, .frozen = step >= steps};
}

/* Nothing of the write has left. What the login or the clock said is the reason, not the outcome. */
static enum attempt_action not_sent(struct outcome *outcome, const char *why)
{
    memset(outcome, 0, sizeof *outcome);
    outcome->kind = EV_NOT_SENT;
    snprintf(outcome->detail, sizeof outcome->detail, "%s", why);
    return ATTEMPT_DO_SETTLE;
}

/* With a session, or where none is needed. */
static enum attempt_action go_on(const struct attempt *a)
{
    if (a->step < a->steps) return ATTEMPT_DO_STEP;
    return a->frozen ? ATTEMPT_DO_WRITE : ATTEMPT_DO_FREEZE;
}

/* Refused before execution, for the session alone: the same bytes may go out once more, under a new one. */
static enum attempt_action once_more(struct attempt *a, const struct outcome *outcome)
{
    if (!outcome->session_expired || !a->needs_session || a->renewed) return ATTEMPT_DO_SETTLE;
    a->renewed = true;
    return ATTEMPT_DO_LOGIN;
}

static enum attempt_action login_failed(struct outcome *outcome)
{
    /* A login creates nothing, so whatever became of it, the write was not sent. Refused credentials and waits hold for
     * the whole channel. */
    if (outcome->kind == EV_CREDENTIAL || outcome->kind == EV_WAIT) return ATTEMPT_DO_SETTLE;
    return not_sent(outcome, "the login failed");
}

enum attempt_action attempt_next(struct attempt *a, enum attempt_event event, struct outcome *outcome)
{
    switch (event) {
    case ATTEMPT_BEGIN: return a->needs_session ? ATTEMPT_DO_LOGIN : go_on(a);
    case ATTEMPT_SESSION: return go_on(a);
    case ATTEMPT_LOGIN_FAILED: return login_failed(outcome);
    case ATTEMPT_STEP_KEPT: a->step++; return go_on(a);
    case ATTEMPT_FROZEN: a->frozen = true; return go_on(a);
    case ATTEMPT_NO_COPIES: return not_sent(outcome, "too few copies of the claim were acknowledged (redis.wait_)");
    case ATTEMPT_TOO_LATE: return not_sent(outcome, "the lease does not cover a send any more");
    case ATTEMPT_STEP_FAILED:
    case ATTEMPT_ANSWERED: break;
    }
    return once_more(a, outcome);
}
