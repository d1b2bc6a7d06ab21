/* SPDX-License-Identifier: MIT */
/*
 * seen: a set of texts, kept as hashes of 8 bytes, with a small number for each.
 *
 * For ids and cursors of a walk: two different ids of 200,000 share a hash once in about 10^9 walks.
 */
#ifndef LANDFALL_PLATFORMS_SEEN_H
#define LANDFALL_PLATFORMS_SEEN_H

#include <stddef.h>
#include <stdint.h>

struct seen_item {
    uint64_t hash; /* never 0: an empty place */
    uint64_t number;
};

struct seen {
    struct seen_item *items;
    size_t count;
    size_t capacity; /* a power of two */
};

void seen_init(struct seen *seen);
void seen_fini(struct seen *seen);

uint64_t seen_hash(const char *text, size_t len);

/* Sets the number (not 0) of a hash and gives the one that it had; 0: it was not there. */
uint64_t seen_put(struct seen *seen, uint64_t hash, uint64_t number);

#endif
