/* SPDX-License-Identifier: MIT */
/*
 * A state as 128 bits: the sum of the keyed hashes of its parts, so that neither the order of Redis' keys nor which of
 * the two workers is which makes another state.
 *
 * Two states are one where everything that can still happen is the same. So times count from now, those that are past
 * all comparisons are one; attempts and revisions count from the row's; of a decision that is on its way, what it says
 * and not when it was made. What is left is finite: there is no bound on time.
 */
#include "tests/sim/states.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/die.h"

#define PART_BYTES 4096

void states_hash_add(uint64_t sum[2], const void *bytes, size_t len)
{
    static const unsigned char key[crypto_shorthash_siphashx24_KEYBYTES] = {1};
    uint64_t part[2];
    (void)crypto_shorthash_siphashx24((unsigned char *)part, bytes, len, key);
    sum[0] += part[0];
    sum[1] += part[1];
}

/* ---- parts ---- */

struct part {
    char text[PART_BYTES];
    size_t len;
};

static void put(struct part *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct part *p, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(p->text + p->len, sizeof p->text - p->len, format, arguments);
    va_end(arguments);
    if (len < 0 || p->len + (size_t)len >= sizeof p->text) die("states: a state is too large");
    p->len += (size_t)len;
}

static int left(int until, int now)
{
    return until > now ? until - now : 0;
}

/* From now, and no further back than `span`: what is older is as old. */
static long long since(const struct state *s, int64_t at_ms, int64_t span_ms)
{
    const int64_t now_ms = states_ms(s->now);
    return at_ms > now_ms - span_ms ? at_ms - now_ms : -span_ms;
}

/* Attempts and revisions as how far the row in Redis is ahead of them. */
static void put_row(struct part *p, const struct state *s, const struct delivery_row *r)
{
    const struct delivery_row *now = &states_redis_row(s->redis)->core;
    const struct delivery_policy *policy = &states.of.policy;
    put(p, " row %d %d %lld %d %d %d %d %s", r->state, r->reason, (long long)(now->rev - r->rev), r->generation,
        now->attempt - r->attempt, r->tries, r->waived, r->token);
    put(p, " %lld", since(s, r->commit_by_ms, policy->visibility_lag_ms));
    put(p, " %d %lld", r->misses, since(s, r->missed_at_ms, policy->visibility_lag_ms));
    if (policy->key_window_ms > 0) put(p, " sent %lld", since(s, r->first_send_ms, policy->key_window_ms + 1));
    if (r->state == DS_UNCERTAIN && policy->give_up_after_ms < STATES_NEVER_MS)
        put(p, " since %lld", since(s, r->since_ms, policy->give_up_after_ms + 1));
    put(p, " %s doubt", r->ext_id);
    for (int i = 0; i < r->doubt.count; i++) {
        char *token;
        long attempt = strtol(r->doubt.entry[i], &token, 10);
        put(p, " %ld%s", now->attempt - attempt, token);
    }
}

static void put_decision(struct part *p, const struct state *s, const struct delivery_decision *d)
{
    put(p, " to %d %d %d %lld %d %d", d->state, d->reason, d->place, since(s, d->due_ms, 0), d->misses,
        d->new_generation);
}

static void put_request(struct part *p, const struct state *s, const struct states_request *r)
{
    bool open = r->stage == STATES_SENT || r->stage == STATES_EXECUTING;
    put(p, " request %d %d %d %d", r->stage, r->key, open ? left(r->last, s->now) : 0, r->post);
}

static void put_worker(struct part *p, const struct state *s, int who)
{
    const struct states_worker *w = &s->worker[who];
    put(p, "worker %d", w->phase);
    if (w->phase == STATES_IDLE) return;
    put(p, " %s", w->token);
    if (w->phase == STATES_CLAIMING) {
        put(p, " %d %d", w->from_entry, w->generation);
        return;
    }
    put(p, " %d", states_redis_row(s->redis)->core.attempt - w->attempt);
    put_row(p, s, &w->row);
    if (w->phase == STATES_GRANTED) put(p, " %d %lld", w->key, since(s, w->deadline_ms, 1));
    if (w->phase == STATES_REPORTING) {
        const struct delivery_decision decision = states_worker_decision(s, who);
        put(p, " %d %d", w->event, w->post);
        put_decision(p, s, &decision);
    }
    for (int i = 0; i < STATES_REQUESTS_MAX; i++)
        if (s->platform.request[i].stage != STATES_FREE && s->platform.request[i].worker == who)
            put_request(p, s, &s->platform.request[i]);
}

/* What the search proves of a row: neither the row nor the search's beginning can change to the contrary. */
static void put_search(struct part *p, const struct state *s, const struct delivery_row *row)
{
    const int64_t from_ms = s->reader.searched_from_ms - states.of.policy.visibility_lag_ms;
    put(p, " %d %d", from_ms >= row->commit_by_ms, from_ms >= row->missed_at_ms);
}

