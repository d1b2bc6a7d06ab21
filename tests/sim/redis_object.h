/* SPDX-License-Identifier: MIT */
/*
 * redis_object: the values of the in-memory Redis: string, hash, set, sorted set, stream with its groups, list.
 *
 * Plain data and what keeps it in order; the commands stand in the redis_<type>.c files. An object owns all that it
 * holds. A copy shares the texts and nothing else.
 */
#ifndef SIM_REDIS_OBJECT_H
#define SIM_REDIS_OBJECT_H

#include "tests/sim/redis_table.h"

enum redis_type { REDIS_STRING, REDIS_HASH, REDIS_SET, REDIS_ZSET, REDIS_STREAM, REDIS_LIST };

struct redis_member {
    double score;
    struct redis_text *name;
};

/* By score, then by name. */
struct redis_zset {
    struct redis_member *member;
    size_t count, room;
};

struct redis_stream_id {
    uint64_t ms, seq;
};

struct redis_stream_entry {
    struct redis_stream_id id;
    size_t count;             /* of texts: fields and values in turn */
    struct redis_text **text; /* owned */
};

struct redis_pending {
    struct redis_stream_id id;
    struct redis_text *consumer;
    int64_t delivered_ms;
    int64_t times;
};

struct redis_group {
    struct redis_text *name;
    struct redis_stream_id last;
    struct redis_pending *pending; /* by id */
    size_t count, room;
    struct redis_table consumers; /* values: when it was last seen, int64_t * */
};

struct redis_stream {
    struct redis_stream_entry *entry; /* by id */
    size_t count, room;
    struct redis_stream_id last;
    struct redis_group *group;
    size_t group_count;
};

struct redis_object {
    enum redis_type type;
    int64_t expires_ms; /* 0: never */
    union {
        struct redis_text *string;
        struct redis_table table; /* hash: values are texts; set and list: none */
        struct redis_zset zset;
        struct redis_stream stream;
    };
};

struct redis_object *redis_object_new(enum redis_type type);
struct redis_object *redis_object_copy(const struct redis_object *object);
void redis_object_free(struct redis_object **object);
/* As TYPE and OBJECT ENCODING name it. */
const char *redis_object_type_name(const struct redis_object *object);
const char *redis_object_encoding(const struct redis_object *object);
/* Redis deletes what has become empty; a stream may be empty. */
bool redis_object_is_empty(const struct redis_object *object);

/* Sorted sets. True if it was not there; the score may be NULL for a plain look. */
bool redis_zset_find(const struct redis_zset *zset, const void *bytes, size_t len, size_t *at);
bool redis_zset_put(struct redis_zset *zset, const void *bytes, size_t len, double score);
void redis_zset_remove(struct redis_zset *zset, size_t at);

/* Streams. */
int redis_stream_id_compare(struct redis_stream_id a, struct redis_stream_id b);
/* The first entry that is not before id. */
size_t redis_stream_from(const struct redis_stream *stream, struct redis_stream_id id);
struct redis_stream_entry *redis_stream_find(const struct redis_stream *stream, struct redis_stream_id id);
/* At the end; its texts are the caller's to fill. */
struct redis_stream_entry *redis_stream_append(struct redis_stream *stream, struct redis_stream_id id, size_t texts);
void redis_stream_remove(struct redis_stream *stream, size_t from, size_t count);
struct redis_group *redis_group_find(struct redis_stream *stream, const void *bytes, size_t len);
void redis_group_remove(struct redis_stream *stream, struct redis_group *group);
/* Where the id is pending, or where it would be. */
size_t redis_pending_from(const struct redis_group *group, struct redis_stream_id id);
struct redis_pending *redis_pending_find(struct redis_group *group, struct redis_stream_id id);
struct redis_pending *redis_pending_put(struct redis_group *group, struct redis_stream_id id);
void redis_pending_remove(struct redis_group *group, struct redis_pending *pending);

#endif
