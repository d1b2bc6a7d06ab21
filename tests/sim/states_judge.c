/* SPDX-License-Identifier: MIT */
/* What must hold in every state, and where the delivery has come to its end. */
#include "tests/sim/states.h"

#include <string.h>

static bool posted_twice(const struct state *s)
{
    return s->platform.post_count > 1 && !states.of.policy.harmless;
}

/* Nobody can read it back, or it could not be read for long enough, and the row says so. */
static bool cannot_be_known(const struct delivery_row *row)
{
    const bool reads = states.of.policy.can_read && states.of.policy.give_up_after_ms == STATES_NEVER_MS;
    return !reads && row->reason == RS_NO_EVIDENCE;
}

static void judge_row(const struct states_row *before, const struct states_row *now, const struct state *s)
{
    const struct delivery_row *was = &before->core, *row = &now->core;
    const char *name = delivery_state_name(row->state);
    if (now->wrong != NULL) states_fail("the row (%s) %s", name, now->wrong);
    if (row->rev < was->rev || row->attempt < was->attempt) states_fail("the row's numbers go back");
    if (was->state == DS_PUBLISHED && row->state != DS_PUBLISHED) states_fail("it was published and is %s now", name);
    if (row->state == DS_PUBLISHED && s->platform.post_count == 0) states_fail("it is published, and there is no post");
    if (row->state == DS_PUBLISHED && states.of.policy.gives_id && strcmp(row->ext_id, "p1") != 0)
        states_fail("it is published as \"%s\", and the post is p1", row->ext_id);
}

/* A worker that read the platform's yes, and has told the ledger, is believed. */
static void judge_told(const struct state *before, const struct states_step *step, const struct state *s)
{
    const struct delivery_row *row = &states_redis_row(s->redis)->core;
    if (step->kind != STEP_SETTLE || before->worker[step->who].event != EV_COMMITTED) return;
    if (s->worker[step->who].phase != STATES_IDLE || row->state == DS_PUBLISHED || row->ext_id[0] != '\0') return;
    states_fail("it is %s, and W%d has told of a post", delivery_state_name(row->state), step->who + 1);
}

void states_judge(const struct state *before, const struct states_step *step, const struct state *s)
{
    const struct states_row *row = states_redis_row(s->redis);
    if (s->redis != before->redis) judge_row(states_redis_row(before->redis), row, s);
    if (posted_twice(s)) states_fail("it is posted twice");
    if (row->core.state == DS_REJECTED && s->platform.post_count > 0 && !states.of.policy.harmless)
        states_fail("it is rejected, and there is a post");
    judge_told(before, step, s);
}

bool states_judge_is_over(const struct state *s)
{
    const enum delivery_state state = states_redis_row(s->redis)->core.state;
    bool quiet = s->reader.phase == STATES_RESTING;
    for (int i = 0; i < STATES_WORKERS; i++)
        quiet = quiet && s->worker[i].phase == STATES_IDLE;
    for (int i = 0; i < STATES_REQUESTS_MAX; i++)
        quiet = quiet && s->platform.request[i].stage == STATES_FREE;
    return quiet && (state == DS_PUBLISHED || state == DS_REJECTED || state == DS_HELD);
}

void states_judge_end(const struct state *s)
{
    const struct delivery_row *row = &states_redis_row(s->redis)->core;
    if (row->state == DS_PUBLISHED || s->platform.post_count == 0) return;
    if (states.of.policy.harmless || cannot_be_known(row)) return;
    states_fail("it ends as %s (%s), and there is a post", delivery_state_name(row->state),
                delivery_reason_name(row->reason));
}
