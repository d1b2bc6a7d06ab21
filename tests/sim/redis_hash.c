/* SPDX-License-Identifier: MIT */
/* Commands about hashes. */
#include "tests/sim/redis_commands.h"

#include <stdio.h>

/* True if the field is new. */
static bool put(struct redis_object *object, const struct redis_arg *field, const struct redis_arg *value)
{
    struct redis_entry *entry = redis_table_put(&object->table, field->bytes, field->len);
    bool fresh = entry->value == NULL;
    struct redis_text *old = entry->value;
    entry->value = redis_text_new(value->bytes, value->len);
    redis_text_drop(old);
    return fresh;
}

static const struct redis_text *find(const struct redis_object *object, const struct redis_arg *field)
{
    if (object == NULL) return NULL;
    const struct redis_entry *entry = redis_table_find(&object->table, field->bytes, field->len);
    return entry != NULL ? entry->value : NULL;
}

void redis_hset(struct redis_call *c)
{
    if (c->argc % 2 != 0) {
        redis_say_error(c->reply, "ERR wrong number of arguments for 'hset' command");
        return;
    }
    struct redis_object *object = redis_make(c, 1, REDIS_HASH);
    int64_t fresh = 0;
    if (object == NULL) return;
    for (size_t i = 2; i < c->argc; i += 2)
        fresh += put(object, &c->arg[i], &c->arg[i + 1]);
    redis_say_integer(c->reply, fresh);
}

void redis_hsetnx(struct redis_call *c)
{
    struct redis_object *object;
    if (!redis_get(c, 1, REDIS_HASH, &object)) return;
    bool fresh = find(object, &c->arg[2]) == NULL;
    if (fresh) (void)put(redis_make(c, 1, REDIS_HASH), &c->arg[2], &c->arg[3]);
    redis_say_integer(c->reply, fresh);
}

void redis_hget(struct redis_call *c)
{
    struct redis_object *object;
    if (!redis_get(c, 1, REDIS_HASH, &object)) return;
    const struct redis_text *value = find(object, &c->arg[2]);
    if (value != NULL) redis_say_text(c->reply, value);
}

void redis_hmget(struct redis_call *c)
{
    struct redis_object *object;
    if (!redis_get(c, 1, REDIS_HASH, &object)) return;
    struct redis_reply *child = redis_say_array(c->db, c->reply, c->argc - 2);
    for (size_t i = 2; i < c->argc; i++) {
        const struct redis_text *value = find(object, &c->arg[i]);
        if (value != NULL) redis_say_text(&child[i - 2], value);
    }
}

void redis_hgetall(struct redis_call *c)
{
    struct redis_object *object;
    if (!redis_get(c, 1, REDIS_HASH, &object)) return;
    struct redis_reply *child = redis_say_array(c->db, c->reply, object != NULL ? object->table.count * 2 : 0);
    for (size_t i = 0; i < c->reply->count / 2; i++) {
        redis_say_text(&child[2 * i], object->table.entry[i].name);
        redis_say_text(&child[2 * i + 1], object->table.entry[i].value);
    }
}

void redis_hkeys(struct redis_call *c)
{
    struct redis_object *object;
    if (!redis_get(c, 1, REDIS_HASH, &object)) return;
    struct redis_reply *child = redis_say_array(c->db, c->reply, object != NULL ? object->table.count : 0);
    for (size_t i = 0; i < c->reply->count; i++)
        redis_say_text(&child[i], object->table.entry[i].name);
}

void redis_hdel(struct redis_call *c)
{
    struct redis_object *object;
    int64_t gone = 0;
    if (!redis_get(c, 1, REDIS_HASH, &object)) return;
    for (size_t i = 2; object != NULL && i < c->argc; i++) {
        struct redis_entry *entry = redis_table_find(&object->table, c->arg[i].bytes, c->arg[i].len);
        if (entry == NULL) continue;
        redis_text_drop(entry->value);
        redis_table_remove(&object->table, entry);
        gone++;
    }
    if (gone > 0) redis_written(c, 1);
    redis_say_integer(c->reply, gone);
}

void redis_hexists(struct redis_call *c)
{
    struct redis_object *object;
    if (redis_get(c, 1, REDIS_HASH, &object)) redis_say_integer(c->reply, find(object, &c->arg[2]) != NULL);
}

void redis_hlen(struct redis_call *c)
{
    struct redis_object *object;
    if (redis_get(c, 1, REDIS_HASH, &object))
        redis_say_integer(c->reply, object != NULL ? (int64_t)object->table.count : 0);
}

void redis_hincrby(struct redis_call *c)
{
    struct redis_object *object;
    int64_t by, value = 0;
    char text[24];
    if (!redis_arg_integer(&c->arg[3], &by)) {
        redis_say_error(c->reply, REDIS_INTEGER_ERROR);
        return;
    }
    if (!redis_get(c, 1, REDIS_HASH, &object)) return;
    const struct redis_text *known = find(object, &c->arg[2]);
    if (known != NULL && !redis_arg_integer(&(struct redis_arg){known->bytes, known->len}, &value)) {
        redis_say_error(c->reply, "ERR hash value is not an integer");
        return;
    }
    if (__builtin_add_overflow(value, by, &value)) {
        redis_say_error(c->reply, "ERR increment or decrement would overflow");
        return;
    }
    int len = snprintf(text, sizeof text, "%lld", (long long)value);
    (void)put(redis_make(c, 1, REDIS_HASH), &c->arg[2], &(struct redis_arg){text, (size_t)len});
    redis_say_integer(c->reply, value);
}

void redis_hrandfield(struct redis_call *c)
{
    struct redis_object *object;
    if (!redis_get(c, 1, REDIS_HASH, &object) || object == NULL) return;
    c->db->random = c->db->random * 6364136223846793005u + 1442695040888963407u;
    redis_say_text(c->reply, object->table.entry[(c->db->random >> 33) % object->table.count].name);
}
