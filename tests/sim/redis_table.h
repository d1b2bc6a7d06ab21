/* SPDX-License-Identifier: MIT */
/*
 * redis_table: what the in-memory Redis is made of: counted text, and an ordered map from text to anything.
 *
 * A text is immutable and counted, so that a snapshot shares it with the live data. A table keeps the order of
 * insertion, as Redis keeps it in small hashes, up to REDIS_TABLE_ORDERED entries; a larger one finds its entries
 * through an index, and removing one moves the last into its place. Values belong to whoever puts them in.
 * One thread; out of memory ends the process.
 */
#ifndef SIM_REDIS_TABLE_H
#define SIM_REDIS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REDIS_TABLE_ORDERED 128

struct redis_text {
    uint32_t refs;
    uint32_t len;
    char bytes[]; /* and a NUL */
};

struct redis_text *redis_text_new(const void *bytes, size_t len);
struct redis_text *redis_text_keep(struct redis_text *text); /* one more owner; gives it back */
void redis_text_drop(struct redis_text *text);               /* NULL is allowed */
bool redis_text_is(const struct redis_text *text, const void *bytes, size_t len);
/* As memcmp, a prefix before what it is the beginning of. */
int redis_text_compare(const struct redis_text *text, const void *bytes, size_t len);

struct redis_entry {
    struct redis_text *name;
    void *value;
    uint32_t hash;
};

struct redis_table {
    struct redis_entry *entry;
    size_t count, room;
    uint32_t *index; /* NULL while the table is small; place + 1, 0 is free */
    size_t index_size;
};

void redis_table_fini(struct redis_table *table); /* drops the names; values are the caller's */
struct redis_entry *redis_table_find(const struct redis_table *table, const void *bytes, size_t len);
/* Finds it, or adds it with a NULL value. */
struct redis_entry *redis_table_put(struct redis_table *table, const void *bytes, size_t len);
/* Adds an entry at the end without looking whether the name is there. */
struct redis_entry *redis_table_append(struct redis_table *table, struct redis_text *own_name);
void redis_table_remove(struct redis_table *table, struct redis_entry *entry);

#endif
