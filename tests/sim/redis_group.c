/* SPDX-License-Identifier: MIT */
/* Commands about consumer groups. */
#include "tests/sim/redis_commands.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/die.h"

#define SCAN_FACTOR 10 /* XAUTOCLAIM looks at so many times COUNT entries */

/* False: there is no such group, and the answer says so. */
static bool find_group(struct redis_call *c, size_t key, size_t name, struct redis_object **object,
                       struct redis_group **group)
{
    *group = NULL;
    if (!redis_get(c, key, REDIS_STREAM, object)) return false;
    if (*object != NULL) *group = redis_group_find(&(*object)->stream, c->arg[name].bytes, c->arg[name].len);
    if (*group != NULL) return true;
    redis_say_error_format(c->db, c->reply, "NOGROUP No such key '%.*s' or consumer group '%.*s'",
                           REDIS_WORD(c->arg[key]), REDIS_WORD(c->arg[name]));
    return false;
}

/* Consumers are kept in the order of their names, as Redis shows them. */
static struct redis_entry *sort_in(struct redis_table *table, struct redis_entry *last)
{
    struct redis_entry entry = *last, *at = last;
    while (table->index == NULL && at > table->entry &&
           redis_text_compare((at - 1)->name, entry.name->bytes, entry.name->len) > 0) {
        *at = *(at - 1);
        at--;
    }
    *at = entry;
    return at;
}

static struct redis_entry *see_consumer(struct redis_call *c, struct redis_group *group, const struct redis_arg *name)
{
    struct redis_entry *entry = redis_table_put(&group->consumers, name->bytes, name->len);
    if (entry->value == NULL) {
        entry->value = xcalloc(1, sizeof(int64_t));
        entry = sort_in(&group->consumers, entry);
    }
    *(int64_t *)entry->value = redis_now_ms(c->db);
    return entry;
}

static void give(struct redis_call *c, struct redis_pending *pending, struct redis_text *consumer)
{
    struct redis_text *before = pending->consumer;
    pending->consumer = redis_text_keep(consumer);
    redis_text_drop(before);
    pending->delivered_ms = redis_now_ms(c->db);
}

static bool is_of(const struct redis_pending *pending, const struct redis_text *consumer)
{
    return redis_text_is(pending->consumer, consumer->bytes, consumer->len);
}

/* For commands with the key and the group as their words 2 and 3. NULL: the answer says that there is none. */
static struct redis_group *named_group(struct redis_call *c, struct redis_object *object)
{
    struct redis_group *group = redis_group_find(&object->stream, c->arg[3].bytes, c->arg[3].len);
    if (group == NULL)
        redis_say_error_format(c->db, c->reply, "NOGROUP No such consumer group '%.*s' for key name '%.*s'",
                               REDIS_WORD(c->arg[3]), REDIS_WORD(c->arg[2]));
    return group;
}

/* ---- XGROUP ---- */

#define NO_STREAM                                                                                                      \
    "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM "      \
    "option to create an empty stream automatically."

static void create(struct redis_call *c)
{
    struct redis_object *object;
    struct redis_stream_id id = {0, 0};
    bool make = c->argc > 5 && redis_arg_is(&c->arg[5], "MKSTREAM");
    bool newest = c->arg[4].len == 1 && c->arg[4].bytes[0] == '$';
    if (!redis_get(c, 2, REDIS_STREAM, &object)) return;
    if (object == NULL && !make) {
        redis_say_error(c->reply, NO_STREAM);
        return;
    }
    if (!newest && !redis_stream_id_read(c, &c->arg[4], 0, &id)) return;
    if (object != NULL && redis_group_find(&object->stream, c->arg[3].bytes, c->arg[3].len) != NULL) {
        redis_say_error(c->reply, "BUSYGROUP Consumer Group name already exists");
        return;
    }
    struct redis_stream *stream = &redis_make(c, 2, REDIS_STREAM)->stream;
    stream->group = xrealloc_array(stream->group, stream->group_count + 1, sizeof *stream->group);
    stream->group[stream->group_count++] = (struct redis_group){.name = redis_text_new(c->arg[3].bytes, c->arg[3].len),
                                                                .last = newest ? stream->last : id};
    redis_say_status(c->reply, "OK");
}

