/* SPDX-License-Identifier: MIT */
#include "worker/tally.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "keys/hash.h"
#include "runtime/die.h"

#define TALLY_SIZE_FIRST 1024

void tally_init(struct tally *t, bool remember)
{
    memset(t, 0, sizeof *t);
    t->remember = remember;
    if (remember) {
        t->size = TALLY_SIZE_FIRST;
        t->entries = xcalloc(t->size, sizeof *t->entries);
    }
}

void tally_fini(struct tally *t)
{
    free(t->entries);
    memset(t, 0, sizeof *t);
}

static uint64_t name_hash(const char *name)
{
    unsigned char digest[HASH_BYTES];
    uint64_t hash;
    hash_bytes(name, strlen(name), digest);
    memcpy(&hash, digest, sizeof hash);
    return hash == 0 ? 1 : hash;
}

static struct tally_entry *find(struct tally_entry *entries, size_t size, uint64_t hash)
{
    size_t at = (size_t)hash & (size - 1);
    while (entries[at].hash != 0 && entries[at].hash != hash)
        at = (at + 1) & (size - 1);
    return &entries[at];
}

static void grow(struct tally *t)
{
    struct tally_entry *larger = xcalloc(t->size * 2, sizeof *larger);
    for (size_t i = 0; i < t->size; i++) {
        if (t->entries[i].hash != 0) *find(larger, t->size * 2, t->entries[i].hash) = t->entries[i];
    }
    free(t->entries);
    t->entries = larger;
    t->size *= 2;
}

void tally_note(struct tally *t, const char *delivery, enum delivery_state state)
{
    t->state[state]++;
    if (!t->remember) return;
    uint64_t hash = name_hash(delivery);
    struct tally_entry *e = find(t->entries, t->size, hash);
    if (e->hash != 0) {
        t->state[e->state]--;
    } else {
        t->used++;
    }
    e->hash = hash;
    e->state = (uint8_t)state;
    if (t->used * 2 > t->size) grow(t);
}

void tally_print(const struct tally *t, uint64_t round_trips, FILE *out)
{
    int64_t due = 0;
    for (int i = 0; i < DS_COUNT; i++)
        due += t->state[i];
    fprintf(out,
            "due %" PRId64 ": published %" PRId64 " (%" PRId64 " of them before), rejected %" PRId64
            ", uncertain %" PRId64 ", held %" PRId64 ", waiting %" PRId64 ". Input refused %" PRId64
            ", conflicting %" PRId64 ". %" PRId64 " write requests, %" PRIu64 " ledger round trips.\n",
            due, t->state[DS_PUBLISHED], t->skipped, t->state[DS_REJECTED], t->state[DS_UNCERTAIN], t->state[DS_HELD],
            t->state[DS_APPROVED], t->refused, t->conflicts, t->writes, round_trips);
}

int tally_exit_code(const struct tally *t)
{
    if (t->refused > 0 || t->conflicts > 0) return 1;
    if (t->state[DS_REJECTED] > 0) return 4;
    return t->state[DS_UNCERTAIN] + t->state[DS_HELD] + t->state[DS_APPROVED] > 0 ? 3 : 0;
}
