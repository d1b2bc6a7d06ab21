/* SPDX-License-Identifier: MIT */
#include "ledger/inventory.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/answer.h"
#include "ledger/args.h"
#include "runtime/die.h"

#define SCAN_COUNT    5000 /* keys that the server looks at in one step: a millisecond or two */
#define CURSOR_BYTES  24
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

static bool step(struct inventory *all, struct redis_link *link, const char *pattern, char cursor[CURSOR_BYTES],
                 int64_t limit_ms, struct errbuf *err)
{
    struct args args;
    struct redisReply **replies;
    args_init(&args);
    args_command(&args, "SCAN");
    args_text(&args, cursor);
    args_text(&args, "MATCH");
    args_text(&args, pattern);
    args_text(&args, "COUNT");
    args_number(&args, SCAN_COUNT);
    bool ok = args_read(&args, link, &replies, limit_ms, err);
    if (ok) {
        ok = answer_copy(answer_at(replies[0], 0), cursor, CURSOR_BYTES) && cursor[0] != '\0';
        if (!ok) errbuf_set(err, "redis: SCAN answers what is no page");
        take_page(all, answer_at(replies[0], 1));
        args_free_replies(replies, 1);
    }
    args_fini(&args);
    return ok;
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
    char pattern[PATTERN_BYTES], suffix[IDENTITY_CHANNEL_BYTES + 2], cursor[CURSOR_BYTES] = "0";
    struct inventory all = {0};
    /* Neither prefix nor channel can hold a character that a pattern gives a meaning to. */
    snprintf(suffix, sizeof suffix, "%s%s*", channel ? channel : "", channel ? "/" : "");
    all.prefix_len = names_key(&ledger->names, kind, suffix, pattern, sizeof pattern) - strlen(suffix);
    bool ok = true;
    do {
        ok = step(&all, link, pattern, cursor, limit_ms, err);
    } while (ok && strcmp(cursor, "0") != 0);
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
