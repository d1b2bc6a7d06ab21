/* SPDX-License-Identifier: MIT */
/*
 * sim: a fleet, its Redis, its platforms and its network in one thread, from one seed.
 *
 * Processes are coroutines that run the real code of the worker and the reconciler on a simulated clock; what they say
 * to Redis and to platforms becomes events in one queue. The same seed plays the same story. There is one world at a
 * time, because the code that runs in it has no pointer to it: `sim`.
 *
 *   sim.c            the world, its queue of events, its clock
 *   sim_process.c    processes: started, run, paused, killed at any of their actions
 *   sim_plan.c       what a seed decides: who is there, what is to be delivered, which faults come how often
 *   sim_faults.c     faults that come by themselves: restarts of Redis, rewinds, partitions, kills, pauses
 *   sim_network.c    hiredis as the processes see it, and the way of commands and answers
 *   sim_transfer.c   platforms/transfer.h as the processes see it
 *   sim_platform.c   the platforms
 *   sim_machine.c    clocks, randomness, log, signals, configuration as the processes see them
 *   sim_worker.c, sim_reconciler.c, sim_people.c   the processes; producer and operator
 *   sim_judge.c      what must hold after every step and at the end
 *   sim_story.c      the story, one line a step
 *
 * Times are microseconds of the Redis server's clock unless a name says ms.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "tests/sim/redis_db.h"

#define SIM_MS             INT64_C(1000)
#define SIM_S              INT64_C(1000000)
#define SIM_PROCESSES_MAX  12
#define SIM_DELIVERIES_MAX 8
#define SIM_NEVER          INT64_MAX

/* ---- the queue ---- */

struct sim_event {
    int64_t at_us;
    uint64_t number; /* among events of one moment the order in which they were made */
    void (*run)(void *object, uint64_t tag);
    void *object;
    uint64_t tag;
};

/* ---- processes ---- */

enum sim_role { SIM_WORKER, SIM_RECONCILER, SIM_PRODUCER, SIM_OPERATOR };

struct sim_process {
    int number;
    enum sim_role role;
    char name[16]; /* W1, R1, P, O */
    ucontext_t context;
    void *stack;
    bool running;  /* it has begun and not ended */
    bool dead;     /* killed: nothing that it does from here on reaches anybody */
    bool waiting;  /* in sim_wait() */
    uint64_t wait; /* number of its newest wait */
    bool due;      /* a wake is on its way */
    int64_t paused_until_us;
    int64_t boot_offset_us;  /* its boot clock against the world's */
    int64_t away_until_us;   /* cut off from Redis */
    int64_t stopped_most_us; /* it is stopped for no longer; 0: for any time */
    int signals;             /* SIGTERM that it has not read */
    bool idle;               /* has nothing in hand and waits for nothing but its next look */
    uint64_t lives, actions;
    int64_t turned_us; /* when its loop waited last, */
    int turns;         /* and how often at that moment */
    void *inner;       /* of its role */
};

/* ---- what a seed decides ---- */

struct sim_faults {
    double crash, pause;                                                                  /* per action of a process */
    double late_command, lost_command, lost_answer, late_answer, cut_round;               /* per round with Redis */
    double lost_request, no_connection, late_commit, twice, lost_response, late_response; /* per request */
    double read_error, bad_answer;                                                        /* per answer */
    double refused, asks_to_wait, unavailable;             /* per write that is not executed */
    int redis_restarts, rewinds, partitions, kills, leaps; /* in all */
};

struct sim_delivery_plan {
    const char *channel;
    char item[16];
    char name[64];
    int64_t at_us;
    int64_t not_before_ms, not_after_ms;   /* 0: none */
    bool raw;                              /* added to the stream by hand, not submitted */
    const struct sim_delivery_plan *after; /* must be out first; NULL: none */
};

struct sim_plan {
    int workers, reconcilers;
    bool operator_there;
    struct sim_delivery_plan delivery[SIM_DELIVERIES_MAX];
    int delivery_count;
    struct sim_faults faults;
    int64_t faults_end_us;
};

/* ---- the world ---- */

struct sim {
    uint64_t seed;
    uint64_t random;
    int64_t began_us, now_us;
    struct sim_event *queue; /* a heap */
    size_t queue_count, queue_room;
    uint64_t events;
    ucontext_t scheduler;
    struct sim_process process[SIM_PROCESSES_MAX];
    int process_count;
    struct sim_process *current; /* whose code runs; NULL: the scheduler's */
    struct redis_db redis;
    int64_t leap_us; /* of the Redis server's clock */
    bool redis_down;
    uint64_t redis_life; /* of the server: connections of an earlier one are gone */
    struct sim_plan plan;
    struct sim_platform *platform;
    struct sim_judge *judge;
    struct sim_network *network;
    const struct sim_explore *explore; /* NULL: faults are drawn */
    uint64_t moments;                  /* at which a fault could have come */
    bool faults_over, over;
    uint64_t scripts, commands; /* that Redis has run */
    bool failed;
    char failure[512];
    uint64_t fault_count;
    bool story; /* printed as it happens */
};