static void delete_consumer(struct redis_call *c, struct redis_group *group)
{
    struct redis_entry *entry = redis_table_find(&group->consumers, c->arg[4].bytes, c->arg[4].len);
    int64_t gone = 0;
    if (entry != NULL) {
        for (size_t i = group->count; i-- > 0;) {
            if (!is_of(&group->pending[i], entry->name)) continue;
            redis_pending_remove(group, &group->pending[i]);
            gone++;
        }
        free(entry->value);
        redis_table_remove(&group->consumers, entry);
    }
    redis_say_integer(c->reply, gone);
}

static void create_consumer(struct redis_call *c, struct redis_group *group)
{
    bool there = redis_table_find(&group->consumers, c->arg[4].bytes, c->arg[4].len) != NULL;
    if (!there) see_consumer(c, group, &c->arg[4]);
    redis_say_integer(c->reply, !there);
}

void redis_xgroup(struct redis_call *c)
{
    struct redis_object *object;
    struct redis_group *group;
    bool destroys = redis_arg_is(&c->arg[1], "DESTROY") && c->argc == 4;
    bool deletes = redis_arg_is(&c->arg[1], "DELCONSUMER") && c->argc == 5;
    bool creates = redis_arg_is(&c->arg[1], "CREATECONSUMER") && c->argc == 5;
    if (redis_arg_is(&c->arg[1], "CREATE") && c->argc >= 5) {
        create(c);
        return;
    }
    if (!destroys && !deletes && !creates) {
        redis_say_error_format(c->db, c->reply,
                               "ERR unknown subcommand or wrong number of arguments for '%.*s'. Try XGROUP HELP.",
                               REDIS_WORD(c->arg[1]));
        return;
    }
    if (!redis_get(c, 2, REDIS_STREAM, &object)) return;
    if (object == NULL) {
        redis_say_error(c->reply, NO_STREAM);
    } else if (destroys) {
        group = redis_group_find(&object->stream, c->arg[3].bytes, c->arg[3].len);
        if (group != NULL) redis_group_remove(&object->stream, group);
        redis_say_integer(c->reply, group != NULL);
    } else {
        group = named_group(c, object);
        if (group != NULL && creates) create_consumer(c, group);
        if (group != NULL && deletes) delete_consumer(c, group);
    }
    redis_written(c, 2);
}

/* ---- XREADGROUP ---- */

/* XREADGROUP GROUP group consumer [COUNT n] [BLOCK ms] [NOACK] STREAMS key id */
struct read_group {
    int64_t max;
    bool no_ack;
    size_t key;
};

static bool read_options(struct redis_call *c, struct read_group *r)
{
    int64_t number;
    size_t at = 4;
    *r = (struct read_group){.max = -1};
    if (!redis_arg_is(&c->arg[1], "GROUP")) goto syntax;
    for (; at + 1 < c->argc && !redis_arg_is(&c->arg[at], "STREAMS"); at += 2) {
        if (redis_arg_is(&c->arg[at], "NOACK")) {
            r->no_ack = true;
            at--;
            continue;
        }
        bool is_count = redis_arg_is(&c->arg[at], "COUNT");
        if (!is_count && !redis_arg_is(&c->arg[at], "BLOCK")) goto syntax;
        if (!redis_arg_integer(&c->arg[at + 1], &number)) {
            redis_say_error(c->reply, REDIS_INTEGER_ERROR);
            return false;
        }
        if (is_count) r->max = number;
    }
    r->key = at + 1;
    if (at + 3 == c->argc) return true;
    redis_say_error(c->reply, REDIS_UNBALANCED_ERROR);
    return false;
syntax:
    redis_say_error(c->reply, REDIS_SYNTAX_ERROR);
    return false;
}

static struct redis_reply *say_stream(struct redis_call *c, size_t key, size_t count)
{
    struct redis_reply *stream = redis_say_array(c->db, redis_say_array(c->db, c->reply, 1), 2);
    redis_say_bytes(c->db, &stream[0], c->arg[key].bytes, c->arg[key].len);
    return redis_say_array(c->db, &stream[1], count);
}

