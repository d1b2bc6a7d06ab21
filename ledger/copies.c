/* SPDX-License-Identifier: MIT */
#include "ledger/copies.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/backoff.h"
#include "ledger/alive.h"
#include "ledger/answer.h"
#include "ledger/args.h"
#include "runtime/clock.h"
#include "runtime/die.h"
#include "runtime/random.h"

#define FAILURES_COUNTED 1000 /* long after the backoff has reached its cap */

/* What is asked, in this order. */
enum question { ASK_MAKE, ASK_WRITE, ASK_REPLICAS, ASK_DISKS, ASK_COUNT };
static const char *const question_words[] = {"SET", "PEXPIRE", "WAIT", "WAITAOF"};

struct copies {
    const struct config *config;
    const struct ledger *ledger;
    struct redis_link *link;
    char run_id[LINK_RUN_ID_BYTES]; /* of the server on which the marks were made */
    bool asked[ASK_COUNT];          /* of the question under way, what has no answer yet */
    bool under_way;
    bool short_of;     /* one of its answers was not enough; why says which */
    bool due;          /* there are marks that it does not cover */
    bool open;         /* the newest one had enough copies */
    uint64_t number;   /* of the newest question; marks are the number of the next */
    int failures;      /* in a row */
    int64_t answer_ms; /* boot time at which the answer is given up */
    int64_t next_ms;   /* boot time before which nothing is asked */
    struct errbuf why;
};

struct copies *copies_new(const struct config *config, const struct ledger *ledger, struct redis_link *own_link)
{
    if (config->redis_wait_replicas == 0 && config->redis_wait_fsync == CONFIG_WAIT_FSYNC_NO) {
        link_free(&own_link);
        return NULL;
    }
    struct copies *copies = xcalloc(1, sizeof *copies);
    copies->config = config;
    copies->ledger = ledger;
    copies->link = own_link;
    return copies;
}

void copies_free(struct copies **copies)
{
    if (!*copies) return;
    link_free(&(*copies)->link);
    free(*copies);
    *copies = NULL;
}

void copies_set_password(struct copies *copies, const struct secret *password)
{
    if (copies) link_set_password(copies->link, password);
}

bool copies_open(const struct copies *copies)
{
    return !copies || copies->open;
}

uint64_t copies_mark(struct copies *copies)
{
    if (!copies) return 0;
    copies->due = true;
    return copies->number + 1;
}

int copies_fd(const struct copies *copies)
{
    return copies && copies->under_way ? link_fd(copies->link) : -1;
}

int64_t copies_wake_ms(const struct copies *copies)
{
    if (!copies || (copies->open && !copies->due && !copies->under_way)) return INT64_MAX;
    if (copies->under_way) return copies->answer_ms;
    int64_t connects_ms = link_next_try_ms(copies->link);
    return connects_ms > copies->next_ms ? connects_ms : copies->next_ms;
}

/* ---- asking ---- */

static bool on_disks_of_replicas(const struct config *config)
{
    return config->redis_wait_fsync == CONFIG_WAIT_FSYNC_ALL;
}

/* The heartbeat is prolonged: a write that harms nobody and changes something every time. Where it is missing, it is
 * made. */
static void put_write(struct args *args, const struct copies *copies)
{
    args_command(args, "SET");
    args_key(args, &copies->ledger->names, NAMES_WORKER, copies->ledger->worker);
    args_text(args, "role=worker");
    args_text(args, "NX");
    args_text(args, "PX");
    args_number(args, ALIVE_MS);
    args_command(args, "PEXPIRE");
    args_key(args, &copies->ledger->names, NAMES_WORKER, copies->ledger->worker);
    args_number(args, ALIVE_MS);
}

static void put_wait(struct args *args, struct copies *copies)
{
    const struct config *config = copies->config;
    copies->asked[ASK_REPLICAS] = config->redis_wait_replicas > 0 && !on_disks_of_replicas(config);
    copies->asked[ASK_DISKS] = config->redis_wait_fsync != CONFIG_WAIT_FSYNC_NO;
    if (copies->asked[ASK_REPLICAS]) {
        args_command(args, "WAIT");
        args_number(args, config->redis_wait_replicas);
        args_number(args, config->redis_wait_timeout_ms);
    }
    if (copies->asked[ASK_DISKS]) {
        args_command(args, "WAITAOF");
        args_number(args, 1);
        args_number(args, on_disks_of_replicas(config) ? config->redis_wait_replicas : 0);
        args_number(args, config->redis_wait_timeout_ms);
    }
}

static bool ask(struct copies *copies, int64_t now_ms, struct errbuf *err)
{
    struct args args;
    args_init(&args);
    put_write(&args, copies);
    put_wait(&args, copies);
    struct link_command *commands = args_commands(&args);
    bool ok = link_send(copies->link, commands, args.command_count, LINK_CONNECT_LIMIT_MS, err);
    free(commands);
    args_fini(&args);
    copies->asked[ASK_MAKE] = copies->asked[ASK_WRITE] = true;
    copies->under_way = ok;
    copies->short_of = false;
    copies->due = false;
    copies->number++;
    /* WAIT and WAITAOF come one after the other. */
    copies->answer_ms = now_ms + 2 * copies->config->redis_wait_timeout_ms + copies->config->redis_round_limit_ms;
    return ok;
}

/* ---- taking ---- */

__attribute__((format(printf, 2, 3))) static void fall_short(struct copies *copies, const char *format, ...)
{
    va_list values;
    if (copies->short_of) return; /* the first word counts */
    copies->short_of = true;
    va_start(values, format);
    vsnprintf(copies->why.text, sizeof copies->why.text, format, values);
    va_end(values);
}

