/* SPDX-License-Identifier: MIT */
/*
 * states: every state that one delivery, two workers and one reconciler can get into, up to a bound.
 *
 * Where landfall_sim plays many histories of whole processes, this explores one small world completely: a state is data
 * (what Redis holds, what the platform has and still executes, at which step each process is, the time), each step of
 * it is atomic, every order of steps is walked, and a state that was seen before, known by a hash of 128 bits, is not
 * walked again. Time is one of the steps: it passes or not, at every state, so a send begins anywhere before the end of
 * its lease, a commit comes anywhere up to the limit, a lease ends under whatever anybody does, and every process may
 * stand still for any time.
 *
 * Real are the Lua scripts, ledger/ with its encoding, core/, attempt_report and reconciler/resolve.c. What is modelled
 * are the loops around them (states_worker.c, states_reconciler.c), the platform, and the clock.
 *
 *   states_main.c        the cases: each tier and policy; what the command line says
 *   states_search.c      the walk through the states, and from each to its end without faults
 *   states_hash.c        a state as 128 bits, and the set of those that were seen
 *   states_redis.c       the real ledger on an in-memory Redis; snapshots of it
 *   states_step.c        which steps a state has, what they are called, the clock's
 *   states_worker.c, states_reconciler.c, states_platform.c   their steps
 *   states_judge.c       what must hold in every state
 *
 * Times are units of states.unit_ms milliseconds since the beginning, unless a name says ms.
 */
#ifndef SIM_STATES_H
#define SIM_STATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/delivery.h"
#include "ledger/request.h"

#define STATES_WORKERS      2
#define STATES_REQUESTS_MAX 4
#define STATES_POSTS_MAX    4
#define STATES_KEYS_MAX     4  /* generations */
#define STATES_STEPS_MAX    48 /* of one state */
#define STATES_CHANNEL      "sim/one"
#define STATES_DELIVERY     "sim/one/i1"
#define STATES_EPOCH_MS     INT64_C(1800000000000)
#define STATES_NOBODY       (-1)
#define STATES_NEVER_MS     INT64_C(1000000000) /* longer than anything here lasts */

/* ---- what is explored ---- */

enum states_keys {
    STATES_NO_KEYS,
    STATES_KEYS_AT_END,   /* known once its request has been executed: two at the same time are two posts */
    STATES_KEYS_AT_START, /* while a request is executed, another one with its key is turned down */
    STATES_UPSERT,
};

/* A tier, with what its channel says. */
struct states_case {
    const char *name;
    enum states_keys keys;
    struct delivery_policy policy; /* spans in units until the case begins, in ms then */
};

struct states_bound {
    int steps_a_unit; /* of the cases' spans: how finely time is cut */
    int attempts;     /* max_attempts */
    int depth;        /* steps from the beginning; 0: until there is no state that was not seen */
    int faults;       /* crashes, lost answers of Redis, refusals, requests not sent: so many together */
};

/* ---- a state ---- */

enum states_stage {
    STATES_FREE,
    STATES_SENT,      /* on its way, or being executed by a platform without keys */
    STATES_EXECUTING, /* its key was looked up, and not known */
    STATES_COMMITTED, /* its answer names the post */
    STATES_OVER,      /* can be executed no more */
};

struct states_request {
    enum states_stage stage;
    int worker; /* who waits for the answer, or STATES_NOBODY */
    int key;    /* generation */
    int last;   /* the last moment at which it can be executed */
    int post;
};

struct states_platform {
    struct states_request request[STATES_REQUESTS_MAX];
    int post_count;
    int posted_at[STATES_POSTS_MAX]; /* visible within the lag */
    struct {
        bool known;
        int post, since;
    } key[STATES_KEYS_MAX];
};

enum states_worker_phase {
    STATES_IDLE,
    STATES_CLAIMING, /* has a delivery, and asks for it */
    STATES_GRANTED,
    STATES_SENDING,
    STATES_REPORTING, /* has decided, and tells the ledger */
};

struct states_worker {
    enum states_worker_phase phase;
    bool from_entry; /* of the queue; else the agenda handed it out */
    int64_t approved_at_ms;
    int generation;
    char token[CLAIM_TOKEN_BYTES];
    int attempt;
    int64_t deadline_ms; /* a write starts until then */
    int key;             /* of the request that goes out */
    int limit;           /* the answer is waited for until then */
    enum delivery_event event;
    int post;
    int64_t decided_ms;
    struct delivery_row row; /* as the ledger said last */
};

enum states_reader_phase { STATES_RESTING, STATES_LOADED, STATES_READING, STATES_RESOLVING };

struct states_reader {
    enum states_reader_phase phase;
    int attempt;
    int64_t searched_from_ms, no_absence_before_ms;
    enum delivery_event event;
    int post;
    int tries; /* times the row had changed */
    int64_t decided_ms;
    struct delivery_row row;
};

/* What Redis holds; shared by states, never changed. */
struct states_redis;
/* What it says of the delivery. */
struct states_row {
    struct delivery_row core;
    int taken;
    int64_t agenda_ms, waiting_ms; /* where it stands there; 0: it does not */
    int64_t lease_end_ms;          /* 0: there is none */
    char lease_token[CLAIM_TOKEN_BYTES];
    bool queued;       /* its entry stands in the queue */
    int64_t next_ms;   /* when the agenda has something due; 0: never */
    const char *wrong; /* it does not stand where it should: what is wrong; else NULL */
};

struct state {
    int now;
    int faults; /* so many so far */
    struct states_redis *redis;
    struct states_platform platform;
    struct states_worker worker[STATES_WORKERS];
    struct states_reader reader;
};

