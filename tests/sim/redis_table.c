/* SPDX-License-Identifier: MIT */
#include "tests/sim/redis_table.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/die.h"

struct redis_text *redis_text_new(const void *bytes, size_t len)
{
    struct redis_text *text = xmalloc(sizeof *text + len + 1);
    text->refs = 1;
    text->len = (uint32_t)len;
    if (len > 0) memcpy(text->bytes, bytes, len);
    text->bytes[len] = '\0';
    return text;
}

struct redis_text *redis_text_keep(struct redis_text *text)
{
    text->refs++;
    return text;
}

void redis_text_drop(struct redis_text *text)
{
    if (text != NULL && --text->refs == 0) free(text);
}

bool redis_text_is(const struct redis_text *text, const void *bytes, size_t len)
{
    return text->len == len && memcmp(text->bytes, bytes, len) == 0;
}

int redis_text_compare(const struct redis_text *text, const void *bytes, size_t len)
{
    size_t both = text->len < len ? text->len : len;
    int order = memcmp(text->bytes, bytes, both);
    if (order != 0 || text->len == len) return order;
    return text->len < len ? -1 : 1;
}

static uint32_t hash_of(const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ at[i]) * 16777619u;
    return hash;
}

void redis_table_fini(struct redis_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        redis_text_drop(table->entry[i].name);
    free(table->entry);
    free(table->index);
    memset(table, 0, sizeof *table);
}

/* ---- the index of a large table ---- */

static uint32_t *index_place(const struct redis_table *table, uint32_t hash, size_t wanted)
{
    size_t at = hash & (table->index_size - 1);
    while (table->index[at] != 0 && table->index[at] != wanted + 1)
        at = (at + 1) & (table->index_size - 1);
    return &table->index[at];
}

static void index_build(struct redis_table *table)
{
    free(table->index);
    table->index = NULL;
    if (table->count <= REDIS_TABLE_ORDERED) return;
    table->index_size = 512;
    while (table->index_size < table->count * 4)
        table->index_size *= 2;
    table->index = xcalloc(table->index_size, sizeof *table->index);
    for (size_t i = 0; i < table->count; i++)
        *index_place(table, table->entry[i].hash, i) = (uint32_t)i + 1;
}

static struct redis_entry *find_indexed(const struct redis_table *table, uint32_t hash, const void *bytes, size_t len)
{
    size_t at = hash & (table->index_size - 1);
    for (; table->index[at] != 0; at = (at + 1) & (table->index_size - 1)) {
        struct redis_entry *entry = &table->entry[table->index[at] - 1];
        if (entry->hash == hash && redis_text_is(entry->name, bytes, len)) return entry;
    }
    return NULL;
}

/* Takes the place out of its chain; what stands behind it in the chain is put in anew. */
static void index_remove(struct redis_table *table, size_t gone)
{
    uint32_t *slot = index_place(table, table->entry[gone].hash, gone);
    size_t at = (size_t)(slot - table->index);
    *slot = 0;
    for (at = (at + 1) & (table->index_size - 1); table->index[at] != 0; at = (at + 1) & (table->index_size - 1)) {
        size_t place = table->index[at] - 1;
        table->index[at] = 0;
        *index_place(table, table->entry[place].hash, place) = (uint32_t)place + 1;
    }
}

/* ---- the table ---- */

static struct redis_entry *find(const struct redis_table *table, uint32_t hash, const void *bytes, size_t len)
{
    if (table->index != NULL) return find_indexed(table, hash, bytes, len);
    for (size_t i = 0; i < table->count; i++) {
        struct redis_entry *entry = &table->entry[i];
        if (entry->hash == hash && redis_text_is(entry->name, bytes, len)) return entry;
    }
    return NULL;
}

static struct redis_entry *append(struct redis_table *table, uint32_t hash, struct redis_text *own_name)
{
    if (table->count == table->room) {
        table->room = table->room ? table->room * 2 : 8;
        table->entry = xrealloc_array(table->entry, table->room, sizeof *table->entry);
    }
    struct redis_entry *entry = &table->entry[table->count++];
    *entry = (struct redis_entry){.name = own_name, .hash = hash};
    if (table->index != NULL && table->count * 2 < table->index_size)
        *index_place(table, hash, table->count - 1) = (uint32_t)table->count;
    else
        index_build(table);
    return entry;
}

struct redis_entry *redis_table_find(const struct redis_table *table, const void *bytes, size_t len)
{
    return table->count > 0 ? find(table, hash_of(bytes, len), bytes, len) : NULL;
}

struct redis_entry *redis_table_put(struct redis_table *table, const void *bytes, size_t len)
{
    uint32_t hash = hash_of(bytes, len);
    struct redis_entry *entry = find(table, hash, bytes, len);
    return entry != NULL ? entry : append(table, hash, redis_text_new(bytes, len));
}

struct redis_entry *redis_table_append(struct redis_table *table, struct redis_text *own_name)
{
    return append(table, hash_of(own_name->bytes, own_name->len), own_name);
}

void redis_table_remove(struct redis_table *table, struct redis_entry *entry)
{
    size_t at = (size_t)(entry - table->entry);
    size_t last = table->count - 1;
    redis_text_drop(entry->name);
    if (table->index == NULL) {
        memmove(entry, entry + 1, (last - at) * sizeof *entry);
        table->count--;
        return;
    }
    index_remove(table, at);
    if (at != last) {
        index_remove(table, last);
        table->entry[at] = table->entry[last];
        *index_place(table, table->entry[at].hash, at) = (uint32_t)at + 1;
    }
    table->count--;
    if (table->count <= REDIS_TABLE_ORDERED) index_build(table);
}
