/* SPDX-License-Identifier: MIT */
/* Commands about keys, and the small types: strings, sets, lists. */
#include "tests/sim/redis_commands.h"

#include <string.h>

/* ---- keys ---- */

void redis_del(struct redis_call *c)
{
    int64_t gone = 0;
    for (size_t i = 1; i < c->argc; i++) {
        gone += redis_look(c->db, &c->arg[i]) != NULL;
        redis_delete(c->db, &c->arg[i]);
    }
    redis_say_integer(c->reply, gone);
}

void redis_exists(struct redis_call *c)
{
    int64_t there = 0;
    for (size_t i = 1; i < c->argc; i++)
        there += redis_look(c->db, &c->arg[i]) != NULL;
    redis_say_integer(c->reply, there);
}

void redis_type(struct redis_call *c)
{
    const struct redis_object *object = redis_look(c->db, &c->arg[1]);
    redis_say_status(c->reply, object != NULL ? redis_object_type_name(object) : "none");
}

static void expire(struct redis_call *c, int64_t unit_ms)
{
    int64_t span;
    struct redis_object *object = redis_look(c->db, &c->arg[1]);
    if (!redis_arg_integer(&c->arg[2], &span)) {
        redis_say_error(c->reply, REDIS_INTEGER_ERROR);
        return;
    }
    if (c->argc > 3) {
        redis_say_error_format(c->db, c->reply, "ERR Unsupported option %.*s", REDIS_WORD(c->arg[3]));
        return;
    }
    redis_say_integer(c->reply, object != NULL);
    if (object == NULL) return;
    object->expires_ms = redis_now_ms(c->db) + span * unit_ms;
    if (span <= 0)
        redis_delete(c->db, &c->arg[1]);
    else
        redis_written(c, 1);
}

void redis_pexpire(struct redis_call *c)
{
    expire(c, 1);
}

void redis_expire(struct redis_call *c)
{
    expire(c, 1000);
}

void redis_pttl(struct redis_call *c)
{
    const struct redis_object *object = redis_look(c->db, &c->arg[1]);
    int64_t left = object == NULL ? -2 : object->expires_ms == 0 ? -1 : object->expires_ms - redis_now_ms(c->db);
    redis_say_integer(c->reply, left);
}

void redis_ttl(struct redis_call *c)
{
    redis_pttl(c);
    if (c->reply->integer > 0) c->reply->integer = (c->reply->integer + 500) / 1000;
}

void redis_persist(struct redis_call *c)
{
    struct redis_object *object = redis_look(c->db, &c->arg[1]);
    redis_say_integer(c->reply, object != NULL && object->expires_ms != 0);
    if (c->reply->integer == 0) return;
    object->expires_ms = 0;
    redis_written(c, 1);
}

static bool class_matches(const char **pattern, const char *end, char wanted)
{
    const char *p = *pattern + 1;
    bool negated = p < end && *p == '^';
    bool found = false;
    p += negated;
    while (p < end && *p != ']') {
        if (p + 2 < end && p[1] == '-') {
            found = found || (wanted >= p[0] && wanted <= p[2]);
            p += 3;
        } else {
            found = found || *p == wanted;
            p++;
        }
    }
    *pattern = p;
    return found != negated;
}

static bool matches(const char *p, const char *p_end, const char *s, const char *s_end)
{
    for (; p < p_end; p++) {
        if (*p == '*') {
            for (const char *rest = s; rest <= s_end; rest++)
                if (matches(p + 1, p_end, rest, s_end)) return true;
            return false;
        }
        if (s == s_end) return false;
        if (*p == '[') {
            if (!class_matches(&p, p_end, *s)) return false;
        } else if (*p != '?') {
            if (*p == '\\' && p + 1 < p_end) p++;
            if (*p != *s) return false;
        }
        s++;
    }
    return s == s_end;
}

bool redis_matches(const struct redis_arg *pattern, const struct redis_text *name)
{
    return matches(pattern->bytes, pattern->bytes + pattern->len, name->bytes, name->bytes + name->len);
}

/* Expired keys leave the table while it is walked, so it is walked once before. */
static void drop_expired(struct redis_db *db)
{
    for (size_t i = db->keys.count; i-- > 0;) {
        const struct redis_text *name = db->keys.entry[i].name;
        (void)redis_db_peek(db, name->bytes, name->len);
    }
}

static void say_keys(struct redis_call *c, struct redis_reply *reply, const struct redis_arg *pattern)
{
    drop_expired(c->db);
    struct redis_reply *child = redis_say_array(c->db, reply, c->db->keys.count);
    reply->count = 0;
    for (size_t i = 0; i < c->db->keys.count; i++) {
        const struct redis_text *name = c->db->keys.entry[i].name;
        if (pattern == NULL || redis_matches(pattern, name)) redis_say_text(&child[reply->count++], name);
    }
}

void redis_keys(struct redis_call *c)
{
    say_keys(c, c->reply, &c->arg[1]);
}

/* All in one page: its cursor is 0. Any page size is allowed to the server. */
void redis_scan(struct redis_call *c)
{
    const struct redis_arg *pattern = NULL;
    for (size_t i = 2; i + 1 < c->argc; i += 2)
        if (redis_arg_is(&c->arg[i], "MATCH")) pattern = &c->arg[i + 1];
    struct redis_reply *child = redis_say_array(c->db, c->reply, 2);
    redis_say_bytes(c->db, &child[0], "0", 1);
    say_keys(c, &child[1], pattern);
}

