/* SPDX-License-Identifier: MIT */
/* Commands about streams without groups. */
#include "tests/sim/redis_commands.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NODE_ENTRIES 100 /* stream-node-max-entries: what MAXLEN ~ drops at once */

static const struct redis_stream_id id_max = {UINT64_MAX, UINT64_MAX};

bool redis_stream_id_read(struct redis_call *c, const struct redis_arg *arg, uint64_t missing_seq,
                          struct redis_stream_id *out)
{
    char text[48], *end = text;
    bool good = arg->len > 0 && arg->len < sizeof text;
    if (good && arg->len == 1 && (arg->bytes[0] == '-' || arg->bytes[0] == '+')) {
        *out = arg->bytes[0] == '-' ? (struct redis_stream_id){0, 0} : id_max;
        return true;
    }
    memcpy(text, arg->bytes, good ? arg->len : 0);
    text[good ? arg->len : 0] = '\0';
    good = good && strspn(text, "0123456789-") == arg->len && text[0] != '-';
    out->ms = strtoull(text, &end, 10);
    out->seq = missing_seq;
    if (good && *end == '-') {
        const char *seq = end + 1;
        out->seq = strtoull(seq, &end, 10);
        good = end != seq;
    }
    if (good && *end == '\0') return true;
    redis_say_error(c->reply, "ERR Invalid stream ID specified as stream command argument");
    return false;
}

void redis_say_stream_id(struct redis_db *db, struct redis_reply *reply, struct redis_stream_id id)
{
    redis_say_format(db, reply, "%" PRIu64 "-%" PRIu64, id.ms, id.seq);
}

void redis_say_stream_entry(struct redis_db *db, struct redis_reply *reply, struct redis_stream_id id,
                            const struct redis_stream_entry *entry)
{
    struct redis_reply *child = redis_say_array(db, reply, 2);
    redis_say_stream_id(db, &child[0], id);
    if (entry == NULL) return;
    struct redis_reply *text = redis_say_array(db, &child[1], entry->count);
    for (size_t i = 0; i < entry->count; i++)
        redis_say_text(&text[i], entry->text[i]);
}

/* ---- XADD ---- */

struct add_options {
    bool make, exact, trims;
    int64_t keep;
    size_t id; /* its argument */
};

static bool read_add_options(struct redis_call *c, struct add_options *o)
{
    *o = (struct add_options){.make = true, .exact = true, .id = 2};
    for (; o->id < c->argc; o->id++) {
        const struct redis_arg *word = &c->arg[o->id];
        if (redis_arg_is(word, "NOMKSTREAM")) {
            o->make = false;
        } else if (redis_arg_is(word, "MAXLEN") && o->id + 2 < c->argc) {
            const struct redis_arg *next = &c->arg[o->id + 1];
            bool sign = next->len == 1 && (next->bytes[0] == '~' || next->bytes[0] == '=');
            o->exact = !(sign && next->bytes[0] == '~');
            o->id += sign ? 2 : 1;
            o->trims = true;
            if (redis_arg_integer(&c->arg[o->id], &o->keep) && o->keep >= 0) continue;
            redis_say_error(c->reply, REDIS_INTEGER_ERROR);
            return false;
        } else {
            break;
        }
    }
    if (o->id + 2 < c->argc && (c->argc - o->id) % 2 == 1) return true;
    redis_say_error(c->reply, "ERR wrong number of arguments for 'xadd' command");
    return false;
}

