/* SPDX-License-Identifier: MIT */
/* Commands about sorted sets. */
#include "tests/sim/redis_commands.h"

#include <stdlib.h>

/* ---- ZADD ---- */

struct add_options {
    bool if_missing, if_there, count_changes;
    size_t first; /* argument of the first score */
};

static bool read_add_options(struct redis_call *c, struct add_options *o)
{
    *o = (struct add_options){.first = 2};
    for (; o->first < c->argc; o->first++) {
        const struct redis_arg *word = &c->arg[o->first];
        if (redis_arg_is(word, "NX"))
            o->if_missing = true;
        else if (redis_arg_is(word, "XX"))
            o->if_there = true;
        else if (redis_arg_is(word, "CH"))
            o->count_changes = true;
        else
            break;
    }
    size_t left = c->argc - o->first;
    const char *wrong = left == 0 || left % 2 != 0     ? REDIS_SYNTAX_ERROR
                        : o->if_missing && o->if_there ? "ERR XX and NX options at the same time are not compatible"
                                                       : NULL;
    if (wrong != NULL) redis_say_error(c->reply, wrong);
    return wrong == NULL;
}

void redis_zadd(struct redis_call *c)
{
    struct add_options o;
    struct redis_object *object;
    double score;
    int64_t added = 0, changed = 0;
    if (!read_add_options(c, &o)) return;
    for (size_t i = o.first; i < c->argc; i += 2) {
        if (redis_arg_double(&c->arg[i], &score)) continue;
        redis_say_error(c->reply, REDIS_FLOAT_ERROR);
        return;
    }
    if (!redis_get(c, 1, REDIS_ZSET, &object)) return;
    if (object != NULL || !o.if_there) object = redis_make(c, 1, REDIS_ZSET);
    for (size_t i = o.first; object != NULL && i < c->argc; i += 2) {
        size_t at;
        const struct redis_arg *member = &c->arg[i + 1];
        bool known = redis_zset_find(&object->zset, member->bytes, member->len, &at);
        if (known ? o.if_missing : o.if_there) continue;
        (void)redis_arg_double(&c->arg[i], &score);
        changed += !known || object->zset.member[at].score != score;
        added += redis_zset_put(&object->zset, member->bytes, member->len, score);
    }
    redis_say_integer(c->reply, o.count_changes ? changed : added);
    redis_written(c, 1);
}

void redis_zrem(struct redis_call *c)
{
    struct redis_object *object;
    int64_t gone = 0;
    if (!redis_get(c, 1, REDIS_ZSET, &object)) return;
    for (size_t i = 2; object != NULL && i < c->argc; i++) {
        size_t at;
        if (!redis_zset_find(&object->zset, c->arg[i].bytes, c->arg[i].len, &at)) continue;
        redis_zset_remove(&object->zset, at);
        gone++;
    }
    if (gone > 0) redis_written(c, 1);
    redis_say_integer(c->reply, gone);
}

/* ---- looking ---- */

static void say_score(struct redis_call *c, struct redis_reply *reply, const struct redis_object *object, size_t arg)
{
    size_t at;
    if (object != NULL && redis_zset_find(&object->zset, c->arg[arg].bytes, c->arg[arg].len, &at))
        redis_say_score(c->db, reply, object->zset.member[at].score);
}

void redis_zscore(struct redis_call *c)
{
    struct redis_object *object;
    if (redis_get(c, 1, REDIS_ZSET, &object)) say_score(c, c->reply, object, 2);
}

void redis_zmscore(struct redis_call *c)
{
    struct redis_object *object;
    if (!redis_get(c, 1, REDIS_ZSET, &object)) return;
    struct redis_reply *child = redis_say_array(c->db, c->reply, c->argc - 2);
    for (size_t i = 2; i < c->argc; i++)
        say_score(c, &child[i - 2], object, i);
}

void redis_zcard(struct redis_call *c)
{
    struct redis_object *object;
    if (redis_get(c, 1, REDIS_ZSET, &object))
        redis_say_integer(c->reply, object != NULL ? (int64_t)object->zset.count : 0);
}

/* ---- ranges ---- */

