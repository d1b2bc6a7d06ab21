/* SPDX-License-Identifier: MIT */
#include "tests/sim/redis_object.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/die.h"

#define COMPACT_VALUE_BYTES 64 /* hash-max-listpack-value */

struct redis_object *redis_object_new(enum redis_type type)
{
    struct redis_object *object = xcalloc(1, sizeof *object);
    object->type = type;
    return object;
}

/* ---- freeing ---- */

static void table_values_drop(struct redis_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        redis_text_drop(table->entry[i].value);
}

static void group_fini(struct redis_group *group)
{
    redis_text_drop(group->name);
    for (size_t i = 0; i < group->count; i++)
        redis_text_drop(group->pending[i].consumer);
    free(group->pending);
    for (size_t i = 0; i < group->consumers.count; i++)
        free(group->consumers.entry[i].value);
    redis_table_fini(&group->consumers);
}

static void entry_fini(struct redis_stream_entry *entry)
{
    for (size_t i = 0; i < entry->count; i++)
        redis_text_drop(entry->text[i]);
    free(entry->text);
}

static void stream_fini(struct redis_stream *stream)
{
    for (size_t i = 0; i < stream->count; i++)
        entry_fini(&stream->entry[i]);
    free(stream->entry);
    for (size_t i = 0; i < stream->group_count; i++)
        group_fini(&stream->group[i]);
    free(stream->group);
}

static void zset_fini(struct redis_zset *zset)
{
    for (size_t i = 0; i < zset->count; i++)
        redis_text_drop(zset->member[i].name);
    free(zset->member);
}

void redis_object_free(struct redis_object **own_object)
{
    struct redis_object *object = *own_object;
    *own_object = NULL;
    if (object == NULL) return;
    switch (object->type) {
    case REDIS_STRING: redis_text_drop(object->string); break;
    case REDIS_HASH:
        table_values_drop(&object->table);
        redis_table_fini(&object->table);
        break;
    case REDIS_SET:
    case REDIS_LIST: redis_table_fini(&object->table); break;
    case REDIS_ZSET: zset_fini(&object->zset); break;
    case REDIS_STREAM: stream_fini(&object->stream); break;
    }
    free(object);
}

/* ---- copying ---- */

static void *copy_array(const void *from, size_t count, size_t size)
{
    void *to = count > 0 ? xrealloc_array(NULL, count, size) : NULL;
    if (count > 0) memcpy(to, from, count * size);
    return to;
}

static void table_copy(struct redis_table *to, const struct redis_table *from, bool has_values)
{
    memset(to, 0, sizeof *to);
    for (size_t i = 0; i < from->count; i++) {
        struct redis_entry *entry = redis_table_append(to, redis_text_keep(from->entry[i].name));
        if (has_values) entry->value = redis_text_keep(from->entry[i].value);
    }
}

static void zset_copy(struct redis_zset *to, const struct redis_zset *from)
{
    *to = (struct redis_zset){copy_array(from->member, from->count, sizeof *from->member), from->count, from->count};
    for (size_t i = 0; i < to->count; i++)
        redis_text_keep(to->member[i].name);
}

static void group_copy(struct redis_group *to, const struct redis_group *from)
{
    *to = *from;
    redis_text_keep(to->name);
    to->pending = copy_array(from->pending, from->count, sizeof *from->pending);
    to->room = to->count;
    for (size_t i = 0; i < to->count; i++)
        redis_text_keep(to->pending[i].consumer);
    table_copy(&to->consumers, &from->consumers, false);
    for (size_t i = 0; i < to->consumers.count; i++)
        to->consumers.entry[i].value = copy_array(from->consumers.entry[i].value, 1, sizeof(int64_t));
}