void redis_flushall(struct redis_call *c)
{
    bool good =
        c->argc == 1 || (c->argc == 2 && (redis_arg_is(&c->arg[1], "SYNC") || redis_arg_is(&c->arg[1], "ASYNC")));
    if (!good) {
        redis_say_error(c->reply, REDIS_SYNTAX_ERROR);
        return;
    }
    redis_db_flush(c->db);
    redis_say_status(c->reply, "OK");
}

void redis_object_command(struct redis_call *c)
{
    const struct redis_object *object = c->argc > 2 ? redis_look(c->db, &c->arg[2]) : NULL;
    if (!redis_arg_is(&c->arg[1], "ENCODING")) {
        redis_say_error_format(c->db, c->reply, "ERR unknown subcommand '%.*s'. Try OBJECT HELP.",
                               REDIS_WORD(c->arg[1]));
    } else if (object != NULL) {
        const char *encoding = redis_object_encoding(object);
        redis_say_bytes(c->db, c->reply, encoding, strlen(encoding));
    }
}

/* ---- strings ---- */

void redis_get_string(struct redis_call *c)
{
    struct redis_object *object;
    if (redis_get(c, 1, REDIS_STRING, &object) && object != NULL) redis_say_text(c->reply, object->string);
}

struct set_options {
    bool if_missing, if_there, keep_ttl;
    int64_t span_ms; /* 0: none */
};

static bool read_set_options(struct redis_call *c, struct set_options *o)
{
    *o = (struct set_options){false};
    for (size_t i = 3; i < c->argc; i++) {
        const struct redis_arg *word = &c->arg[i];
        bool seconds = redis_arg_is(word, "EX");
        if (redis_arg_is(word, "NX") && !o->if_there) {
            o->if_missing = true;
        } else if (redis_arg_is(word, "XX") && !o->if_missing) {
            o->if_there = true;
        } else if (redis_arg_is(word, "KEEPTTL") && o->span_ms == 0) {
            o->keep_ttl = true;
        } else if ((seconds || redis_arg_is(word, "PX")) && i + 1 < c->argc && o->span_ms == 0 && !o->keep_ttl) {
            if (!redis_arg_integer(&c->arg[++i], &o->span_ms)) {
                redis_say_error(c->reply, REDIS_INTEGER_ERROR);
                return false;
            }
            if (o->span_ms <= 0) {
                redis_say_error(c->reply, "ERR invalid expire time in 'set' command");
                return false;
            }
            o->span_ms *= seconds ? 1000 : 1;
        } else {
            redis_say_error(c->reply, REDIS_SYNTAX_ERROR);
            return false;
        }
    }
    return true;
}

void redis_set_string(struct redis_call *c)
{
    struct set_options o;
    if (!read_set_options(c, &o)) return;
    struct redis_object *known = redis_look(c->db, &c->arg[1]);
    if ((o.if_missing && known != NULL) || (o.if_there && known == NULL)) return;
    int64_t expires_ms = o.keep_ttl && known != NULL ? known->expires_ms : 0;
    if (o.span_ms > 0) expires_ms = redis_now_ms(c->db) + o.span_ms;
    redis_delete(c->db, &c->arg[1]); /* whatever it was */
    struct redis_object *object = redis_make(c, 1, REDIS_STRING);
    object->string = redis_text_new(c->arg[2].bytes, c->arg[2].len);
    object->expires_ms = expires_ms;
    redis_say_status(c->reply, "OK");
}

/* ---- lists: as far as a stranger's key needs one ---- */

void redis_lpush(struct redis_call *c)
{
    struct redis_object *object = redis_make(c, 1, REDIS_LIST);
    if (object == NULL) return;
    for (size_t i = 2; i < c->argc; i++) {
        (void)redis_table_append(&object->table, redis_text_new(c->arg[i].bytes, c->arg[i].len));
        struct redis_entry last = object->table.entry[object->table.count - 1];
        memmove(object->table.entry + 1, object->table.entry, (object->table.count - 1) * sizeof last);
        object->table.entry[0] = last;
    }
    redis_say_integer(c->reply, (int64_t)object->table.count);
}

void redis_lrange(struct redis_call *c)
{
    struct redis_object *object;
    int64_t from, to;
    if (!redis_arg_integer(&c->arg[2], &from) || !redis_arg_integer(&c->arg[3], &to)) {
        redis_say_error(c->reply, REDIS_INTEGER_ERROR);
        return;
    }
    if (!redis_get(c, 1, REDIS_LIST, &object)) return;
    int64_t count = object != NULL ? (int64_t)object->table.count : 0;
    from = from < 0 ? from + count : from;
    to = to < 0 ? to + count : to;
    if (from < 0) from = 0;
    if (to >= count) to = count - 1;
    struct redis_reply *child = redis_say_array(c->db, c->reply, to >= from ? (size_t)(to - from + 1) : 0);
    for (size_t i = 0; i < c->reply->count; i++)
        redis_say_text(&child[i], object->table.entry[(size_t)from + i].name);
}

/* ---- sets ---- */

void redis_sadd(struct redis_call *c)
{
    struct redis_object *object = redis_make(c, 1, REDIS_SET);
    if (object == NULL) return;
    size_t before = object->table.count;
    for (size_t i = 2; i < c->argc; i++)
        (void)redis_table_put(&object->table, c->arg[i].bytes, c->arg[i].len);
    redis_say_integer(c->reply, (int64_t)(object->table.count - before));
}

void redis_smembers(struct redis_call *c)
{
    struct redis_object *object;
    if (!redis_get(c, 1, REDIS_SET, &object)) return;
    struct redis_reply *child = redis_say_array(c->db, c->reply, object != NULL ? object->table.count : 0);
    for (size_t i = 0; i < c->reply->count; i++)
        redis_say_text(&child[i], object->table.entry[i].name);
}