struct bound {
    double score;
    bool exclusive;
};

struct range {
    bool by_score, with_scores;
    struct bound min, max;
    int64_t from, to; /* places, or LIMIT's offset and count */
    bool limited;
};

static bool read_bound(struct redis_call *c, const struct redis_arg *arg, struct bound *out)
{
    struct redis_arg rest = *arg;
    out->exclusive = rest.len > 0 && rest.bytes[0] == '(';
    rest.bytes += out->exclusive;
    rest.len -= out->exclusive;
    if (redis_arg_double(&rest, &out->score)) return true;
    redis_say_error(c->reply, "ERR min or max is not a float");
    return false;
}

static bool read_places(struct redis_call *c, size_t arg, struct range *r)
{
    if (redis_arg_integer(&c->arg[arg], &r->from) && redis_arg_integer(&c->arg[arg + 1], &r->to)) return true;
    redis_say_error(c->reply, REDIS_INTEGER_ERROR);
    return false;
}

/* key min max [BYSCORE] [LIMIT offset count] [WITHSCORES] */
static bool read_range(struct redis_call *c, bool by_score, struct range *r)
{
    *r = (struct range){.by_score = by_score};
    for (size_t i = 4; i < c->argc; i++) {
        if (redis_arg_is(&c->arg[i], "WITHSCORES")) {
            r->with_scores = true;
        } else if (!by_score && redis_arg_is(&c->arg[i], "BYSCORE")) {
            r->by_score = true;
        } else if (redis_arg_is(&c->arg[i], "LIMIT") && i + 2 < c->argc) {
            if (!read_places(c, i + 1, r)) return false;
            r->limited = true;
            i += 2;
        } else {
            redis_say_error(c->reply, REDIS_SYNTAX_ERROR);
            return false;
        }
    }
    if (r->by_score) return read_bound(c, &c->arg[2], &r->min) && read_bound(c, &c->arg[3], &r->max);
    if (!r->limited) return read_places(c, 2, r);
    redis_say_error(c->reply, "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX");
    return false;
}

/* The first place whose score is not below the bound (above it, where it is exclusive). */
static size_t place_of(const struct redis_zset *zset, const struct bound *bound, bool is_max)
{
    size_t at = 0;
    while (at < zset->count) {
        double score = zset->member[at].score;
        bool behind = is_max == bound->exclusive ? score >= bound->score : score > bound->score;
        if (behind) break;
        at++;
    }
    return at;
}

/* Places [from, to) of what is asked for. */
static void select_range(const struct redis_zset *zset, const struct range *r, size_t *from, size_t *to)
{
    int64_t count = (int64_t)zset->count, first = r->from, last = r->to;
    if (r->by_score) {
        first = (int64_t)place_of(zset, &r->min, false);
        last = (int64_t)place_of(zset, &r->max, true) - 1;
        if (r->limited) {
            first = r->from < 0 ? count : first + r->from;
            if (r->to >= 0 && last >= first + r->to) last = first + r->to - 1;
        }
    } else {
        first = first < 0 ? first + count : first;
        last = last < 0 ? last + count : last;
    }
    if (first < 0) first = 0;
    if (last >= count) last = count - 1;
    *from = (size_t)first;
    *to = last >= first ? (size_t)last + 1 : (size_t)first;
}

static void range(struct redis_call *c, bool by_score)
{
    struct range r;
    struct redis_object *object;
    size_t from = 0, to = 0;
    if (!read_range(c, by_score, &r) || !redis_get(c, 1, REDIS_ZSET, &object)) return;
    if (object != NULL) select_range(&object->zset, &r, &from, &to);
    size_t words = r.with_scores ? 2 : 1;
    struct redis_reply *child = redis_say_array(c->db, c->reply, (to - from) * words);
    for (size_t i = from; i < to; i++) {
        const struct redis_member *member = &object->zset.member[i];
        redis_say_text(child++, member->name);
        if (r.with_scores) redis_say_score(c->db, child++, member->score);
    }
}

void redis_zrange(struct redis_call *c)
{
    range(c, false);
}

void redis_zrangebyscore(struct redis_call *c)
{
    range(c, true);
}
