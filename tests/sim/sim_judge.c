/* SPDX-License-Identifier: MIT */
/*
 * What must hold, whatever happens.
 *
 * After every command: each row that was written stands where its state says (agenda, waiting list, journal, set of the
 * uncertain), what is published stays so under an id that the platform made for this delivery, and a row's numbers do
 * not go back. When a write request leaves: a row said "claimed" by this attempt before. When a post is made: it is the
 * first of its delivery, where repeats are not harmless. At the end: nothing was forgotten, and nothing is shown as
 * failed that exists.
 *
 * A delivery that Redis has forgotten altogether (it went back to before it was submitted, and the producer had its
 * answer) is beyond what the ledger can know: it is counted, and asked no more of than that it is not posted by itself.
 */
#include "tests/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platforms/fleet.h"
#include "runtime/die.h"
#include "tests/sim/sim_row.h"

#define START          "lf:{0}:"
#define TOKENS_MAX     64
#define TOLD_MAX       16
#define LATE_COMMIT_MS 2000 /* the same */
#define LAG_MS         1500 /* visibility_lag_ms of fleet.json */
#define NAME_BYTES     128
#define BURST_MAX      4

/* An answer that says that the post was made, and who has read it. */
struct told {
    const struct sim_process *process;
    uint64_t life;
};

struct known {
    bool submitted, forgotten, operated;
    int posts;
    char id[16];     /* of the first post */
    char ext_id[24]; /* as the row says, once it is published */
    char state[16];
    long rev, attempt;
    char token[TOKENS_MAX][20]; /* of attempts that a row has said to be claimed */
    int token_count;
    long misses, missed_at;
    bool doubted;
    struct told told[TOLD_MAX];
    int told_count;
};

struct sim_judge {
    struct known known[SIM_DELIVERIES_MAX];
    struct {
        const char *channel;
        int64_t claimed_ms[BURST_MAX]; /* its newest claims, the newest first */
    } pace[SIM_DELIVERIES_MAX];
    bool rewound; /* Redis has gone back once */
};

void sim_judge_init(void)
{
    sim.judge = xcalloc(1, sizeof *sim.judge);
}

void sim_judge_fini(void)
{
    free(sim.judge);
    sim.judge = NULL;
}

static struct known *known_of(const char *delivery)
{
    for (int i = 0; i < sim.plan.delivery_count; i++)
        if (strcmp(sim.plan.delivery[i].name, delivery) == 0) return &sim.judge->known[i];
    return NULL;
}

static struct known *known_of_plan(const struct sim_delivery_plan *d)
{
    return known_of(d->name);
}

static const struct sim_delivery_plan *plan_of(const struct known *k)
{
    return &sim.plan.delivery[k - sim.judge->known];
}

static bool is_harmless(const char *delivery)
{
    return strncmp(delivery, "ping/", 5) == 0;
}

/* ---- what others tell ---- */

bool sim_judge_is_submitted(const struct sim_delivery_plan *d)
{
    return known_of_plan(d)->submitted;
}

void sim_judge_operated(const struct sim_delivery_plan *d)
{
    known_of_plan(d)->operated = true;
}

const char *sim_judge_post(const char *delivery)
{
    const struct known *k = known_of(delivery);
    return k->posts > 0 ? k->id : NULL;
}

void sim_judge_sent(const struct sim_attempt *attempt)
{
    const struct known *k = known_of(attempt->delivery);
    for (int i = 0; i < k->token_count; i++)
        if (strcmp(k->token[i], attempt->token) == 0) return;
    sim_fail("the write of %s attempt %d is sent, and no row ever said so", attempt->delivery, attempt->attempt);
}

void sim_judge_told(const struct sim_attempt *attempt)
{
    struct known *k = known_of(attempt->delivery);
    if (k->told_count < TOLD_MAX) k->told[k->told_count++] = (struct told){sim.current, sim.current->lives};
}

void sim_judge_committed(const char *delivery, const char *id, const char *tier)
{
    struct known *k = known_of(delivery);
    (void)tier;
    if (k == NULL) {
        sim_fail("a post of %s, which nobody submitted", delivery);
        return;
    }
    if (k->posts++ == 0) snprintf(k->id, sizeof k->id, "%s", id);
    const struct sim_delivery_plan *before = plan_of(k)->after;
    if (before != NULL && known_of_plan(before)->posts == 0)
        sim_fail("%s is posted, and %s, which must come first, is not", delivery, before->name);
    if (k->posts > 1 && !is_harmless(delivery) && !k->forgotten)
        sim_fail("%s is posted %d times: %s and %s", delivery, k->posts, k->id, id);
}

