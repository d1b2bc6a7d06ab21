/* SPDX-License-Identifier: MIT */
/*
 * The reconciler's steps, in the order of reconciler/walk.c: the row, then the server's time, then the platform, then
 * the ledger. It may look at any moment at which the row is uncertain, not only when the walk is due. What it decides
 * are the real calls of reconciler/resolve.c and core/.
 */
#include "tests/sim/states.h"

#include <stdio.h>

#include "ledger/reads.h"
#include "reconciler/resolve.h"
#include "runtime/die.h"

#define ROUND_MS  3000
#define TRIES_MAX 5 /* as reconciler/apply.c */

/* ---- what there is to be seen ---- */

/* The post of the row's id, or the first; 0: none. */
static int post_there(const struct state *s)
{
    int wanted = 1;
    if (s->reader.row.ext_id[0] != '\0' && sscanf(s->reader.row.ext_id, "p%d", &wanted) != 1) return 0;
    return wanted <= s->platform.post_count ? wanted : 0;
}

static struct states_step *add_read(struct states_steps *steps, enum delivery_event event, int turn)
{
    struct states_step *step = turn > 0 ? states_add(steps, STEP_READ, STATES_NOBODY, turn)
                                        : states_add_fault(steps, STEP_READ, STATES_NOBODY);
    if (step != NULL) step->event = event;
    return step;
}

/* A post is seen at any moment within the lag, and after it for certain. */
static void add_evidence(const struct state *s, struct states_steps *steps)
{
    const struct delivery_policy *p = &states.of.policy;
    int post = post_there(s);
    bool certain = post > 0 && s->now >= s->platform.posted_at[post - 1] + states.visibility_lag;
    if (p->harmless || !p->can_read) {
        (void)add_read(steps, EV_UNSEEN, 30);
        return;
    }
    if (post > 0) (void)add_read(steps, EV_FOUND, 30);
    if (!certain) (void)add_read(steps, s->reader.row.ext_id[0] != '\0' ? EV_GONE : EV_ABSENT, 31);
    (void)add_read(steps, EV_UNSEEN, 0);
}

void states_reader_steps(const struct state *s, struct states_steps *steps)
{
    switch (s->reader.phase) {
    case STATES_RESTING:
        if (states_redis_row(s->redis)->core.state == DS_UNCERTAIN)
            (void)states_add(steps, STEP_LOOK, STATES_NOBODY, 50);
        return;
    case STATES_LOADED: (void)states_add(steps, STEP_READ_CLOCK, STATES_NOBODY, 30); break;
    case STATES_READING: add_evidence(s, steps); break;
    case STATES_RESOLVING:
        (void)states_add(steps, STEP_RESOLVE, STATES_NOBODY, 30);
        (void)states_add_fault(steps, STEP_RESOLVE_UNHEARD, STATES_NOBODY);
        break;
    }
    (void)states_add_fault(steps, STEP_READER_CRASH, STATES_NOBODY);
}

/* ---- the steps ---- */

static void rest(struct state *s)
{
    s->reader = (struct states_reader){.phase = STATES_RESTING};
}

static void look(struct state *s)
{
    struct errbuf err = {{0}};
    struct reads_delivery read;
    const char *name = STATES_DELIVERY, *channel = STATES_CHANNEL;
    states_redis_enter(s);
    if (!reads_deliveries(&states_ledger, states_link, &name, &channel, 1, &read, ROUND_MS, &err) || !read.readable)
        die("states: %s%s", err.text, read.error);
    s->reader = (struct states_reader){.phase = STATES_LOADED, .attempt = read.row.core.attempt, .row = read.row.core};
    reads_delivery_fini(&read);
}

static void read_clock(struct state *s)
{
    struct errbuf err = {{0}};
    struct reads_overview overview;
    states_redis_enter(s);
    if (!reads_overview(&states_ledger, states_link, &overview, ROUND_MS, &err)) die("states: %s", err.text);
    s->reader.phase = STATES_READING;
    s->reader.searched_from_ms = overview.now_ms;
    s->reader.no_absence_before_ms = overview.epoch.no_absence_before_ms;
}

static struct evidence evidence_of(const struct states_reader *r, char id[16])
{
    snprintf(id, 16, "p%d", r->post);
    return (struct evidence){.event = r->event,
                             .attempt = r->attempt,
                             .searched_from_ms = r->searched_from_ms,
                             .how = "listing",
                             .ext_id = r->event == EV_FOUND ? id : NULL};
}

struct delivery_decision states_reader_decision(const struct state *s)
{
    char id[16];
    const struct states_reader *r = &s->reader;
    const struct evidence evidence = evidence_of(r, id);
    const struct resolve_moment moment = {r->decided_ms, r->no_absence_before_ms, 0};
    return resolve_decide(&r->row, &evidence, &states.of.policy, &moment);
}

/* Decides now; what there is to write is written next. */
static void conclude(struct state *s)
{
    s->reader.decided_ms = states_ms(s->now);
    s->reader.phase = STATES_RESOLVING;
    const struct delivery_decision decision = states_reader_decision(s);
    if (!resolve_writes(&s->reader.row, &decision)) rest(s);
}

static void fill(const struct states_reader *r, const struct evidence *evidence,
                 const struct delivery_decision *decision, struct decide_request *q)
{
    const struct resolve_ids ids = resolve_ids(&r->row, evidence);
    *q = (struct decide_request){.base = {.channel = STATES_CHANNEL, .delivery = STATES_DELIVERY},
                                 .row = &r->row,
                                 .decision = decision,
                                 .ext_id = ids.kept,
                                 .url = ids.url,
                                 .duplicate_id = decision->duplicate ? ids.duplicate : NULL};
    if (!resolve_rests_on_absence(&r->row, evidence, &states.of.policy, r->no_absence_before_ms)) return;
    q->searched_from_ms = r->searched_from_ms;
    q->searched_attempt = r->attempt;
    q->visibility_lag_ms = states.of.policy.visibility_lag_ms;
}

static void resolve(struct state *s, bool heard)
{
    char id[16];
    const struct evidence evidence = evidence_of(&s->reader, id);
    const struct delivery_decision decision = states_reader_decision(s);
    struct decide_request q;
    fill(&s->reader, &evidence, &decision, &q);
    states_redis_enter(s);
    round_resolve(states_round, &q);
    states_redis_round();
    if (q.base.result != REQUEST_ANSWERED) die("states: resolve: %s", q.base.error);
    states_redis_leave(s);
    if (!heard) return;
    if (q.answer == DECIDE_STALE && ++s->reader.tries < TRIES_MAX) {
        s->reader.row = q.current.core;
        conclude(s);
    } else if (q.answer == DECIDE_OK || q.answer == DECIDE_STALE || q.answer == DECIDE_EARLY) {
        rest(s);
    } else {
        states_fail("a resolution is answered with %d: %s", q.answer, q.base.error);
    }
}

void states_reader_make(struct state *s, const struct states_step *step)
{
    switch ((int)step->kind) {
    case STEP_LOOK: look(s); break;
    case STEP_READ_CLOCK: read_clock(s); break;
    case STEP_READ:
        s->reader.event = step->event;
        s->reader.post = post_there(s);
        conclude(s);
        break;
    case STEP_RESOLVE: resolve(s, true); break;
    case STEP_RESOLVE_UNHEARD: resolve(s, false); break;
    case STEP_READER_CRASH: rest(s); break;
    default: die("states: no step of the reconciler");
    }
}