/* ---- steps ---- */

enum states_kind {
    STEP_TIME,
    /* the workers' */
    STEP_READ_ENTRY,
    STEP_TAKE,
    STEP_CLAIM,
    STEP_CLAIM_UNHEARD, /* it is executed, and the answer is lost */
    STEP_SEND,
    STEP_SEND_NOTHING,
    STEP_HEAR,        /* the answer of a request that was executed */
    STEP_TURNED_DOWN, /* event: what the answer says */
    STEP_GIVE_UP,     /* the connection breaks, or the time limit is reached */
    STEP_SETTLE,
    STEP_SETTLE_UNHEARD,
    STEP_CRASH,
    /* the platform's */
    STEP_ARRIVE,
    STEP_COMMIT,
    /* the reconciler's */
    STEP_LOOK,
    STEP_READ_CLOCK,
    STEP_READ, /* event: what was seen */
    STEP_RESOLVE,
    STEP_RESOLVE_UNHEARD,
    STEP_READER_CRASH,
};

struct states_step {
    enum states_kind kind;
    int who;                   /* worker, or request */
    int by;                    /* STEP_TIME: so many units */
    enum delivery_event event; /* STEP_TURNED_DOWN, STEP_READ */
    bool fault;
    int turn; /* without faults, the step with the least is made; 0: never */
};

struct states_steps {
    struct states_step step[STATES_STEPS_MAX];
    int count;
};

/* ---- the world ---- */

struct states {
    struct states_case of;
    struct states_bound bound;
    int64_t unit_ms;
    int write_limit; /* in units, as the lease */
    int late_commit, visibility_lag, key_window;
    bool failed;
    char failure[256];
    uint64_t steps; /* that were made */
};

extern struct states states;

int64_t states_ms(int at);
void states_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* states_redis.c */
struct redis_lua;
void states_redis_open(struct redis_lua *lua);
void states_redis_close(void);
/* A new world: an empty Redis with one entry in its queue. */
struct states_redis *states_redis_begin(void);
struct states_redis *states_redis_keep(struct states_redis *redis); /* one more owner; gives it back */
void states_redis_drop(struct states_redis *redis);
/* Between these two the ledger speaks to the state's Redis, at the state's time. */
void states_redis_enter(const struct state *s);
void states_redis_leave(struct state *s);
const struct states_row *states_redis_row(const struct states_redis *redis);
/* Its part of a state's hash: all but the row and its times. */
const uint64_t *states_redis_hash(const struct states_redis *redis);
struct ledger;
struct redis_link;
struct ledger_round;
extern struct ledger states_ledger;
extern struct redis_link *states_link;
extern struct ledger_round *states_round;
/* Runs what is in the round. */
void states_redis_round(void);

/* states_hash.c */
struct states_set;
struct states_set *states_set_new(void);
void states_set_free(struct states_set **set);
/* True if it was not in there. */
bool states_set_add(struct states_set *set, const uint64_t hash[2]);
bool states_set_has(const struct states_set *set, const uint64_t hash[2]);
uint64_t states_set_count(const struct states_set *set);
void states_hash(const struct state *s, uint64_t out[2]);
/* Adds the hash of some bytes: the sum does not depend on their order. */
void states_hash_add(uint64_t sum[2], const void *bytes, size_t len);

/* states_step.c */
void states_steps_of(const struct state *s, struct states_steps *steps);
struct states_step *states_add(struct states_steps *steps, enum states_kind kind, int who, int turn);
/* The same as a fault. */
struct states_step *states_add_fault(struct states_steps *steps, enum states_kind kind, int who);
/* Makes the step. */
void states_make(struct state *s, const struct states_step *step);
/* It in words, before it is made. */
void states_tell(const struct state *s, const struct states_step *step, char *out, size_t size);

/* states_worker.c, states_reconciler.c, states_platform.c */
void states_worker_steps(const struct state *s, int who, struct states_steps *steps);
void states_worker_make(struct state *s, const struct states_step *step);
/* What a reporting worker, a resolving reconciler has decided. */
struct delivery_decision states_worker_decision(const struct state *s, int who);
struct delivery_decision states_reader_decision(const struct state *s);
void states_reader_steps(const struct state *s, struct states_steps *steps);
void states_reader_make(struct state *s, const struct states_step *step);
void states_platform_steps(const struct state *s, struct states_steps *steps);
void states_platform_make(struct state *s, const struct states_step *step);
/* A write request of the worker leaves. */
void states_platform_take(struct state *s, int worker);
/* The request of which the worker waits for the answer; STATES_NOBODY: there is none. */
int states_platform_of(const struct state *s, int worker);
/* Nobody waits for its answer any more. */
void states_platform_forget(struct state *s, int worker, bool gives_up);
/* Its answer has come: nothing is left of it. */
void states_platform_answered(struct state *s, int worker);
/* A request with this key is being executed. */
bool states_platform_executes(const struct state *s, int key);
void states_platform_time(struct state *s);

/* states_judge.c */
/* After each step; before: the state before it. */
void states_judge(const struct state *before, const struct states_step *step, const struct state *s);
/* Is the delivery settled, and nobody at work on it? */
bool states_judge_is_over(const struct state *s);
/* It is over: is it shown as what it is? */
void states_judge_end(const struct state *s);

/* states_search.c */
struct states_found {
    uint64_t states, steps, cuts; /* cuts: steps that led to a state that was known */
    uint64_t left;                /* states at the bound, of which the steps were not made */
    int longest;                  /* of the shortest ways to a state, in steps */
};
/* Walks all states of states.of. False: something did not hold; the way there was printed. */
bool states_search(struct states_found *found);

#endif
