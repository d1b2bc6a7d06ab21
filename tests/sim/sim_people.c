/* SPDX-License-Identifier: MIT */
/*
 * People: the producer, who submits until it is told that it is so, and the operator, who looks at what is held and at
 * the platform, and decides. Both speak through the ledger's real calls; what they decide by is modelled.
 */
#include "tests/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keys/canonical.h"
#include "keys/content.h"
#include "ledger/args.h"
#include "ledger/reads.h"
#include "ledger/setup.h"
#include "platforms/fleet.h"
#include "runtime/clock.h"
#include "runtime/die.h"

#define ROUND_MS     3000
#define AGAIN_US     (700 * SIM_MS)
#define LOOK_US      (4 * SIM_S)
#define FORGOTTEN_US (40 * SIM_S) /* how long a person waits for what a ledger that was set back may have forgotten */

struct desk {
    struct ledger ledger;
    struct redis_link *link;
    struct ledger_round *round;
};

static void open_desk(struct desk *desk, const struct sim_process *p)
{
    struct errbuf err = {{0}};
    const struct config *config = sim_machine_config();
    if (!setup_ledger(config, p->name, sim_machine_fleet()->longest_window_ms, &desk->ledger, &err))
        die("sim: %s", err.text);
    desk->link = setup_link(config, &desk->ledger, p->name);
    desk->round = round_new(&desk->ledger);
}

static void close_desk(struct desk *desk)
{
    round_free(&desk->round);
    link_free(&desk->link);
}

static bool connected(struct desk *desk)
{
    struct errbuf err = {{0}};
    return link_keep(desk->link, &err);
}

/* ---- the producer ---- */

struct item {
    char text[320];
    struct content content;
};

/* A member of `landfall`. */
static void add_text(json_t *schedule, const char *name, const char *text)
{
    if (text != NULL && json_object_set_new(schedule, name, json_string(text)) != 0) die("out of memory");
}

static void add_time(json_t *schedule, const char *name, int64_t ms)
{
    char time[CLOCK_RFC3339_SIZE];
    add_text(schedule, name, ms > 0 ? clock_rfc3339(ms, time) : NULL);
}

static void make_item(const struct sim_delivery_plan *d, struct item *item)
{
    char err[KEYS_ERR_BYTES];
    json_t *json = NULL, *schedule = json_object();
    add_time(schedule, "not_before", d->not_before_ms);
    add_time(schedule, "not_after", d->not_after_ms);
    add_text(schedule, "after", d->after != NULL ? d->after->item : NULL);
    char *text = json_dumps(schedule, JSON_COMPACT);
    json_decref(schedule);
    snprintf(item->text, sizeof item->text,
             "{\"id\":\"%s\",\"url\":\"https://blog.example/%s\",\"content_text\":\"hello\",\"landfall\":%s}", d->item,
             d->item, text);
    free(text);
    if (!canonical_parse(item->text, strlen(item->text), &json, err) ||
        !content_merge(json, d->channel, &item->content, err))
        die("sim: %s", err);
    json_decref(json);
}

static bool submit(struct desk *desk, const struct sim_delivery_plan *d, const struct item *item)
{
    struct errbuf err = {{0}};
    struct submit_request request = {.base = {.channel = d->channel, .delivery = d->name},
                                     .content = item->text,
                                     .content_len = strlen(item->text),
                                     .content_hash = item->content.hash,
                                     .not_before_ms = d->not_before_ms,
                                     .not_after_ms = d->not_after_ms};
    round_submit(desk->round, &request);
    bool ok = round_run(desk->round, desk->link, ROUND_MS, &err);
    round_forget(desk->round, &request.base);
    return ok && request.base.result == REQUEST_ANSWERED && request.answer != SUBMIT_ERROR;
}

static bool add_by_hand(struct desk *desk, const struct sim_delivery_plan *d, const struct item *item)
{
    struct errbuf err = {{0}};
    struct args args;
    struct redisReply **replies;
    args_init(&args);
    args_command(&args, "XADD");
    args_key(&args, &desk->ledger.names, NAMES_QUEUE, NULL);
    args_text(&args, "*");
    args_text(&args, "channel");
    args_text(&args, d->channel);
    args_text(&args, "item");
    args_text(&args, item->text);
    bool ok = args_read(&args, desk->link, &replies, ROUND_MS, &err);
    if (ok) args_free_replies(replies, 1);
    args_fini(&args);
    return ok;
}