/* ---- Redis, seen from outside ---- */

static const struct redis_object *object_at(const char *kind, const char *suffix)
{
    return sim_row_object(&sim.redis, kind, suffix);
}

static const char *field(const struct redis_object *row, const char *name)
{
    return sim_row_field(row, name);
}

/* An entry of the stream that speaks of the item. */
static bool in_stream(const char *stream, const char *item)
{
    char wanted[40];
    const struct redis_object *queue = object_at(stream, "");
    snprintf(wanted, sizeof wanted, "\"id\":\"%s\"", item);
    for (size_t i = 0; queue != NULL && i < queue->stream.count; i++)
        for (size_t n = 0; n < queue->stream.entry[i].count; n++)
            if (strstr(queue->stream.entry[i].text[n]->bytes, wanted) != NULL) return true;
    return false;
}

/* Whoever is told that it is in, must find it there: as a row, as an entry, or put aside. */
void sim_judge_submitted(const struct sim_delivery_plan *d)
{
    struct known *k = known_of_plan(d);
    k->submitted = true;
    if (object_at("delivery", d->name) != NULL || in_stream("queue", d->item) || in_stream("refused", d->item)) return;
    if (sim.judge->rewound)
        k->forgotten = true;
    else
        sim_fail("%s was taken in, and is nowhere", d->name);
}

/* ---- rows ---- */

static void check_published(const struct sim_delivery_plan *d, struct known *k, const struct redis_object *row)
{
    const char *id = field(row, "ext_id");
    if (k->posts == 0) sim_fail("%s is published, and there is no post", d->name);
    if (is_harmless(d->name)) return;
    if (k->posts > 0 && !k->forgotten && strcmp(id, k->id) != 0)
        sim_fail("%s is published as \"%s\"; the post is %s", d->name, id, k->id);
    if (k->ext_id[0] != '\0' && strcmp(k->ext_id, id) != 0)
        sim_fail("%s was published as %s and is %s now", d->name, k->ext_id, id);
    snprintf(k->ext_id, sizeof k->ext_id, "%s", id);
}

/* Of the channel's claims, as many as may go at once are followed by a pause. */
static void check_pace(const struct sim_delivery_plan *d)
{
    const struct channel *channel = channel_find(sim_machine_fleet()->channels, d->channel);
    int i = 0;
    while (sim.judge->pace[i].channel != NULL && strcmp(sim.judge->pace[i].channel, d->channel) != 0)
        i++;
    int64_t *claimed_ms = sim.judge->pace[i].claimed_ms, now_ms = redis_now_ms(&sim.redis);
    int64_t since_ms = now_ms - claimed_ms[channel->burst - 1];
    sim.judge->pace[i].channel = d->channel;
    if (since_ms < channel->spacing_ms)
        sim_fail("%s is claimed %lld ms after the claim before it that counts; its channel's pace is %lld ms", d->name,
                 (long long)since_ms, (long long)channel->spacing_ms);
    memmove(claimed_ms + 1, claimed_ms, (BURST_MAX - 1) * sizeof *claimed_ms);
    claimed_ms[0] = now_ms;
}

static void note_claim(const struct sim_delivery_plan *d, struct known *k, const char *token)
{
    for (int i = 0; i < k->token_count; i++)
        if (strcmp(k->token[i], token) == 0) return;
    check_pace(d);
    if (k->token_count < TOKENS_MAX) snprintf(k->token[k->token_count++], sizeof k->token[0], "%s", token);
}

/* Handed back by an absence: the second clean search, one visibility lag after the first at least. */
static void check_absence(const struct sim_delivery_plan *d, struct known *k, const struct redis_object *row)
{
    bool absent = strcmp(k->state, "uncertain") == 0 && strcmp(field(row, "reason"), "absent") == 0;
    long cleared_at = strtol(field(row, "cleared_at"), NULL, 10);
    if (absent && cleared_at > 0 && k->doubted && (k->misses < 1 || cleared_at < k->missed_at + LAG_MS))
        sim_fail("%s is taken for absent after %ld clean misses, %ld ms after the first", d->name, k->misses + 1,
                 cleared_at - k->missed_at);
    k->misses = strtol(field(row, "misses"), NULL, 10);
    k->missed_at = strtol(field(row, "missed_at"), NULL, 10);
    k->doubted = field(row, "in_doubt")[0] != '\0';
}