static bool next_id(struct redis_call *c, const struct redis_arg *arg, struct redis_stream_id last,
                    struct redis_stream_id *out)
{
    if (arg->len == 1 && arg->bytes[0] == '*') {
        uint64_t now = (uint64_t)redis_now_ms(c->db);
        *out = now > last.ms ? (struct redis_stream_id){now, 0} : (struct redis_stream_id){last.ms, last.seq + 1};
        return true;
    }
    bool any_seq = arg->len > 2 && memcmp(arg->bytes + arg->len - 2, "-*", 2) == 0;
    const struct redis_arg given = {arg->bytes, any_seq ? arg->len - 2 : arg->len};
    if (!redis_stream_id_read(c, &given, 0, out)) return false;
    if (any_seq) out->seq = out->ms == last.ms ? last.seq + 1 : 0;
    if (!any_seq && out->ms == 0 && out->seq == 0) {
        redis_say_error(c->reply, "ERR The ID specified in XADD must be greater than 0-0");
        return false;
    }
    if (redis_stream_id_compare(*out, last) > 0) return true;
    redis_say_error(c->reply, "ERR The ID specified in XADD is equal or smaller than the target stream top item");
    return false;
}

static void trim(struct redis_stream *stream, const struct add_options *o)
{
    size_t keep = (size_t)o->keep;
    if (!o->trims) return;
    if (o->exact && stream->count > keep) redis_stream_remove(stream, 0, stream->count - keep);
    while (!o->exact && stream->count >= keep + NODE_ENTRIES)
        redis_stream_remove(stream, 0, NODE_ENTRIES);
}

void redis_xadd(struct redis_call *c)
{
    struct add_options o;
    struct redis_object *object;
    struct redis_stream_id id, last = {0, 0};
    if (!read_add_options(c, &o) || !redis_get(c, 1, REDIS_STREAM, &object)) return;
    if (object != NULL) last = object->stream.last;
    if (!next_id(c, &c->arg[o.id], last, &id) || (object == NULL && !o.make)) return;
    object = redis_make(c, 1, REDIS_STREAM);
    struct redis_stream_entry *entry = redis_stream_append(&object->stream, id, c->argc - o.id - 1);
    for (size_t i = 0; i < entry->count; i++)
        entry->text[i] = redis_text_new(c->arg[o.id + 1 + i].bytes, c->arg[o.id + 1 + i].len);
    trim(&object->stream, &o);
    redis_say_stream_id(c->db, c->reply, id);
}

/* ---- looking ---- */

void redis_xlen(struct redis_call *c)
{
    struct redis_object *object;
    if (redis_get(c, 1, REDIS_STREAM, &object))
        redis_say_integer(c->reply, object != NULL ? (int64_t)object->stream.count : 0);
}

static bool read_id_bound(struct redis_call *c, size_t arg, bool is_max, struct redis_stream_id *out)
{
    struct redis_arg bound = c->arg[arg];
    bool exclusive = bound.len > 0 && bound.bytes[0] == '(';
    bound.bytes += exclusive;
    bound.len -= exclusive;
    if (!redis_stream_id_read(c, &bound, is_max ? UINT64_MAX : 0, out)) return false;
    if (exclusive && is_max && out->ms == 0 && out->seq == 0) {
        redis_say_error(c->reply, "ERR invalid end ID for the interval");
        return false;
    }
    if (exclusive && is_max)
        *out = out->seq > 0 ? (struct redis_stream_id){out->ms, out->seq - 1}
                            : (struct redis_stream_id){out->ms - 1, UINT64_MAX};
    if (exclusive && !is_max) out->seq++; /* nobody's id ends with the largest number */
    return true;
}

static bool read_count(struct redis_call *c, size_t from, int64_t *count)
{
    *count = -1;
    if (c->argc == from) return true;
    if (c->argc != from + 2 || !redis_arg_is(&c->arg[from], "COUNT")) {
        redis_say_error(c->reply, REDIS_SYNTAX_ERROR);
        return false;
    }
    if (redis_arg_integer(&c->arg[from + 1], count)) return true;
    redis_say_error(c->reply, REDIS_INTEGER_ERROR);
    return false;
}

