/* SPDX-License-Identifier: MIT */
#include "worker/attempt.h"

#include <stdio.h>
#include <string.h>

void attempt_init(struct attempt *a)
{
    memset(a, 0, sizeof *a);
}

/* Nothing of the write has left. What the login or the clock said is the reason, not the outcome. */
static enum attempt_action not_sent(struct outcome *outcome, const char *why)
{
    memset(outcome, 0, sizeof *outcome);
    outcome->kind = EV_NOT_SENT;
    snprintf(outcome->detail, sizeof outcome->detail, "%s", why);
    return ATTEMPT_DO_SETTLE;
}

static enum attempt_action write_or_login(bool needs_session)
{
    return needs_session ? ATTEMPT_DO_LOGIN : ATTEMPT_DO_WRITE;
}

static enum attempt_action login_failed(struct outcome *outcome)
{
    /* A login creates nothing, so whatever became of it, the write was not sent. Refused credentials and waits hold for
     * the whole channel. */
    if (outcome->kind == EV_CREDENTIAL || outcome->kind == EV_WAIT) return ATTEMPT_DO_SETTLE;
    return not_sent(outcome, "the login failed");
}

enum attempt_action attempt_next(struct attempt *a, enum attempt_event event, bool needs_session,
                                 struct outcome *outcome)
{
    switch (event) {
    case ATTEMPT_BEGIN: return write_or_login(needs_session);
    case ATTEMPT_SESSION: return write_or_login(false);
    case ATTEMPT_LOGIN_FAILED: return login_failed(outcome);
    case ATTEMPT_TOO_LATE: return not_sent(outcome, "the lease does not cover a send any more");
    case ATTEMPT_ANSWERED: break;
    }
    if (outcome->session_expired && needs_session && !a->renewed) {
        a->renewed = true; /* refused before execution: the same bytes may go out under a new session */
        return write_or_login(true);
    }
    return ATTEMPT_DO_SETTLE;
}