static void put_reader(struct part *p, const struct state *s)
{
    const struct states_reader *r = &s->reader;
    const struct delivery_row *row = &states_redis_row(s->redis)->core;
    put(p, "reader %d", r->phase);
    if (r->phase == STATES_RESTING) return;
    put(p, " %d", row->attempt - r->attempt);
    put_row(p, s, &r->row);
    if (r->phase == STATES_LOADED) return;
    put(p, " from %lld", since(s, r->searched_from_ms, states.of.policy.visibility_lag_ms));
    put_search(p, s, row);
    put_search(p, s, &r->row);
    if (r->phase == STATES_READING) return;
    const struct delivery_decision decision = states_reader_decision(s);
    put(p, " %d %d %d", r->event, r->post, r->tries);
    put_decision(p, s, &decision);
}

static void put_ledger(struct part *p, const struct state *s)
{
    const struct states_row *row = states_redis_row(s->redis);
    put(p, "ledger %d %d", s->faults, row->taken);
    if (row->agenda_ms > 0) put(p, " agenda %lld", since(s, row->agenda_ms, 0));
    if (row->waiting_ms > 0) put(p, " waiting %lld %lld", since(s, row->waiting_ms, 0), since(s, row->next_ms, 0));
    if (row->lease_end_ms > states_ms(s->now))
        put(p, " lease %s %lld", row->lease_token, since(s, row->lease_end_ms, 0));
    put_row(p, s, &row->core);
}

static void put_posts(struct part *p, const struct state *s)
{
    const struct states_platform *f = &s->platform;
    put(p, "posts");
    for (int i = 0; i < f->post_count; i++)
        put(p, " %d", left(f->posted_at[i] + states.visibility_lag, s->now));
    for (int i = 0; i < STATES_KEYS_MAX; i++)
        if (f->key[i].known)
            put(p, " key %d %d %d", i, f->key[i].post, left(f->key[i].since + states.key_window + 1, s->now));
}

static void add_part(uint64_t sum[2], struct part *p)
{
    states_hash_add(sum, p->text, p->len);
    p->len = 0;
}

void states_hash(const struct state *s, uint64_t out[2])
{
    const uint64_t *redis = states_redis_hash(s->redis);
    struct part p;
    p.len = 0;
    out[0] = redis[0];
    out[1] = redis[1];
    for (int i = 0; i < STATES_WORKERS; i++) {
        put_worker(&p, s, i);
        add_part(out, &p);
    }
    for (int i = 0; i < STATES_REQUESTS_MAX; i++) {
        const struct states_request *r = &s->platform.request[i];
        if (r->stage == STATES_FREE || r->worker != STATES_NOBODY) continue;
        put_request(&p, s, r);
        add_part(out, &p);
    }
    put_reader(&p, s);
    add_part(out, &p);
    put_ledger(&p, s);
    add_part(out, &p);
    put_posts(&p, s);
    add_part(out, &p);
}

/* ---- the set ---- */

struct states_set {
    uint64_t (*place)[2]; /* both 0: free */
    uint64_t count, size; /* size: a power of two */
};

struct states_set *states_set_new(void)
{
    struct states_set *set = xcalloc(1, sizeof *set);
    set->size = 1 << 16;
    set->place = xcalloc(set->size, sizeof *set->place);
    return set;
}

void states_set_free(struct states_set **set)
{
    if (*set == NULL) return;
    free((*set)->place);
    free(*set);
    *set = NULL;
}

uint64_t states_set_count(const struct states_set *set)
{
    return set->count;
}

static uint64_t *find(const struct states_set *set, const uint64_t hash[2])
{
    for (uint64_t at = hash[0] & (set->size - 1);; at = (at + 1) & (set->size - 1)) {
        uint64_t *place = set->place[at];
        if ((place[0] == 0 && place[1] == 0) || (place[0] == hash[0] && place[1] == hash[1])) return place;
    }
}

static void grow(struct states_set *set)
{
    struct states_set larger = {.size = set->size * 2};
    larger.place = xcalloc(larger.size, sizeof *larger.place);
    for (uint64_t i = 0; i < set->size; i++)
        if (set->place[i][0] != 0 || set->place[i][1] != 0) memcpy(find(&larger, set->place[i]), set->place[i], 16);
    free(set->place);
    set->place = larger.place;
    set->size = larger.size;
}

bool states_set_has(const struct states_set *set, const uint64_t hash[2])
{
    const uint64_t *place = find(set, hash);
    return place[0] != 0 || place[1] != 0;
}

bool states_set_add(struct states_set *set, const uint64_t hash[2])
{
    if (set->count * 2 >= set->size) grow(set);
    uint64_t *place = find(set, hash);
    if (place[0] != 0 || place[1] != 0) return false;
    memcpy(place, hash, 16);
    set->count++;
    return true;
}
