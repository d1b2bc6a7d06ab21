/* SPDX-License-Identifier: MIT */
/* What Redis was asked and answered, in words: scripts with the deliveries that they were called for, writes; reads are
 * left out. */
#include "tests/sim/sim_network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/script.h"
#include "tests/sim/sim.h"

#define GLOBALS      8
#define PER_CHANNEL  5
#define PER_DELIVERY 5
#define LINE_BYTES   600
#define DELIVERY_KEY "lf:{0}:delivery:"
#define ANSWER_WORDS 4
#define WORD_MAX     40

struct line {
    char text[LINE_BYTES];
    size_t len;
};

static void add(struct line *line, const char *text, size_t len)
{
    if (len > LINE_BYTES - 1 - line->len) len = LINE_BYTES - 1 - line->len;
    memcpy(line->text + line->len, text, len);
    line->len += len;
    line->text[line->len] = '\0';
}

static void add_text(struct line *line, const char *text)
{
    add(line, text, strlen(text));
}

static void add_reply(struct line *line, const struct redis_reply *reply)
{
    char number[24];
    if (reply->kind == REDIS_INTEGER) {
        snprintf(number, sizeof number, "%lld", (long long)reply->integer);
        add_text(line, number);
    } else if (reply->text != NULL) {
        add(line, reply->text, reply->len < WORD_MAX || reply->kind == REDIS_ERROR ? reply->len : WORD_MAX);
    }
}

static void add_answer(struct line *line, const struct redis_reply *answer)
{
    add_text(line, " -> ");
    if (answer->kind != REDIS_ARRAY) add_reply(line, answer);
    for (size_t i = 0; i < answer->count && i < ANSWER_WORDS; i++) {
        if (i > 0) add_text(line, " ");
        add_reply(line, &answer->child[i]);
    }
}

static const char *script_name(const struct sim_command *command)
{
    for (size_t i = 0; i < SCRIPT_COUNT; i++) {
        const struct script *s = &script_table[i];
        if (redis_arg_is(&command->arg[0], "EVAL") ? strcmp(command->arg[1].bytes, s->text) == 0
                                                   : strcmp(command->arg[1].bytes, s->sha1) == 0)
            return s->name;
    }
    return "a script";
}

static void tell_script(struct line *line, const struct sim_command *command, const struct redis_reply *reply)
{
    size_t keys = strtoul(command->arg[2].bytes, NULL, 10), argv = 3 + keys;
    add_text(line, script_name(command));
    if (reply->kind == REDIS_ERROR || argv + 2 > command->argc || reply->count < 2) {
        add_answer(line, reply);
        return;
    }
    size_t channels = strtoul(command->arg[argv].bytes, NULL, 10);
    size_t deliveries = strtoul(command->arg[argv + 1].bytes, NULL, 10);
    for (size_t i = 1; i < reply->count; i++) {
        size_t key = 3 + GLOBALS + PER_CHANNEL * channels + PER_DELIVERY * (i - 1);
        if (i > 1) add_text(line, ";");
        add_text(line, " ");
        if (i <= deliveries && key < argv)
            add_text(line, command->arg[key].bytes + strlen(DELIVERY_KEY));
        else
            add_text(line, command->arg[argv + 4].bytes);
        if (deliveries == 0 && argv + 7 < command->argc) {
            add_text(line, " ");
            add_text(line, command->arg[argv + 4 + channels + 2].bytes);
        }
        add_answer(line, &reply->child[i]);
    }
}

/* Reads, and what a process says without anybody waiting for it. */
static bool is_quiet(const struct redis_arg *name)
{
    static const char *const quiet[] = {
        "GET",   "SET",    "HGETALL",       "HSETNX", "HGET",   "HMGET",    "PTTL",     "ZSCORE", "ZMSCORE",
        "ZCARD", "ZRANGE", "ZRANGEBYSCORE", "XLEN",   "XRANGE", "XPENDING", "SMEMBERS", "TIME",   "INFO",
        "ROLE",  "CLIENT", "EXISTS",        "TYPE",   "XREAD",  "XINFO",    "SELECT",   "SCAN"};
    for (size_t i = 0; i < sizeof quiet / sizeof quiet[0]; i++)
        if (redis_arg_is(name, quiet[i])) return true;
    return false;
}

void sim_network_tell(const char *sender, const struct sim_command *command, const struct redis_reply *reply)
{
    struct line line = {{0}, 0};
    const struct redis_arg *name = &command->arg[0];
    bool script = redis_arg_is(name, "EVALSHA") || redis_arg_is(name, "EVAL");
    if (!script && is_quiet(name)) return;
    if (redis_arg_is(name, "XREADGROUP")) {
        if (reply->kind != REDIS_ARRAY || reply->child[0].child[1].count == 0) return;
        add_text(&line, "reads");
        for (size_t i = 0; i < reply->child[0].child[1].count; i++) {
            add_text(&line, " ");
            add_reply(&line, &reply->child[0].child[1].child[i].child[0]);
        }
    } else if (redis_arg_is(name, "XAUTOCLAIM") && reply->kind == REDIS_ARRAY && reply->child[1].count == 0) {
        return;
    } else if (script) {
        tell_script(&line, command, reply);
    } else {
        add(&line, name->bytes, name->len);
        add_answer(&line, reply);
    }
    sim_tell("%s: redis: %s", sender, line.text);
}
