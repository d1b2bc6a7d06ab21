/* SPDX-License-Identifier: MIT */
/* sim_network: what is under way between a process and Redis; for sim_network.c and its words in the story. */
#ifndef SIM_SIM_NETWORK_H
#define SIM_SIM_NETWORK_H

#include "tests/sim/redis_db.h"

#define SIM_QUEUE_KEY "lf:{0}:queue"

struct redisReply;
struct connection;

struct sim_command {
    size_t argc;
    struct redis_arg *arg;
    char *bytes; /* of all of them */
};

/* What was written in one go. */
struct sim_message {
    struct connection *connection;
    char sender[16];
    struct sim_command *command;
    size_t count, at;           /* at: the next one to be executed */
    struct redisReply **answer; /* of those that were executed */
    size_t answered;
    int64_t way_back_us;
    bool interleaved; /* others' commands come between its own */
    bool breaks;      /* the connection breaks behind it: its answers are lost */
    size_t cut;       /* > 0: the connection breaks behind so many commands */
};

/* A command that was executed, as a line of the story. */
void sim_network_tell(const char *sender, const struct sim_command *command, const struct redis_reply *reply);

#endif