static void stream_copy(struct redis_stream *to, const struct redis_stream *from)
{
    *to = *from;
    to->entry = copy_array(from->entry, from->count, sizeof *from->entry);
    to->room = to->count;
    for (size_t i = 0; i < to->count; i++) {
        to->entry[i].text = copy_array(from->entry[i].text, from->entry[i].count, sizeof *from->entry[i].text);
        for (size_t n = 0; n < to->entry[i].count; n++)
            redis_text_keep(to->entry[i].text[n]);
    }
    to->group = copy_array(from->group, from->group_count, sizeof *from->group);
    for (size_t i = 0; i < to->group_count; i++)
        group_copy(&to->group[i], &from->group[i]);
}

struct redis_object *redis_object_copy(const struct redis_object *object)
{
    struct redis_object *copy = redis_object_new(object->type);
    copy->expires_ms = object->expires_ms;
    switch (object->type) {
    case REDIS_STRING: copy->string = redis_text_keep(object->string); break;
    case REDIS_HASH: table_copy(&copy->table, &object->table, true); break;
    case REDIS_SET:
    case REDIS_LIST: table_copy(&copy->table, &object->table, false); break;
    case REDIS_ZSET: zset_copy(&copy->zset, &object->zset); break;
    case REDIS_STREAM: stream_copy(&copy->stream, &object->stream); break;
    }
    return copy;
}

/* ---- what it is ---- */

const char *redis_object_type_name(const struct redis_object *object)
{
    static const char *const names[] = {"string", "hash", "set", "zset", "stream", "list"};
    return names[object->type];
}

static bool is_compact(const struct redis_table *table)
{
    if (table->count > REDIS_TABLE_ORDERED) return false;
    for (size_t i = 0; i < table->count; i++) {
        const struct redis_text *value = table->entry[i].value;
        if (table->entry[i].name->len > COMPACT_VALUE_BYTES || value->len > COMPACT_VALUE_BYTES) return false;
    }
    return true;
}

const char *redis_object_encoding(const struct redis_object *object)
{
    switch (object->type) {
    case REDIS_STRING: return object->string->len <= 44 ? "embstr" : "raw";
    case REDIS_HASH: return is_compact(&object->table) ? "listpack" : "hashtable";
    case REDIS_SET: return "hashtable";
    case REDIS_ZSET: return object->zset.count <= REDIS_TABLE_ORDERED ? "listpack" : "skiplist";
    case REDIS_STREAM: return "stream";
    case REDIS_LIST: break;
    }
    return "quicklist";
}

bool redis_object_is_empty(const struct redis_object *object)
{
    switch (object->type) {
    case REDIS_HASH:
    case REDIS_SET:
    case REDIS_LIST: return object->table.count == 0;
    case REDIS_ZSET: return object->zset.count == 0;
    case REDIS_STRING:
    case REDIS_STREAM: break;
    }
    return false;
}

/* ---- sorted sets ---- */

bool redis_zset_find(const struct redis_zset *zset, const void *bytes, size_t len, size_t *at)
{
    for (size_t i = 0; i < zset->count; i++) {
        if (!redis_text_is(zset->member[i].name, bytes, len)) continue;
        *at = i;
        return true;
    }
    return false;
}

