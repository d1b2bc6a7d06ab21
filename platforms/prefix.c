/* SPDX-License-Identifier: MIT */
#include "platforms/prefix.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/die.h"

void prefix_init(struct prefix_table *table)
{
    memset(table, 0, sizeof *table);
}

void prefix_fini(struct prefix_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->items[i].text);
    free(table->items);
    prefix_init(table);
}

void prefix_add(struct prefix_table *table, const char *text, size_t len, uint32_t slot)
{
    if (table->count == table->capacity) {
        table->capacity = table->capacity == 0 ? 64 : 2 * table->capacity;
        table->items = xrealloc_array(table->items, table->capacity, sizeof *table->items);
    }
    table->items[table->count++] = (struct prefix_item){xstrndup(text, len), slot};
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct prefix_item *)a)->text, ((const struct prefix_item *)b)->text);
}

void prefix_sort(struct prefix_table *table)
{
    if (table->count > 1) qsort(table->items, table->count, sizeof *table->items, compare);
}

/* The first item that lies behind all that begin with start (behind = true), or at their begin. */
static size_t edge(const struct prefix_table *table, const char *start, size_t len, int behind)
{
    size_t low = 0;
    size_t high = table->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (strncmp(table->items[middle].text, start, len) < behind)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t prefix_find(const struct prefix_table *table, const char *start, size_t len, size_t *count)
{
    size_t first = edge(table, start, len, 0);
    const size_t end = edge(table, start, len, 1);
    while (first < end && table->items[first].text[len] == '\0') /* not longer: these are the string itself */
        first++;
    *count = end - first;
    return first;
}