static void say_range(struct redis_call *c, size_t low, size_t high, bool backwards)
{
    struct redis_object *object;
    struct redis_stream_id from, to;
    int64_t max;
    if (!read_id_bound(c, low, false, &from) || !read_id_bound(c, high, true, &to) || !read_count(c, 4, &max)) return;
    if (!redis_get(c, 1, REDIS_STREAM, &object)) return;
    if (max == 0) return; /* nil, as Redis answers */
    size_t first = object != NULL ? redis_stream_from(&object->stream, from) : 0, end = first;
    while (object != NULL && end < object->stream.count &&
           redis_stream_id_compare(object->stream.entry[end].id, to) <= 0)
        end++;
    size_t count = end - first;
    if (max > 0 && count > (size_t)max) count = (size_t)max;
    struct redis_reply *child = redis_say_array(c->db, c->reply, count);
    for (size_t i = 0; i < count; i++) {
        const struct redis_stream_entry *entry = &object->stream.entry[backwards ? end - 1 - i : first + i];
        redis_say_stream_entry(c->db, &child[i], entry->id, entry);
    }
}

void redis_xrange(struct redis_call *c)
{
    say_range(c, 2, 3, false);
}

void redis_xrevrange(struct redis_call *c)
{
    say_range(c, 3, 2, true);
}

void redis_xdel(struct redis_call *c)
{
    struct redis_object *object;
    struct redis_stream_id id;
    int64_t gone = 0;
    if (!redis_get(c, 1, REDIS_STREAM, &object)) return;
    for (size_t i = 2; i < c->argc; i++)
        if (!redis_stream_id_read(c, &c->arg[i], 0, &id)) return;
    for (size_t i = 2; object != NULL && i < c->argc; i++) {
        (void)redis_stream_id_read(c, &c->arg[i], 0, &id);
        struct redis_stream_entry *entry = redis_stream_find(&object->stream, id);
        if (entry == NULL) continue;
        redis_stream_remove(&object->stream, (size_t)(entry - object->stream.entry), 1);
        gone++;
    }
    if (gone > 0) redis_written(c, 1);
    redis_say_integer(c->reply, gone);
}

/* XREAD [COUNT n] [BLOCK ms] STREAMS key id: one stream. Blocking is the caller's. */
void redis_xread(struct redis_call *c)
{
    struct redis_object *object;
    struct redis_stream_id after;
    int64_t max = -1;
    size_t at = 1;
    for (; at + 1 < c->argc && !redis_arg_is(&c->arg[at], "STREAMS"); at += 2) {
        if (redis_arg_is(&c->arg[at], "COUNT") && !redis_arg_integer(&c->arg[at + 1], &max)) {
            redis_say_error(c->reply, REDIS_INTEGER_ERROR);
            return;
        }
    }
    if (at + 3 != c->argc) {
        redis_say_error(c->reply, REDIS_UNBALANCED_ERROR);
        return;
    }
    bool newest = c->arg[at + 2].len == 1 && c->arg[at + 2].bytes[0] == '$';
    if (!redis_get(c, at + 1, REDIS_STREAM, &object) || object == NULL || newest) return;
    if (!redis_stream_id_read(c, &c->arg[at + 2], 0, &after)) return;
    size_t first = redis_stream_from(&object->stream, after);
    if (first < object->stream.count && redis_stream_id_compare(object->stream.entry[first].id, after) == 0) first++;
    size_t count = object->stream.count - first;
    if (max > 0 && count > (size_t)max) count = (size_t)max;
    if (count == 0) return;
    struct redis_reply *stream = redis_say_array(c->db, redis_say_array(c->db, c->reply, 1), 2);
    redis_say_bytes(c->db, &stream[0], c->arg[at + 1].bytes, c->arg[at + 1].len);
    struct redis_reply *child = redis_say_array(c->db, &stream[1], count);
    for (size_t i = 0; i < count; i++)
        redis_say_stream_entry(c->db, &child[i], object->stream.entry[first + i].id, &object->stream.entry[first + i]);
}