static size_t zset_place(const struct redis_zset *zset, double score, const struct redis_text *name)
{
    size_t low = 0, high = zset->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct redis_member *m = &zset->member[middle];
        bool before =
            m->score < score || (m->score == score && redis_text_compare(m->name, name->bytes, name->len) < 0);
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void zset_insert(struct redis_zset *zset, struct redis_text *own_name, double score)
{
    if (zset->count == zset->room) {
        zset->room = zset->room ? zset->room * 2 : 8;
        zset->member = xrealloc_array(zset->member, zset->room, sizeof *zset->member);
    }
    size_t at = zset_place(zset, score, own_name);
    memmove(&zset->member[at + 1], &zset->member[at], (zset->count - at) * sizeof *zset->member);
    zset->member[at] = (struct redis_member){score, own_name};
    zset->count++;
}

static struct redis_text *zset_take(struct redis_zset *zset, size_t at)
{
    struct redis_text *name = zset->member[at].name;
    zset->count--;
    memmove(&zset->member[at], &zset->member[at + 1], (zset->count - at) * sizeof *zset->member);
    return name;
}

bool redis_zset_put(struct redis_zset *zset, const void *bytes, size_t len, double score)
{
    size_t at;
    bool known = redis_zset_find(zset, bytes, len, &at);
    if (known && zset->member[at].score == score) return false;
    zset_insert(zset, known ? zset_take(zset, at) : redis_text_new(bytes, len), score);
    return !known;
}

void redis_zset_remove(struct redis_zset *zset, size_t at)
{
    redis_text_drop(zset_take(zset, at));
}

/* ---- streams ---- */

int redis_stream_id_compare(struct redis_stream_id a, struct redis_stream_id b)
{
    if (a.ms != b.ms) return a.ms < b.ms ? -1 : 1;
    return a.seq < b.seq ? -1 : a.seq > b.seq;
}

size_t redis_stream_from(const struct redis_stream *stream, struct redis_stream_id id)
{
    size_t low = 0, high = stream->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (redis_stream_id_compare(stream->entry[middle].id, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct redis_stream_entry *redis_stream_find(const struct redis_stream *stream, struct redis_stream_id id)
{
    size_t at = redis_stream_from(stream, id);
    bool there = at < stream->count && redis_stream_id_compare(stream->entry[at].id, id) == 0;
    return there ? &stream->entry[at] : NULL;
}

struct redis_stream_entry *redis_stream_append(struct redis_stream *stream, struct redis_stream_id id, size_t texts)
{
    if (stream->count == stream->room) {
        stream->room = stream->room ? stream->room * 2 : 8;
        stream->entry = xrealloc_array(stream->entry, stream->room, sizeof *stream->entry);
    }
    struct redis_stream_entry *entry = &stream->entry[stream->count++];
    *entry = (struct redis_stream_entry){id, texts, xcalloc(texts ? texts : 1, sizeof(struct redis_text *))};
    stream->last = id;
    return entry;
}

void redis_stream_remove(struct redis_stream *stream, size_t from, size_t count)
{
    for (size_t i = from; i < from + count; i++)
        entry_fini(&stream->entry[i]);
    stream->count -= count;
    memmove(&stream->entry[from], &stream->entry[from + count], (stream->count - from) * sizeof *stream->entry);
}

struct redis_group *redis_group_find(struct redis_stream *stream, const void *bytes, size_t len)
{
    for (size_t i = 0; i < stream->group_count; i++)
        if (redis_text_is(stream->group[i].name, bytes, len)) return &stream->group[i];
    return NULL;
}

void redis_group_remove(struct redis_stream *stream, struct redis_group *group)
{
    group_fini(group);
    size_t at = (size_t)(group - stream->group);
    stream->group_count--;
    memmove(group, group + 1, (stream->group_count - at) * sizeof *group);
}

size_t redis_pending_from(const struct redis_group *group, struct redis_stream_id id)
{
    size_t at = 0;
    while (at < group->count && redis_stream_id_compare(group->pending[at].id, id) < 0)
        at++;
    return at;
}

struct redis_pending *redis_pending_find(struct redis_group *group, struct redis_stream_id id)
{
    size_t at = redis_pending_from(group, id);
    bool there = at < group->count && redis_stream_id_compare(group->pending[at].id, id) == 0;
    return there ? &group->pending[at] : NULL;
}

struct redis_pending *redis_pending_put(struct redis_group *group, struct redis_stream_id id)
{
    size_t at = redis_pending_from(group, id);
    if (group->count == group->room) {
        group->room = group->room ? group->room * 2 : 8;
        group->pending = xrealloc_array(group->pending, group->room, sizeof *group->pending);
    }
    memmove(&group->pending[at + 1], &group->pending[at], (group->count - at) * sizeof *group->pending);
    group->count++;
    group->pending[at] = (struct redis_pending){.id = id};
    return &group->pending[at];
}

void redis_pending_remove(struct redis_group *group, struct redis_pending *pending)
{
    redis_text_drop(pending->consumer);
    size_t at = (size_t)(pending - group->pending);
    group->count--;
    memmove(pending, pending + 1, (group->count - at) * sizeof *pending);
}