static void deliver(struct sim_process *p, struct desk *desk, const struct sim_delivery_plan *d)
{
    struct item item;
    make_item(d, &item);
    for (bool done = false; !done && !p->dead;) {
        if (sim.now_us < d->at_us) sim_wait(d->at_us);
        if (connected(desk)) done = d->raw ? add_by_hand(desk, d, &item) : submit(desk, d, &item);
        if (done && !p->dead) sim_judge_submitted(d);
        if (!done) sim_wait(sim.now_us + AGAIN_US);
    }
    content_fini(&item.content);
}

static const struct sim_delivery_plan *next_delivery(void)
{
    const struct sim_delivery_plan *next = NULL;
    for (int i = 0; i < sim.plan.delivery_count; i++) {
        const struct sim_delivery_plan *d = &sim.plan.delivery[i];
        if (!sim_judge_is_submitted(d) && (next == NULL || d->at_us < next->at_us)) next = d;
    }
    return next;
}

void sim_producer_run(struct sim_process *p)
{
    struct desk desk;
    const struct sim_delivery_plan *d;
    open_desk(&desk, p);
    while (!p->dead && (d = next_delivery()) != NULL)
        deliver(p, &desk, d);
    close_desk(&desk);
}

/* ---- the operator ---- */

/* What a person does about a delivery that is held: what is there is confirmed; what is not is sent again, if nothing
 * can come any more. */
static bool decide_as_person(const struct sim_delivery_plan *d, const struct delivery_row *row,
                             struct delivery_input *in)
{
    const char *id = sim_judge_post(d->name);
    if (row->state != DS_HELD && row->state != DS_REJECTED) return false;
    *in = (struct delivery_input){.event = id != NULL ? EV_CONFIRM : EV_RETRY, .ext_id = id, .jitter = 1};
    if (id != NULL) return row->state == DS_HELD;
    return !doubt_has_forgotten(&row->doubt) || sim.now_us / SIM_MS - row->since_ms > FORGOTTEN_US / SIM_MS;
}

static void operate_once(struct desk *desk, const struct sim_delivery_plan *d)
{
    struct errbuf err = {{0}};
    struct delivery_input in;
    struct reads_delivery read;
    const char *name = d->name, *channel = d->channel;
    const struct delivery_policy *policy = &channel_find(sim_machine_fleet()->channels, channel)->policy;
    if (!reads_deliveries(&desk->ledger, desk->link, &name, &channel, 1, &read, ROUND_MS, &err)) return;
    if (read.readable && decide_as_person(d, &read.row.core, &in)) {
        int64_t now_ms = server_clock_now(link_clock(desk->link), clock_boottime_ms());
        struct delivery_decision decision = delivery_step(&read.row.core, &in, policy, now_ms);
        struct decide_request request = {.base = {.channel = channel, .delivery = name},
                                         .row = &read.row.core,
                                         .decision = &decision,
                                         .ext_id = in.ext_id,
                                         .act = in.ext_id != NULL ? "confirm" : "retry",
                                         .user = "ann",
                                         .host = "desk",
                                         .why = "looked"};
        if (decision.verdict == VERDICT_CHANGE) {
            sim_tell("O: %s %s%s", request.act, name, in.ext_id != NULL ? ", it is there" : ", it is not there");
            round_operate(desk->round, &request);
            sim_judge_operated(d); /* as far as anybody knows */
            (void)!round_run(desk->round, desk->link, ROUND_MS, &err);
            round_forget(desk->round, &request.base);
        }
    }
    reads_delivery_fini(&read);
}

void sim_operator_run(struct sim_process *p)
{
    struct desk desk;
    open_desk(&desk, p);
    while (!p->dead) {
        for (int i = 0; i < sim.plan.delivery_count && !p->dead; i++)
            if (connected(&desk)) operate_once(&desk, &sim.plan.delivery[i]);
        p->idle = true;
        sim_wait(sim.now_us + LOOK_US);
        p->idle = false;
    }
    close_desk(&desk);
}