static void read_new(struct redis_call *c, const struct read_group *r, struct redis_stream *stream,
                     struct redis_group *group)
{
    size_t first = redis_stream_from(stream, group->last);
    if (first < stream->count && redis_stream_id_compare(stream->entry[first].id, group->last) == 0) first++;
    size_t count = stream->count - first;
    if (r->max > 0 && count > (size_t)r->max) count = (size_t)r->max;
    if (count == 0) return; /* nil */
    struct redis_text *consumer = see_consumer(c, group, &c->arg[3])->name;
    struct redis_reply *child = say_stream(c, r->key, count);
    for (size_t i = 0; i < count; i++) {
        const struct redis_stream_entry *entry = &stream->entry[first + i];
        struct redis_pending *pending = redis_pending_find(group, entry->id);
        redis_say_stream_entry(c->db, &child[i], entry->id, entry);
        if (r->no_ack) continue;
        if (pending == NULL) pending = redis_pending_put(group, entry->id);
        give(c, pending, consumer);
        pending->times = 1;
    }
    group->last = stream->entry[first + count - 1].id;
    redis_written(c, r->key);
}

static void read_own(struct redis_call *c, const struct read_group *r, struct redis_stream *stream,
                     struct redis_group *group)
{
    struct redis_stream_id after;
    if (!redis_stream_id_read(c, &c->arg[r->key + 1], 0, &after)) return;
    const struct redis_text *consumer = see_consumer(c, group, &c->arg[3])->name;
    struct redis_reply *child = say_stream(c, r->key, group->count);
    struct redis_reply *list = &c->reply->child[0].child[1];
    list->count = 0;
    for (size_t i = 0; i < group->count; i++) {
        struct redis_pending *pending = &group->pending[i];
        if (r->max > 0 && list->count == (size_t)r->max) break;
        if (redis_stream_id_compare(pending->id, after) <= 0 || !is_of(pending, consumer)) continue;
        const struct redis_stream_entry *entry = redis_stream_find(stream, pending->id);
        redis_say_stream_entry(c->db, &child[list->count++], pending->id, entry);
        if (entry == NULL) continue;
        pending->delivered_ms = redis_now_ms(c->db);
        pending->times++;
    }
}

void redis_xreadgroup(struct redis_call *c)
{
    struct read_group r;
    struct redis_object *object;
    struct redis_group *group;
    if (!read_options(c, &r)) return;
    if (!find_group(c, r.key, 2, &object, &group)) {
        if (c->reply->kind == REDIS_ERROR && strncmp(c->reply->text, "NOGROUP", 7) == 0)
            redis_say_error_format(
                c->db, c->reply, "NOGROUP No such key '%.*s' or consumer group '%.*s' in XREADGROUP with GROUP option",
                REDIS_WORD(c->arg[r.key]), REDIS_WORD(c->arg[2]));
        return;
    }
    const struct redis_arg *id = &c->arg[r.key + 1];
    if (id->len == 1 && id->bytes[0] == '>')
        read_new(c, &r, &object->stream, group);
    else
        read_own(c, &r, &object->stream, group);
}

/* ---- XACK, XPENDING ---- */

void redis_xack(struct redis_call *c)
{
    struct redis_object *object;
    struct redis_stream_id id;
    int64_t gone = 0;
    if (!redis_get(c, 1, REDIS_STREAM, &object)) return;
    struct redis_group *group =
        object != NULL ? redis_group_find(&object->stream, c->arg[2].bytes, c->arg[2].len) : NULL;
    for (size_t i = 3; group != NULL && i < c->argc; i++)
        if (!redis_stream_id_read(c, &c->arg[i], 0, &id)) return;
    for (size_t i = 3; group != NULL && i < c->argc; i++) {
        (void)redis_stream_id_read(c, &c->arg[i], 0, &id);
        struct redis_pending *pending = redis_pending_find(group, id);
        if (pending == NULL) continue;
        redis_pending_remove(group, pending);
        gone++;
    }
    if (gone > 0) redis_written(c, 1);
    redis_say_integer(c->reply, gone);
}

static void say_pending_summary(struct redis_call *c, struct redis_group *group)
{
    struct redis_reply *child = redis_say_array(c->db, c->reply, 4);
    redis_say_integer(&child[0], (int64_t)group->count);
    if (group->count == 0) return;
    redis_say_stream_id(c->db, &child[1], group->pending[0].id);
    redis_say_stream_id(c->db, &child[2], group->pending[group->count - 1].id);
    struct redis_reply *list = redis_say_array(c->db, &child[3], group->consumers.count);
    child[3].count = 0;
    for (size_t i = 0; i < group->consumers.count; i++) {
        int64_t count = 0;
        for (size_t n = 0; n < group->count; n++)
            count += is_of(&group->pending[n], group->consumers.entry[i].name);
        if (count == 0) continue;
        struct redis_reply *one = redis_say_array(c->db, &list[child[3].count++], 2);
        redis_say_text(&one[0], group->consumers.entry[i].name);
        redis_say_format(c->db, &one[1], "%lld", (long long)count);
    }
}

