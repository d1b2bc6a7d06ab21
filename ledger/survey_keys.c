/* SPDX-License-Identifier: MIT */
#include "ledger/survey_keys.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/answer.h"
#include "ledger/args.h"
#include "ledger/keyscan.h"
#include "runtime/clock.h"
#include "runtime/die.h"

static const struct {
    const char *word, *suffix;
} kinds[NAMES_KIND_COUNT] = {
#define X(symbol, word_, suffix_) [NAMES_##symbol] = {word_, suffix_},
    NAMES_TABLE(X)
#undef X
};

void survey_list_add(struct survey_list *list, const char *name)
{
    list->total++;
    if (list->kept == SURVEY_LIST_MAX) return;
    if (!list->names) list->names = xcalloc(SURVEY_LIST_MAX, sizeof *list->names);
    list->names[list->kept++] = xstrdup(name);
}

static void add(struct survey_names *names, const char *name)
{
    if (names->count == names->room) {
        names->room = names->room ? 2 * names->room : 256;
        names->name = xrealloc_array(names->name, names->room, sizeof *names->name);
    }
    names->name[names->count++] = xstrdup(name);
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A scan may name a key more than once. */
static void sort_unique(struct survey_names *names)
{
    size_t kept = 0;
    if (names->count > 0) qsort(names->name, names->count, sizeof *names->name, by_bytes);
    for (size_t i = 0; i < names->count; i++) {
        if (kept > 0 && strcmp(names->name[kept - 1], names->name[i]) == 0)
            free(names->name[i]);
        else
            names->name[kept++] = names->name[i];
    }
    names->count = kept;
}

void survey_names_fini(struct survey_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->name[i]);
    free(names->name);
    *names = (struct survey_names){0};
}

static bool suffix_fits(const char *kind, const char *suffix)
{
    struct delivery_id id;
    char words[KEYS_ERR_BYTES];
    if (strcmp(kind, "delivery") == 0) return identity_parse(suffix, &id, words);
    if (strcmp(kind, "channel") == 0) return identity_channel_check(suffix, words);
    return suffix[0] != '\0' && strlen(suffix) < ROW_WORKER_BYTES;
}

/* "<word>" or "<word>:<suffix>"; NAMES_KIND_COUNT if it is none of the table. */
static int kind_of(const char *rest, const char **suffix)
{
    for (int i = 0; i < NAMES_KIND_COUNT; i++) {
        size_t len = strlen(kinds[i].word);
        if (strncmp(rest, kinds[i].word, len) != 0) continue;
        if (!kinds[i].suffix[0] && rest[len] == '\0') return i;
        if (!kinds[i].suffix[0] || rest[len] != ':') continue;
        *suffix = rest + len + 1;
        if (suffix_fits(kinds[i].suffix, *suffix)) return i;
    }
    return NAMES_KIND_COUNT;
}

enum survey_key survey_key(const struct names *names, const char *key, const char **suffix, int64_t *partition)
{
    size_t len = strlen(names->prefix);
    char *end;
    *suffix = NULL;
    *partition = -1;
    if (strncmp(key, names->prefix, len) != 0 || strncmp(key + len, ":{", 2) != 0) return SURVEY_KEY_UNKNOWN;
    const char *digits = key + len + 2;
    if (digits[0] < '0' || digits[0] > '9') return SURVEY_KEY_UNKNOWN;
    const long number = strtol(digits, &end, 10);
    if (strncmp(end, "}:", 2) != 0 || number >= NAMES_PARTITIONS_MAX) return SURVEY_KEY_UNKNOWN;
    *partition = number;
    const int kind = kind_of(end + 2, suffix);
    if (kind == NAMES_KIND_COUNT) return SURVEY_KEY_UNKNOWN;
    if ((unsigned)number != names->partition) return SURVEY_KEY_FOREIGN;
    if (kind == NAMES_DELIVERY) return SURVEY_KEY_ROW;
    return kind == NAMES_LEASE ? SURVEY_KEY_LEASE : SURVEY_KEY_OTHER;
}

static void take_key(const struct names *names, const char *key, struct survey_names *rows, struct survey_names *leases,
                     struct survey *out)
{
    const char *suffix;
    int64_t partition;
    out->keys++;
    switch (survey_key(names, key, &suffix, &partition)) {
    case SURVEY_KEY_ROW: add(rows, suffix); break;
    case SURVEY_KEY_LEASE: add(leases, suffix); break;
    case SURVEY_KEY_UNKNOWN: survey_list_add(&out->unknown, key); break;
    case SURVEY_KEY_FOREIGN: out->foreign_partitions++; break;
    case SURVEY_KEY_OTHER: break;
    }
    if (suffix && partition > out->highest_partition) out->highest_partition = partition;
}

bool survey_keys_read(const struct ledger *ledger, struct redis_link *link, const struct survey_bounds *bounds,
                      int64_t deadline_ms, struct survey_names *rows, struct survey_names *leases, struct survey *out,
                      struct errbuf *err)
{
    char pattern[NAMES_PREFIX_BYTES + 2];
    struct keyscan scan;
    snprintf(pattern, sizeof pattern, "%s:*", ledger->names.prefix);
    keyscan_init(&scan, pattern);
    do {
        struct redisReply **replies;
        if (!keyscan_page(&scan, link, &replies, bounds->limit_ms, err)) return false;
        const struct redisReply *page = keyscan_names(replies);
        for (size_t i = 0; i < answer_count(page); i++) {
            size_t len;
            const char *key = answer_text(answer_at(page, i), &len);
            if (strlen(key) == len)
                take_key(&ledger->names, key, rows, leases, out);
            else
                survey_list_add(&out->unknown, "(a name that holds a NUL)");
        }
        args_free_replies(replies, 1);
    } while (!scan.complete && out->keys < bounds->keys_max && clock_boottime_ms() < deadline_ms);
    out->complete = scan.complete;
    sort_unique(rows);
    sort_unique(leases);
    return true;
}
