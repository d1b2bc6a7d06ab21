/* SPDX-License-Identifier: MIT */
/*
 * The platform's steps: a write request arrives and is executed, at any moment until late_commit after its sender gave
 * it up. That it is lost on the way, or turned down, is a request of which that moment passes. A key is looked up when
 * its request arrives and known when it was executed, for as long as the window says.
 */
#include "tests/sim/states.h"

#include "runtime/die.h"

static bool has_keys(void)
{
    return states.of.keys == STATES_KEYS_AT_END || states.of.keys == STATES_KEYS_AT_START;
}

/* ---- requests ---- */

int states_platform_of(const struct state *s, int worker)
{
    for (int i = 0; i < STATES_REQUESTS_MAX; i++)
        if (s->platform.request[i].stage != STATES_FREE && s->platform.request[i].worker == worker) return i;
    return STATES_NOBODY;
}

void states_platform_take(struct state *s, int worker)
{
    for (int i = 0; i < STATES_REQUESTS_MAX; i++) {
        struct states_request *r = &s->platform.request[i];
        if (r->stage != STATES_FREE) continue;
        *r = (struct states_request){.stage = STATES_SENT,
                                     .worker = worker,
                                     .key = s->worker[worker].key,
                                     .last = s->now + states.write_limit + states.late_commit};
        return;
    }
    die("states: too many requests");
}

/* What nobody waits for and nothing can come of is forgotten. */
static void tidy(struct states_request *r)
{
    bool done = r->stage == STATES_COMMITTED || r->stage == STATES_OVER;
    if (done && r->worker == STATES_NOBODY) *r = (struct states_request){.stage = STATES_FREE};
}

void states_platform_forget(struct state *s, int worker, bool gives_up)
{
    const int at = states_platform_of(s, worker);
    if (at == STATES_NOBODY) return;
    struct states_request *r = &s->platform.request[at];
    r->worker = STATES_NOBODY;
    if (gives_up && s->now + states.late_commit < r->last) r->last = s->now + states.late_commit;
    tidy(r);
}

void states_platform_answered(struct state *s, int worker)
{
    const int at = states_platform_of(s, worker);
    if (at != STATES_NOBODY) s->platform.request[at] = (struct states_request){.stage = STATES_FREE};
}

void states_platform_time(struct state *s)
{
    for (int i = 0; i < STATES_REQUESTS_MAX; i++) {
        struct states_request *r = &s->platform.request[i];
        if ((r->stage == STATES_SENT || r->stage == STATES_EXECUTING) && r->last <= s->now) r->stage = STATES_OVER;
        tidy(r);
    }
}

/* ---- steps ---- */

static bool remembers(const struct state *s, int key)
{
    return s->platform.key[key].known && s->now <= s->platform.key[key].since + states.key_window;
}

bool states_platform_executes(const struct state *s, int key)
{
    for (int i = 0; i < STATES_REQUESTS_MAX; i++)
        if (s->platform.request[i].stage == STATES_EXECUTING && s->platform.request[i].key == key) return true;
    return false;
}

void states_platform_steps(const struct state *s, struct states_steps *steps)
{
    for (int i = 0; i < STATES_REQUESTS_MAX; i++) {
        const struct states_request *r = &s->platform.request[i];
        if (r->stage == STATES_EXECUTING || (r->stage == STATES_SENT && !has_keys()))
            (void)states_add(steps, STEP_COMMIT, i, 20);
        else if (r->stage == STATES_SENT &&
                 (states.of.keys == STATES_KEYS_AT_END || !states_platform_executes(s, r->key)))
            (void)states_add(steps, STEP_ARRIVE, i, 20);
    }
}

static void commit(struct state *s, struct states_request *r)
{
    struct states_platform *f = &s->platform;
    r->stage = STATES_COMMITTED;
    if (states.of.keys == STATES_UPSERT && f->post_count > 0) {
        r->post = 1;
        return;
    }
    if (f->post_count == STATES_POSTS_MAX) die("states: too many posts");
    f->posted_at[f->post_count] = s->now;
    r->post = ++f->post_count;
    if (!has_keys()) return;
    f->key[r->key].known = true;
    f->key[r->key].post = r->post;
    f->key[r->key].since = s->now;
}

/* The last moment comes, and it is executed before anybody does anything else. */
static void commit_late(struct state *s, struct states_request *r)
{
    if (r->stage == STATES_SENT && has_keys() && (remembers(s, r->key) || states_platform_executes(s, r->key))) return;
    commit(s, r);
}

void states_platform_make(struct state *s, const struct states_step *step)
{
    struct states_request *r = &s->platform.request[step->who];
    if (step->kind == STEP_TIME) {
        commit_late(s, r);
    } else if (step->kind == STEP_COMMIT) {
        commit(s, r);
    } else if (remembers(s, r->key)) {
        r->stage = STATES_COMMITTED;
        r->post = s->platform.key[r->key].post;
    } else {
        r->stage = STATES_EXECUTING;
    }
    tidy(r);
}
