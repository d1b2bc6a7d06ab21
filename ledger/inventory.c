/* SPDX-License-Identifier: MIT */
#include "ledger/inventory.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/answer.h"
#include "ledger/args.h"
#include "ledger/keyscan.h"
#include "runtime/die.h"

#define PATTERN_BYTES (NAMES_KEY_BYTES + IDENTITY_CHANNEL_BYTES)

struct inventory {
    size_t prefix_len; /* of the keys' names */
    char **names;
    size_t count, room;
};

static void take_page(struct inventory *all, const struct redisReply *page)
{
    for (size_t i = 0; i < answer_count(page); i++) {
        struct delivery_id id;
        char words[KEYS_ERR_BYTES];
        size_t len;
        const char *key = answer_text(answer_at(page, i), &len);
        if (len <= all->prefix_len || strlen(key) != len || !identity_parse(key + all->prefix_len, &id, words))
            continue;
        if (all->count == all->room) {
            all->room = all->room ? 2 * all->room : 256;
            all->names = xrealloc_array(all->names, all->room, sizeof *all->names);
        }
        all->names[all->count++] = xstrdup(key + all->prefix_len);
    }
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A scan may name a key more than once. */
static void sort_unique(struct inventory *all)
{
    size_t kept = 0;
    if (all->count > 0) qsort(all->names, all->count, sizeof *all->names, by_bytes);
    for (size_t i = 0; i < all->count; i++) {
        if (kept > 0 && strcmp(all->names[kept - 1], all->names[i]) == 0)
            free(all->names[i]);
        else
            all->names[kept++] = all->names[i];
    }
    all->count = kept;
}

bool inventory_read(const struct ledger *ledger, struct redis_link *link, enum names_kind kind, const char *channel,
                    char ***own_names, size_t *count, int64_t limit_ms, struct errbuf *err)
{
    char pattern[PATTERN_BYTES], suffix[IDENTITY_CHANNEL_BYTES + 2];
    struct inventory all = {0};
    struct keyscan scan;
    snprintf(suffix, sizeof suffix, "%s%s*", channel ? channel : "", channel ? "/" : "");
    all.prefix_len = names_key(&ledger->names, kind, suffix, pattern, sizeof pattern) - strlen(suffix);
    bool ok = true;
    keyscan_init(&scan, pattern);
    while (ok && !scan.complete) {
        struct redisReply **replies;
        ok = keyscan_page(&scan, link, &replies, limit_ms, err);
        if (!ok) break;
        take_page(&all, keyscan_names(replies));
        args_free_replies(replies, 1);
    }
    sort_unique(&all);
    *own_names = all.names;
    *count = all.count;
    if (!ok) inventory_free(own_names, *count);
    return ok;
}

void inventory_free(char ***names, size_t count)
{
    for (size_t i = 0; *names && i < count; i++)
        free((*names)[i]);
    free(*names);
    *names = NULL;
}