static void say_pending(struct redis_call *c, struct redis_group *group)
{
    struct redis_stream_id from, to;
    int64_t max;
    if (!redis_stream_id_read(c, &c->arg[3], 0, &from) || !redis_stream_id_read(c, &c->arg[4], UINT64_MAX, &to)) return;
    if (!redis_arg_integer(&c->arg[5], &max)) {
        redis_say_error(c->reply, REDIS_INTEGER_ERROR);
        return;
    }
    struct redis_reply *list = redis_say_array(c->db, c->reply, group->count);
    c->reply->count = 0;
    for (size_t i = redis_pending_from(group, from); i < group->count && (int64_t)c->reply->count < max; i++) {
        const struct redis_pending *p = &group->pending[i];
        if (redis_stream_id_compare(p->id, to) > 0) break;
        if (c->argc > 6 && !redis_text_is(p->consumer, c->arg[6].bytes, c->arg[6].len)) continue;
        struct redis_reply *one = redis_say_array(c->db, &list[c->reply->count++], 4);
        redis_say_stream_id(c->db, &one[0], p->id);
        redis_say_text(&one[1], p->consumer);
        redis_say_integer(&one[2], redis_now_ms(c->db) - p->delivered_ms);
        redis_say_integer(&one[3], p->times);
    }
}

void redis_xpending(struct redis_call *c)
{
    struct redis_object *object;
    struct redis_group *group;
    if (c->argc != 3 && c->argc != 6 && c->argc != 7)
        redis_say_error(c->reply, REDIS_SYNTAX_ERROR);
    else if (find_group(c, 1, 2, &object, &group))
        (c->argc == 3 ? say_pending_summary : say_pending)(c, group);
}

/* ---- XCLAIM, XAUTOCLAIM ---- */

struct claim_options {
    int64_t idle_ms; /* what the entry looks like afterwards */
    bool just_id;
    size_t id_count;
};

/* key group consumer min-idle id.. [IDLE ms] [JUSTID] */
static bool read_claim_options(struct redis_call *c, struct claim_options *o)
{
    struct redis_stream_id id;
    *o = (struct claim_options){0};
    size_t at = 5;
    while (at < c->argc && c->arg[at].len > 0 && c->arg[at].bytes[0] >= '0' && c->arg[at].bytes[0] <= '9')
        if (!redis_stream_id_read(c, &c->arg[at++], 0, &id)) return false;
    o->id_count = at - 5;
    for (; at < c->argc; at++) {
        if (redis_arg_is(&c->arg[at], "JUSTID")) {
            o->just_id = true;
        } else if (!redis_arg_is(&c->arg[at], "IDLE") || at + 1 == c->argc ||
                   !redis_arg_integer(&c->arg[++at], &o->idle_ms)) {
            redis_say_error(c->reply, REDIS_SYNTAX_ERROR);
            return false;
        }
    }
    return true;
}

/* Puts the entry into the answer, or, where it is gone from the stream, out of the pending list (then false). */
static bool claim_one(struct redis_call *c, struct redis_object *object, struct redis_group *group,
                      struct redis_pending *pending, const struct claim_options *o, struct redis_reply *list)
{
    const struct redis_stream_entry *entry = redis_stream_find(&object->stream, pending->id);
    if (entry == NULL) {
        redis_pending_remove(group, pending);
        return false;
    }
    give(c, pending, see_consumer(c, group, &c->arg[3])->name);
    pending->delivered_ms -= o->idle_ms;
    pending->times += !o->just_id;
    struct redis_reply *reply = &list->child[list->count++];
    if (o->just_id)
        redis_say_stream_id(c->db, reply, entry->id);
    else
        redis_say_stream_entry(c->db, reply, entry->id, entry);
    return true;
}

static bool read_claim(struct redis_call *c, struct redis_object **object, struct redis_group **group, int64_t *idle_ms)
{
    if (!find_group(c, 1, 2, object, group)) return false;
    if (redis_arg_integer(&c->arg[4], idle_ms)) return true;
    redis_say_error(c->reply, "ERR Invalid min-idle-time argument for XCLAIM");
    return false;
}

