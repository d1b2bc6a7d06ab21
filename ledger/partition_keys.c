/* SPDX-License-Identifier: MIT */
#include "ledger/partition_keys.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/answer.h"
#include "ledger/args.h"
#include "ledger/keyscan.h"
#include "runtime/die.h"

static const struct {
    enum names_kind kind;
    bool at_work;
} kinds[] = {
    {NAMES_DELIVERY, false}, {NAMES_REQUEST, false}, {NAMES_WAITING, false}, {NAMES_UNCERTAIN, false},
    {NAMES_POSTS, false},    {NAMES_CHANNEL, false}, {NAMES_SESSION, false}, {NAMES_LEASE, true},
    {NAMES_WALK, true},      {NAMES_LOGIN, true},    {NAMES_WORKER, true},
};

bool partition_keys_channel(const char *text, char out[IDENTITY_CHANNEL_BYTES])
{
    char why[KEYS_ERR_BYTES];
    const char *slash = strchr(text, '/');
    if (!slash) return false;
    size_t len = (size_t)(slash - text) + 1;
    len += strcspn(slash + 1, "/ ");
    if (len >= IDENTITY_CHANNEL_BYTES) return false;
    memcpy(out, text, len);
    out[len] = '\0';
    return identity_channel_check(out, why);
}

/* "<prefix>:{<partition>}:", and its length. */
static size_t base_of(const struct names *names, char out[NAMES_KEY_BYTES])
{
    size_t len = names_key(names, NAMES_QUEUE, NULL, out, NAMES_KEY_BYTES) - strlen(names_word(NAMES_QUEUE));
    out[len] = '\0';
    return len;
}

bool partition_keys_read(const struct names *names, const char *key, unsigned partitions, struct partition_key *out)
{
    char base[NAMES_KEY_BYTES], channel[IDENTITY_CHANNEL_BYTES];
    size_t len = base_of(names, base);
    if (strncmp(key, base, len) != 0) return false;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const char *word = names_word(kinds[i].kind), *rest = key + len;
        size_t word_len = strlen(word);
        if (strncmp(rest, word, word_len) != 0 || rest[word_len] != ':') continue;
        const char *suffix = rest + word_len + 1;
        if (strlen(suffix) >= sizeof out->suffix) return false;
        out->kind = kinds[i].kind;
        out->at_work = kinds[i].at_work;
        memcpy(out->suffix, suffix, strlen(suffix) + 1);
        if (out->at_work) return true;
        if (!partition_keys_channel(suffix, channel)) return false;
        out->target = names_partition(channel, partitions);
        return out->target != names->partition;
    }
    return false;
}

bool partition_keys_each(const struct names *names, struct redis_link *link, unsigned partitions,
                         partition_keys_take *take, void *context, int64_t limit_ms, struct errbuf *err)
{
    char pattern[NAMES_KEY_BYTES];
    struct keyscan scan;
    struct partition_key *keys = xcalloc(PARTITION_KEYS_BATCH, sizeof *keys);
    bool ok = true;
    memcpy(pattern + base_of(names, pattern), "*", 2);
    keyscan_init(&scan, pattern);
    while (ok && !scan.complete) {
        struct redisReply **replies;
        ok = keyscan_page(&scan, link, &replies, limit_ms, err);
        if (!ok) break;
        const struct redisReply *page = keyscan_names(replies);
        size_t count = 0;
        for (size_t i = 0; ok && i < answer_count(page); i++) {
            size_t len;
            const char *key = answer_text(answer_at(page, i), &len);
            if (strlen(key) != len || !partition_keys_read(names, key, partitions, &keys[count])) continue;
            if (++count < PARTITION_KEYS_BATCH) continue;
            ok = take(context, keys, count, err);
            count = 0;
        }
        if (ok && count > 0) ok = take(context, keys, count, err);
        args_free_replies(replies, 1);
    }
    free(keys);
    return ok;
}
