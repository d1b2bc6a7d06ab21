/* SPDX-License-Identifier: MIT */
#include "platforms/seen.h"

#include <stdlib.h>
#include <string.h>

#include "keys/hash.h"
#include "runtime/die.h"

void seen_init(struct seen *seen)
{
    memset(seen, 0, sizeof *seen);
}

void seen_fini(struct seen *seen)
{
    free(seen->items);
    seen_init(seen);
}

uint64_t seen_hash(const char *text, size_t len)
{
    unsigned char digest[HASH_BYTES];
    uint64_t hash = 0;
    hash_bytes(text, len, digest);
    memcpy(&hash, digest, sizeof hash);
    return hash != 0 ? hash : 1;
}

static struct seen_item *place_of(const struct seen *seen, uint64_t hash)
{
    size_t at = hash & (seen->capacity - 1);
    while (seen->items[at].hash != 0 && seen->items[at].hash != hash)
        at = (at + 1) & (seen->capacity - 1);
    return &seen->items[at];
}

/* At most half of the places are taken, so that a search ends soon. */
static void grow(struct seen *seen)
{
    struct seen old = *seen;
    seen->capacity = old.capacity == 0 ? 256 : 2 * old.capacity;
    seen->items = xcalloc(seen->capacity, sizeof *seen->items);
    for (size_t i = 0; i < old.capacity; i++)
        if (old.items[i].hash != 0) *place_of(seen, old.items[i].hash) = old.items[i];
    free(old.items);
}

uint64_t seen_put(struct seen *seen, uint64_t hash, uint64_t number)
{
    if (2 * (seen->count + 1) > seen->capacity) grow(seen);
    struct seen_item *item = place_of(seen, hash);
    const uint64_t before = item->number;
    if (item->hash == 0) seen->count++;
    *item = (struct seen_item){hash, number};
    return before;
}