static void want(struct copies *copies, const struct redisReply *count, int64_t wanted, const char *what)
{
    int64_t have = 0;
    if (!answer_number(count, &have))
        fall_short(copies, "redis: an answer that cannot be read");
    else if (have < wanted)
        fall_short(copies, "%" PRId64 " of %" PRId64 " %s within %" PRId64 " ms", have, wanted, what,
                   copies->config->redis_wait_timeout_ms);
}

static void take(struct copies *copies, enum question question, const struct redisReply *reply)
{
    const struct config *config = copies->config;
    char words[REQUEST_ERROR_SIZE];
    if (answer_error(reply)) {
        answer_words(reply, words, sizeof words);
        fall_short(copies, "redis: %s%s", words,
                   question == ASK_DISKS ? "; redis.wait_fsync needs Redis 7.2 or later, or Valkey, with appendonly yes"
                                         : "");
        return;
    }
    switch (question) {
    case ASK_MAKE:
    case ASK_COUNT: break;
    case ASK_WRITE:
        if (answer_number_or_0(reply) != 1) fall_short(copies, "redis: the heartbeat is gone as soon as it is made");
        break;
    case ASK_REPLICAS: want(copies, reply, config->redis_wait_replicas, "replicas have it"); break;
    case ASK_DISKS:
        want(copies, answer_at(reply, 0), 1, "append-only files of the master have it on disk");
        if (on_disks_of_replicas(config))
            want(copies, answer_at(reply, 1), config->redis_wait_replicas, "replicas have it on disk");
        break;
    }
}

static enum question next_answer(const struct copies *copies)
{
    int question = ASK_MAKE;
    while (question < ASK_COUNT && !copies->asked[question])
        question++;
    return (enum question)question;
}

static enum copies_news failed(struct copies *copies, int64_t now_ms)
{
    copies->under_way = copies->due = copies->open = false;
    if (copies->failures < FAILURES_COUNTED) copies->failures++;
    copies->next_ms =
        now_ms + backoff_ms(copies->failures, COPIES_BACKOFF_BASE_MS, COPIES_BACKOFF_CAP_MS, random_below(UINT32_MAX));
    return COPIES_FAILED;
}

static enum copies_news receive(struct copies *copies, int64_t now_ms, uint64_t *through, struct errbuf *err)
{
    enum question question;
    while ((question = next_answer(copies)) != ASK_COUNT) {
        struct redisReply *reply = NULL;
        switch (link_receive(copies->link, &reply, err)) {
        case LINK_NOTHING:
            if (now_ms < copies->answer_ms) return COPIES_NOTHING;
            link_close(copies->link);
            errbuf_set(err, "redis: no answer to WAIT within its time limit");
            return failed(copies, now_ms);
        case LINK_LOST: errbuf_prefix(err, "asked for %s", question_words[question]); return failed(copies, now_ms);
        case LINK_ANSWER: break;
        }
        copies->asked[question] = false;
        take(copies, question, reply);
        answer_free(reply);
    }
    if (copies->short_of) {
        errbuf_set(err, "%s", copies->why.text);
        return failed(copies, now_ms);
    }
    copies->under_way = false;
    copies->open = true;
    copies->failures = 0;
    *through = copies->number;
    return COPIES_REACHED;
}

/* ---- a turn ---- */

/* Marks are of the server that takes writes now; what was marked on another one is not known there, or not for sure. */
static bool same_server(struct copies *copies, const char *run_id)
{
    if (run_id[0] == '\0' || strcmp(run_id, copies->run_id) == 0) return true;
    bool had_marks = copies->due || copies->under_way;
    snprintf(copies->run_id, sizeof copies->run_id, "%s", run_id);
    if (strcmp(link_run_id(copies->link), run_id) != 0) link_close(copies->link);
    return !had_marks;
}

/* True if there is a connection to the server of the marks. err is empty if it was too early to try. */
static bool connected(struct copies *copies, struct errbuf *err)
{
    if (!link_keep(copies->link, err)) return false;
    if (strcmp(link_run_id(copies->link), copies->run_id) == 0) return true;
    link_close(copies->link);
    return errbuf_set(err, "redis: two connections lead to two servers");
}

static bool has_to_ask(const struct copies *copies, const char *run_id, int64_t now_ms)
{
    if ((copies->open && !copies->due) || now_ms < copies->next_ms) return false;
    return run_id[0] != '\0' || link_is_open(copies->link); /* of two connections one tries to come back */
}

static enum copies_news begin(struct copies *copies, struct errbuf *err)
{
    if (!connected(copies, err)) return err->text[0] == '\0' ? COPIES_NOTHING : failed(copies, clock_boottime_ms());
    int64_t now_ms = clock_boottime_ms();
    return ask(copies, now_ms, err) ? COPIES_NOTHING : failed(copies, now_ms);
}

enum copies_news copies_step(struct copies *copies, const char *run_id, uint64_t *through, struct errbuf *err)
{
    int64_t now_ms = clock_boottime_ms();
    if (!copies) return COPIES_NOTHING;
    if (!same_server(copies, run_id)) {
        if (copies->under_way) link_close(copies->link); /* its answer is about another server's marks */
        errbuf_set(err, "redis: another server has taken over");
        return failed(copies, now_ms);
    }
    if (!copies->under_way) return has_to_ask(copies, run_id, now_ms) ? begin(copies, err) : COPIES_NOTHING;
    enum copies_news news = receive(copies, now_ms, through, err);
    if (news != COPIES_REACHED || !copies->due) return news;
    return ask(copies, now_ms, err) ? news : failed(copies, now_ms);
}