/* Until its end a claimed row has its own lease. */
static void check_lease(const struct sim_delivery_plan *d, const struct redis_object *row)
{
    const struct redis_object *lease = object_at("lease", d->name);
    int64_t end_ms = strtoll(field(row, "commit_by"), NULL, 10) - LATE_COMMIT_MS;
    bool own = lease != NULL && strstr(lease->string->bytes, field(row, "token")) != NULL;
    if (!own && redis_now_ms(&sim.redis) < end_ms) sim_fail("%s is claimed, and its lease is not there", d->name);
}

static void check_row(const struct sim_delivery_plan *d, struct known *k)
{
    const struct redis_object *row = object_at("delivery", d->name);
    const char *state = field(row, "state");
    long rev = strtol(field(row, "rev"), NULL, 10), attempt = strtol(field(row, "attempt"), NULL, 10);
    if (row == NULL) return;
    const char *wrong = sim_row_misplaced(&sim.redis, d->channel, d->name);
    if (wrong != NULL) sim_fail("%s (%s %s) %s", d->name, state, field(row, "reason"), wrong);
    if (field(row, "reason")[0] == '\0') sim_fail("%s is %s without a reason", d->name, state);
    if (strcmp(k->state, "published") == 0 && strcmp(state, "published") != 0)
        sim_fail("%s was published and is %s now", d->name, state);
    if (rev < k->rev || attempt < k->attempt)
        sim_fail("%s: rev %ld, attempt %ld after rev %ld, attempt %ld", d->name, rev, attempt, k->rev, k->attempt);
    if (strcmp(state, "published") == 0) check_published(d, k, row);
    check_absence(d, k, row);
    if (strcmp(state, "claimed") == 0) note_claim(d, k, field(row, "token"));
    if (strcmp(state, "claimed") == 0) check_lease(d, row);
    if (strcmp(state, "claimed") == 0 && field(row, "misses")[0] != '\0')
        sim_fail("%s is claimed, and what was missed of an earlier attempt still counts", d->name);
    k->rev = rev;
    k->attempt = attempt;
    snprintf(k->state, sizeof k->state, "%s", state);
}

void sim_judge_redis(void)
{
    static const char start[] = START "delivery:";
    for (size_t i = 0; i < sim.redis.dirty_count; i++) {
        const char *key = sim.redis.dirty[i]->bytes;
        if (strncmp(key, start, sizeof start - 1) != 0) continue;
        for (int n = 0; n < sim.plan.delivery_count; n++)
            if (strcmp(sim.plan.delivery[n].name, key + sizeof start - 1) == 0)
                check_row(&sim.plan.delivery[n], &sim.judge->known[n]);
    }
    redis_db_clean(&sim.redis);
}

void sim_judge_rewound(void)
{
    redis_db_clean(&sim.redis);
    sim.judge->rewound = true;
    memset(sim.judge->pace, 0, sizeof sim.judge->pace); /* who was when is forgotten, too */
    for (int i = 0; i < sim.plan.delivery_count; i++) {
        const struct sim_delivery_plan *d = &sim.plan.delivery[i];
        struct known *k = &sim.judge->known[i];
        const struct redis_object *row = object_at("delivery", d->name);
        k->rev = k->attempt = 0;
        k->told_count = 0; /* what stood in the row already, nobody tells again */
        k->state[0] = k->ext_id[0] = '\0';
        if (row != NULL || in_stream("queue", d->item)) continue;
        k->forgotten = k->forgotten || k->submitted || k->token_count > 0;
        if (k->forgotten) sim_tell("judge: Redis knows nothing of %s any more", d->name);
    }
}

/* ---- the end ---- */

static bool is_settled(const char *state)
{
    return strcmp(state, "published") == 0 || strcmp(state, "rejected") == 0 || strcmp(state, "held") == 0;
}

