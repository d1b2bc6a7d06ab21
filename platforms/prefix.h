/* SPDX-License-Identifier: MIT */
/*
 * prefix: which of many strings begin with a given one. For texts and links that a platform cut short.
 *
 * Strings are added, then prefix_sort() is called once, then they are searched. The table owns copies of the strings.
 */
#ifndef LANDFALL_PLATFORMS_PREFIX_H
#define LANDFALL_PLATFORMS_PREFIX_H

#include <stddef.h>
#include <stdint.h>

struct prefix_item {
    char *text;
    uint32_t slot; /* the caller's */
};

struct prefix_table {
    struct prefix_item *items;
    size_t count;
    size_t capacity;
};

void prefix_init(struct prefix_table *table);
void prefix_fini(struct prefix_table *table);

/* Keeps a copy of the first len bytes. */
void prefix_add(struct prefix_table *table, const char *text, size_t len, uint32_t slot);
void prefix_sort(struct prefix_table *table);

/* The items that begin with the len bytes of start and are longer: `*count` of them from the index given back on. */
size_t prefix_find(const struct prefix_table *table, const char *start, size_t len, size_t *count);

#endif