void redis_xclaim(struct redis_call *c)
{
    struct redis_object *object;
    struct redis_group *group;
    struct claim_options o;
    struct redis_stream_id id;
    int64_t min_idle_ms;
    if (!read_claim(c, &object, &group, &min_idle_ms) || !read_claim_options(c, &o)) return;
    (void)redis_say_array(c->db, c->reply, o.id_count);
    c->reply->count = 0;
    for (size_t i = 0; i < o.id_count; i++) {
        (void)redis_stream_id_read(c, &c->arg[5 + i], 0, &id);
        struct redis_pending *pending = redis_pending_find(group, id);
        bool is_there = redis_stream_find(&object->stream, id) != NULL;
        if (pending == NULL || (is_there && redis_now_ms(c->db) - pending->delivered_ms < min_idle_ms)) continue;
        (void)claim_one(c, object, group, pending, &o, c->reply);
    }
    redis_written(c, 1);
}

/* key group consumer min-idle start [COUNT n] [JUSTID] */
void redis_xautoclaim(struct redis_call *c)
{
    struct redis_object *object;
    struct redis_group *group;
    struct redis_stream_id from;
    struct claim_options o = {0};
    int64_t min_idle_ms, max = 100;
    if (!read_claim(c, &object, &group, &min_idle_ms) || !redis_stream_id_read(c, &c->arg[5], 0, &from)) return;
    for (size_t i = 6; i < c->argc; i++) {
        if (redis_arg_is(&c->arg[i], "JUSTID")) {
            o.just_id = true;
        } else if (!redis_arg_is(&c->arg[i], "COUNT") || i + 1 == c->argc || !redis_arg_integer(&c->arg[++i], &max)) {
            redis_say_error(c->reply, REDIS_SYNTAX_ERROR);
            return;
        }
    }
    struct redis_reply *child = redis_say_array(c->db, c->reply, 3);
    struct redis_reply *gone = redis_say_array(c->db, &child[2], group->count);
    (void)redis_say_array(c->db, &child[1], group->count);
    child[1].count = child[2].count = 0;
    size_t at = redis_pending_from(group, from);
    for (int64_t looked = max * SCAN_FACTOR; at < group->count && looked > 0 && max > 0; looked--) {
        struct redis_pending *pending = &group->pending[at];
        const struct redis_stream_id id = pending->id;
        bool is_old = redis_now_ms(c->db) - pending->delivered_ms >= min_idle_ms;
        bool is_there = redis_stream_find(&object->stream, id) != NULL;
        if (is_there && !is_old) {
            at++;
        } else if (claim_one(c, object, group, pending, &o, &child[1])) {
            at++;
            max--;
        } else {
            redis_say_stream_id(c->db, &gone[child[2].count++], id);
            max--;
        }
    }
    redis_say_stream_id(c->db, &child[0], at < group->count ? group->pending[at].id : (struct redis_stream_id){0, 0});
    redis_written(c, 1);
}

/* ---- XINFO CONSUMERS ---- */

void redis_xinfo(struct redis_call *c)
{
    struct redis_object *object;
    struct redis_group *group;
    if (!redis_arg_is(&c->arg[1], "CONSUMERS") || c->argc != 4) {
        redis_say_error_format(c->db, c->reply,
                               "ERR unknown subcommand or wrong number of arguments for '%.*s'. Try XINFO HELP.",
                               REDIS_WORD(c->arg[1]));
        return;
    }
    if (!redis_get(c, 2, REDIS_STREAM, &object)) return;
    if (object == NULL) {
        redis_say_error(c->reply, "ERR no such key");
        return;
    }
    group = named_group(c, object);
    if (group == NULL) return;
    struct redis_reply *list = redis_say_array(c->db, c->reply, group->consumers.count);
    for (size_t i = 0; i < c->reply->count; i++) {
        const struct redis_entry *consumer = &group->consumers.entry[i];
        int64_t count = 0;
        for (size_t n = 0; n < group->count; n++)
            count += is_of(&group->pending[n], consumer->name);
        struct redis_reply *one = redis_say_array(c->db, &list[i], 6);
        redis_say_bytes(c->db, &one[0], "name", 4);
        redis_say_text(&one[1], consumer->name);
        redis_say_bytes(c->db, &one[2], "pending", 7);
        redis_say_integer(&one[3], count);
        redis_say_bytes(c->db, &one[4], "idle", 4);
        redis_say_integer(&one[5], redis_now_ms(c->db) - *(int64_t *)consumer->value);
    }
}