/* Without a row: Redis has forgotten it, or it was handed out so often without a claim that it stands in `refused`. */
static bool is_put_aside(const struct sim_delivery_plan *d, const struct known *k)
{
    return k->forgotten || (k->submitted && in_stream("refused", d->item) && !in_stream("queue", d->item));
}

/* It must come after one that will never come, or that waits so itself: a person has to bring that one again. */
static bool waits_in_vain(const struct sim_delivery_plan *d)
{
    const struct redis_object *row = object_at("delivery", d->name);
    if (d->after == NULL || strcmp(field(row, "state"), "approved") != 0) return false;
    if (strcmp(field(row, "reason"), "predecessor") != 0) return false;
    if (object_at("delivery", d->after->name) != NULL) return waits_in_vain(d->after);
    return is_put_aside(d->after, known_of_plan(d->after));
}

/* A worker that has read the answer and lives. */
static const struct sim_process *knows_of_post(const struct known *k)
{
    for (int i = 0; i < k->told_count && !k->forgotten; i++)
        if (k->told[i].process->lives == k->told[i].life && !k->told[i].process->dead) return k->told[i].process;
    return NULL;
}

bool sim_judge_settled(void)
{
    for (int i = 0; i < sim.plan.delivery_count; i++) {
        const struct sim_delivery_plan *d = &sim.plan.delivery[i];
        const struct known *k = &sim.judge->known[i];
        const struct redis_object *row = object_at("delivery", d->name);
        if (row == NULL ? is_put_aside(d, k) : waits_in_vain(d)) continue;
        const char *state = field(row, "state");
        if (!k->submitted || !is_settled(state)) return false;
        if (strcmp(state, "published") != 0 && knows_of_post(k) != NULL) return false; /* it will say so */
    }
    return true;
}

static void check_counts(void)
{
    for (int i = 0; i < sim.plan.delivery_count; i++) {
        char name[NAME_BYTES];
        long count = 0;
        const struct redis_object *row = object_at("delivery", sim.plan.delivery[i].name);
        const char *channel = sim.plan.delivery[i].channel, *state = field(row, "state");
        if (row == NULL) continue;
        for (int n = 0; n < sim.plan.delivery_count; n++)
            count += strcmp(sim.plan.delivery[n].channel, channel) == 0 &&
                     strcmp(field(object_at("delivery", sim.plan.delivery[n].name), "state"), state) == 0;
        snprintf(name, sizeof name, "%s %s", channel, state);
        long counted = strtol(field(object_at("counts", ""), name), NULL, 10);
        /* One item may be planned twice for a channel: then it is one delivery. */
        if (counted != count) sim_fail("counts says %ld deliveries are \"%s\"; %ld are", counted, name, count);
    }
}

static bool cannot_be_read(const char *delivery)
{
    return strncmp(delivery, "blind/", 6) == 0 || strncmp(delivery, "keyonly/", 8) == 0;
}

/* What is there must not be shown as failed or missed, but where nobody can know. What a worker knew it has told. */
static void check_end(const struct sim_delivery_plan *d, const struct known *k, const struct redis_object *row)
{
    const char *state = field(row, "state"), *reason = field(row, "reason");
    bool unknowable = strcmp(reason, "no_evidence") == 0 && cannot_be_read(d->name);
    bool published = strcmp(state, "published") == 0;
    if (k->posts > 0 && !published && !unknowable && !waits_in_vain(d) && !k->operated && !k->forgotten &&
        !is_harmless(d->name))
        sim_fail("%s is %s (%s), and there is a post", d->name, state, reason);
    const struct sim_process *knows = knows_of_post(k);
    if (knows != NULL && !published)
        sim_fail("%s is %s (%s), and %s knows of a post", d->name, state, reason, knows->name);
}

void sim_judge_end(void)
{
    for (int i = 0; i < sim.plan.delivery_count; i++) {
        const struct sim_delivery_plan *d = &sim.plan.delivery[i];
        const struct known *k = &sim.judge->known[i];
        const struct redis_object *row = object_at("delivery", d->name);
        const char *state = field(row, "state");
        if (row == NULL && is_put_aside(d, k)) continue;
        if (!is_settled(state) && !waits_in_vain(d))
            sim_fail("%s is \"%s %s\" an hour after the last fault", d->name, state, field(row, "reason"));
        check_end(d, k, row);
    }
    check_counts();
}
