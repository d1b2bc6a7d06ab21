/* SPDX-License-Identifier: MIT */
#include "ledger/alive.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/answer.h"
#include "ledger/args.h"
#include "ledger/keyscan.h"
#include "runtime/clock.h"
#include "runtime/die.h"

bool alive_tell(const struct ledger *ledger, struct redis_link *link, const char *role, int64_t started_wall_ms,
                const char *more, int64_t limit_ms, struct errbuf *err)
{
    char text[ALIVE_TEXT_BYTES], host[64] = "";
    struct args args;
    struct redisReply **replies;
    if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
    snprintf(text, sizeof text, "role=%s host=%s pid=%ld started=%" PRId64 " %s", role, host, (long)getpid(),
             started_wall_ms, more);
    args_init(&args);
    args_command(&args, "SET");
    args_key(&args, &ledger->names, NAMES_WORKER, ledger->worker);
    args_text(&args, text);
    args_text(&args, "PX");
    args_number(&args, ALIVE_MS);
    /* The first process of the fleet fixes how channels are spread; setup_home() compares. */
    args_command(&args, "HSETNX");
    args_key(&args, &ledger->names, NAMES_EPOCH, NULL);
    args_text(&args, "partitions");
    args_number(&args, ledger->partitions);
    /* What another server knows of us that took over before it had heard of a claim (epoch.lua). */
    args_command(&args, "HSETNX");
    args_key(&args, &ledger->names, NAMES_EPOCH, NULL);
    args_text(&args, "first_run_id");
    args_text(&args, link_run_id(link));
    args_command(&args, "TIME");
    bool ok = args_read(&args, link, &replies, limit_ms, err);
    const int64_t seconds = ok ? answer_number_or_0(answer_at(replies[3], 0)) : 0;
    if (seconds > 0) link_note_time(link, seconds * 1000 + answer_number_or_0(answer_at(replies[3], 1)) / 1000);
    if (ok) args_free_replies(replies, args.command_count);
    args_fini(&args);
    return ok;
}

/* ---- who lives ---- */

struct search {
    struct redis_link *link;
    int64_t limit_ms;
    size_t prefix_len; /* of the keys' names */
    struct alive *list;
    size_t count;
};

/* The value of "role=" in a heartbeat. */
static void take_role(const char *text, char *out, size_t size)
{
    const char *role = strncmp(text, "role=", 5) == 0 ? text + 5 : strstr(text, " role=");
    out[0] = '\0';
    if (!role) return;
    role += *role == ' ' ? 6 : 0;
    size_t len = strcspn(role, " ");
    if (len >= size) return;
    memcpy(out, role, len);
    out[len] = '\0';
}

/* A scan may name a key more than once. */
static bool is_known(const struct search *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->list[i].name, name) == 0) return true;
    return false;
}

/* The names of a page that are new go to the list, their heartbeats are asked for. Returns how many. */
static size_t take_names(struct search *s, const struct redisReply *page, struct args *args)
{
    size_t taken = 0;
    for (size_t i = 0; i < answer_count(page) && s->count + taken < ALIVE_MAX; i++) {
        struct alive *one = &s->list[s->count + taken];
        size_t len;
        const char *key = answer_text(answer_at(page, i), &len);
        if (len <= s->prefix_len || len - s->prefix_len >= sizeof(one->name) || strlen(key) != len) continue;
        if (is_known(s, key + s->prefix_len)) continue;
        memcpy(one->name, key + s->prefix_len, len - s->prefix_len + 1);
        args_command(args, "GET");
        args_text(args, key);
        taken++;
    }
    return taken;
}

static bool take_page(struct search *s, const struct redisReply *page, struct errbuf *err)
{
    struct args args;
    struct redisReply **replies;
    args_init(&args);
    size_t taken = take_names(s, page, &args), first = s->count;
    bool ok = taken == 0 || args_read(&args, s->link, &replies, s->limit_ms, err);
    for (size_t i = 0; ok && i < taken; i++) {
        struct alive one = s->list[first + i];
        if (answer_is_nil(replies[i])) continue; /* it has ended meanwhile */
        answer_words(replies[i], one.text, sizeof(one.text));
        take_role(one.text, one.role, sizeof(one.role));
        s->list[s->count++] = one;
    }
    if (ok && taken > 0) args_free_replies(replies, taken);
    args_fini(&args);
    return ok;
}

bool alive_read(const struct ledger *ledger, struct redis_link *link, int64_t budget_ms, struct alive **own_list,
                size_t *count, bool *complete, int64_t limit_ms, struct errbuf *err)
{
    char pattern[NAMES_KEY_BYTES];
    struct keyscan scan;
    struct search s = {.link = link, .limit_ms = limit_ms};
    const int64_t end_ms = clock_boottime_ms() + budget_ms;
    s.prefix_len = names_key(&ledger->names, NAMES_WORKER, "*", pattern, sizeof(pattern)) - 1;
    s.list = xcalloc(ALIVE_MAX, sizeof(*s.list));
    bool ok = true;
    keyscan_init(&scan, pattern);
    do {
        struct redisReply **replies;
        ok = keyscan_page(&scan, link, &replies, limit_ms, err);
        if (!ok) break;
        ok = take_page(&s, keyscan_names(replies), err);
        args_free_replies(replies, 1);
    } while (ok && !scan.complete && clock_boottime_ms() < end_ms);
    *complete = ok && scan.complete && s.count < ALIVE_MAX;
    *count = s.count;
    *own_list = s.list;
    if (ok) return true;
    free(s.list);
    *own_list = NULL;
    *count = 0;
    return false;
}