extern struct sim sim;

/* Faults that are not drawn: of all moments at which one could come while somebody is at work, these. */
#define SIM_EXPLORE_FAULTS_MAX 2
struct sim_explore {
    int channel;                            /* of sim_plan_channels */
    uint64_t timing;                        /* the seed of everything that is no fault */
    uint64_t fault[SIM_EXPLORE_FAULTS_MAX]; /* numbers from 1; 0: none */
};

/* Runs one seed. False: something did not hold; sim.failure says what. lua is kept by the caller. */
bool sim_run(uint64_t seed, bool story, struct redis_lua *lua);
/* One delivery, two workers, one reconciler. */
bool sim_explore_run(const struct sim_explore *explore, bool story, struct redis_lua *lua);
/* Every run with at most so many faults, on every kind of channel; says what it did. False: something did not hold. */
bool sim_explore_all(int faults, uint64_t timings, struct redis_lua *lua);

/* ---- for the parts ---- */

void sim_at(int64_t at_us, void (*run)(void *object, uint64_t tag), void *object, uint64_t tag);
/* The newest wrong is the one that is told: the first. */
void sim_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

uint64_t sim_random(void);
int64_t sim_between(int64_t low, int64_t high); /* both included */
bool sim_chance(double probability);            /* never while faults are over */
bool sim_fault(double probability);             /* the same, and counted */

/* sim_process.c */
struct sim_process *sim_process_add(enum sim_role role, const char *name);
void sim_process_start(struct sim_process *p, int64_t at_us);
/* In a process: gives the others their turn until the moment, or until somebody wakes it. */
void sim_wait(int64_t until_us);
/* In a process: its loop waits until then. One that turns and turns while time stands still has a fault. */
void sim_process_turns(int64_t until_us);
/* From outside: it is looked at again now. */
void sim_wake(struct sim_process *p);
/* In a process: a moment at which it may be killed or stopped for a while. False: it is dead. */
bool sim_action(const char *what);
void sim_kill(struct sim_process *p, const char *why);
/* Ends all processes and takes back what they held. */
void sim_processes_fini(void);

/* sim_plan.c */
void sim_plan_make(void);
void sim_plan_explore(void);
extern const char *const sim_plan_channels[];
extern const int sim_plan_channel_count;
/* sim_faults.c */
void sim_faults_begin(void);

/* sim_network.c */
void sim_network_init(void);
void sim_network_fini(void);
/* The server ended; connections notice. */
void sim_network_drop_all(void);
/* True if there is something to read at a descriptor that the network gave out. */
bool sim_network_readable(int fd);

/* sim_platform.c */
void sim_platform_init(void);
void sim_platform_fini(void);

/* sim_worker.c and so on: the process's code, from its start to its end. */
void sim_worker_run(struct sim_process *p);
void sim_reconciler_run(struct sim_process *p);
void sim_producer_run(struct sim_process *p);
void sim_operator_run(struct sim_process *p);
/* What attempt a write request of a worker is: of the slot that owns it. */
struct sim_attempt {
    const char *delivery, *token;
    int attempt;
};
struct sim_attempt sim_worker_attempt(const void *owner);

/* sim_machine.c */
struct errbuf;
bool sim_machine_open(const char *config_path, struct errbuf *err);
void sim_machine_close(void);
struct config;
struct fleet;
const struct config *sim_machine_config(void);
const struct fleet *sim_machine_fleet(void);

/* sim_judge.c */
void sim_judge_init(void);
void sim_judge_fini(void);
/* After every command that Redis has executed. */
void sim_judge_redis(void);
/* A write request leaves a process. */
void sim_judge_sent(const struct sim_attempt *attempt);
/* A post was made. */
void sim_judge_committed(const char *delivery, const char *id, const char *tier);
/* The producer was told that it is in; was it? */
void sim_judge_submitted(const struct sim_delivery_plan *d);
bool sim_judge_is_submitted(const struct sim_delivery_plan *d);
/* A person has decided about it. */
void sim_judge_operated(const struct sim_delivery_plan *d);
/* The id of a post of this delivery, as a person finds it on the platform; NULL: there is none. */
const char *sim_judge_post(const char *delivery);
/* A worker has read a platform's answer that the attempt's post was made. If it lives, the row will say so. */
void sim_judge_told(const struct sim_attempt *attempt);
/* Redis went back to an earlier state. */
void sim_judge_rewound(void);
void sim_judge_end(void);
/* Is everything settled, or held with a reason? */
bool sim_judge_settled(void);

/* sim_story.c */
#define sim_tell(...)                                                                                                  \
    do {                                                                                                               \
        if (sim.story) sim_story_line(__VA_ARGS__);                                                                    \
    } while (0)
void sim_story_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
