/* SPDX-License-Identifier: MIT */
#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/answer.h"
#include "ledger/args.h"
#include "ledger/partition_keys.h"
#include "ledger/partitions.h"
#include "runtime/crash.h"
#include "runtime/die.h"

struct move {
    struct partitions *all;
    struct partitions_place *from;
    bool *receives; /* by partition: something came there from this one */
};

static bool run(const struct move *m, struct partitions_place *at, struct args *args, struct errbuf *err)
{
    struct redisReply **replies;
    if (args->command_count == 0) return true;
    if (!args_read(args, at->link, &replies, m->all->limit_ms, err)) return false;
    args_free_replies(replies, args->command_count);
    return true;
}

static void command_key(struct args *args, const char *word, const struct partitions_place *at,
                        const struct partition_key *key)
{
    args_command(args, word);
    args_key(args, &at->ledger.names, key->kind, key->suffix);
}

/* ---- keys ---- */

/* dumps: what DUMP and PTTL answered, by turns. */
static bool restore(struct move *m, size_t target, const struct partition_key *keys, struct redisReply *const *dumps,
                    size_t count, struct errbuf *err)
{
    struct partitions_place *to = &m->all->place[target];
    struct args args;
    args_init(&args);
    for (size_t i = 0; i < count; i++) {
        size_t len;
        const int64_t left_ms = answer_number_or_0(dumps[2 * i + 1]);
        if (keys[i].at_work || keys[i].target != target || answer_is_nil(dumps[2 * i]) || left_ms == -2) continue;
        const char *bytes = answer_text(dumps[2 * i], &len);
        command_key(&args, "RESTORE", to, &keys[i]);
        args_number(&args, left_ms < 0 ? 0 : left_ms == 0 ? 1 : left_ms);
        args_bytes(&args, bytes, len);
        args_text(&args, "REPLACE");
        m->receives[target] = true;
    }
    bool ok = run(m, to, &args, err);
    args_fini(&args);
    return ok;
}

static bool copy_keys(void *context, const struct partition_key *keys, size_t count, struct errbuf *err)
{
    struct move *m = context;
    struct args args;
    struct redisReply **dumps;
    args_init(&args);
    for (size_t i = 0; i < count; i++) {
        command_key(&args, "DUMP", m->from, &keys[i]);
        command_key(&args, "PTTL", m->from, &keys[i]);
    }
    bool ok = args_read(&args, m->from->link, &dumps, m->all->limit_ms, err);
    if (ok) {
        for (size_t q = 0; ok && q < (size_t)m->all->to; q++)
            ok = restore(m, q, keys, dumps, count, err);
        args_free_replies(dumps, args.command_count);
    }
    args_fini(&args);
    crash_point("after_partitions_copy_batch");
    return ok;
}

/* Are the copies of these keys where they should be? */
static bool is_there(struct move *m, size_t target, const struct partition_key *keys, size_t count, struct errbuf *err)
{
    struct partitions_place *to = &m->all->place[target];
    struct args args;
    struct redisReply **replies;
    args_init(&args);
    for (size_t i = 0; i < count; i++)
        if (!keys[i].at_work && keys[i].target == target) command_key(&args, "EXISTS", to, &keys[i]);
    bool ok = args.command_count == 0 || args_read(&args, to->link, &replies, m->all->limit_ms, err);
    if (ok && args.command_count > 0) {
        bool all_there = true;
        for (size_t i = 0; i < args.command_count; i++)
            all_there = all_there && answer_number_or_0(replies[i]) == 1;
        args_free_replies(replies, args.command_count);
        ok = all_there || errbuf_set(err, "partition %zu has lost what was copied to it: run it again", target);
    }
    args_fini(&args);
    return ok;
}

static bool drop_keys(void *context, const struct partition_key *keys, size_t count, struct errbuf *err)
{
    struct move *m = context;
    struct args args;
    for (size_t q = 0; q < (size_t)m->all->to; q++)
        if (!is_there(m, q, keys, count, err)) return false;
    args_init(&args);
    for (size_t i = 0; i < count; i++)
        if (!keys[i].at_work) command_key(&args, "DEL", m->from, &keys[i]);
    bool ok = run(m, m->from, &args, err);
    args_fini(&args);
    crash_point("after_partitions_drop_batch");
    return ok;
}

/* ---- what channels share with others: members of channels and agenda, fields of counts ---- */

struct shared {
    enum names_kind kind;
    const char *add, *drop;
    bool paired;      /* member and score, field and value */
    bool score_first; /* of the command that adds */
};

static const struct shared shared[] = {
    {NAMES_CHANNELS, "SADD", "SREM", false, false},
    {NAMES_COUNTS, "HSET", "HDEL", true, false},
    {NAMES_AGENDA, "ZADD", "ZREM", true, true},
};

#define SHARED_COUNT (sizeof shared / sizeof shared[0])

static void take_bytes(struct args *args, const struct redisReply *text)
{
    size_t len;
    const char *bytes = answer_text(text, &len);
    args_bytes(args, bytes, len);
}

/* Where a member belongs: "<channel>", "<channel> held", "delivery:<channel>/1", "channel:<channel>". */
static bool target_of(const struct move *m, const struct shared *s, const char *member, size_t *target)
{
    char channel[IDENTITY_CHANNEL_BYTES];
    const char *colon = s->kind == NAMES_AGENDA ? strchr(member, ':') : NULL;
    if (!partition_keys_channel(colon ? colon + 1 : member, channel)) return false;
    *target = names_partition(channel, (unsigned)m->all->to);
    return *target != m->from->ledger.names.partition;
}

/* At `to`: adds there what belongs there. At m->from: drops what belongs elsewhere. */
static bool share(struct move *m, struct redisReply *const *lists, struct partitions_place *at, struct errbuf *err)
{
    struct args args;
    args_init(&args);
    for (size_t k = 0; k < SHARED_COUNT; k++) {
        const struct shared *s = &shared[k];
        const size_t step = s->paired ? 2 : 1;
        for (size_t i = 0; i + step <= answer_count(lists[k]); i += step) {
            const struct redisReply *member = answer_at(lists[k], i), *value = answer_at(lists[k], i + 1);
            size_t target;
            if (!target_of(m, s, answer_text(member, NULL), &target)) continue;
            if (at != m->from && target != at->ledger.names.partition) continue;
            args_command(&args, at == m->from ? s->drop : s->add);
            args_key(&args, &at->ledger.names, s->kind, NULL);
            if (at != m->from && s->score_first) take_bytes(&args, value);
            take_bytes(&args, member);
            if (at != m->from && s->paired && !s->score_first) take_bytes(&args, value);
            if (at != m->from) m->receives[target] = true;
        }
    }
    bool ok = run(m, at, &args, err);
    args_fini(&args);
    return ok;
}

static bool read_shared(struct move *m, struct redisReply ***own_lists, struct errbuf *err)
{
    struct args args;
    const struct names *names = &m->from->ledger.names;
    args_init(&args);
    args_command(&args, "SMEMBERS");
    args_key(&args, names, NAMES_CHANNELS, NULL);
    args_command(&args, "HGETALL");
    args_key(&args, names, NAMES_COUNTS, NULL);
    args_command(&args, "ZRANGE");
    args_key(&args, names, NAMES_AGENDA, NULL);
    args_number(&args, 0);
    args_number(&args, -1);
    args_text(&args, "WITHSCORES");
    bool ok = args_read(&args, m->from->link, own_lists, m->all->limit_ms, err);
    args_fini(&args);
    return ok;
}

static bool copy_shared(struct move *m, struct errbuf *err)
{
    struct redisReply **lists;
    if (!read_shared(m, &lists, err)) return false;
    bool ok = true;
    for (size_t q = 0; ok && q < (size_t)m->all->to; q++)
        if (&m->all->place[q] != m->from) ok = share(m, lists, &m->all->place[q], err);
    args_free_replies(lists, SHARED_COUNT);
    return ok;
}

static bool drop_shared(struct move *m, struct errbuf *err)
{
    struct redisReply **lists;
    if (!read_shared(m, &lists, err)) return false;
    bool ok = share(m, lists, m->from, err);
    args_free_replies(lists, SHARED_COUNT);
    return ok;
}

/* ---- what a Redis may have forgotten ---- */

static void set(struct args *args, const struct partitions_place *at, const char *name, int64_t value)
{
    args_command(args, "HSET");
    args_key(args, &at->ledger.names, NAMES_EPOCH, NULL);
    args_text(args, name);
    args_number(args, value);
}

/* The later of both times holds for the rows of both. A server that was restarted since somebody looked is remembered
 * as it was, so that the next one who looks sees it; to a partition that never saw work, the server is as it is. */
static void merge_epoch(struct args *args, const struct move *m, const struct partitions_place *to,
                        const struct redisReply *theirs, const struct redisReply *ours, char *run_id, size_t size)
{
    static const char *const times[] = {"rewound_at", "no_absence_before", "doubt_until", "leap_until"};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        const int64_t time = answer_number_or_0(answer_field(theirs, 0, times[i]));
        if (time > answer_number_or_0(answer_field(ours, 0, times[i]))) set(args, to, times[i], time);
    }
    const int64_t born = answer_number_or_0(answer_field(theirs, 0, "born_at"));
    const int64_t our_born = answer_number_or_0(answer_field(ours, 0, "born_at"));
    if (born > 0 && (our_born == 0 || born < our_born)) set(args, to, "born_at", born);
    args_command(args, "HSETNX");
    args_key(args, &to->ledger.names, NAMES_EPOCH, NULL);
    args_text(args, "environment");
    args_text(args, to->ledger.environment);
    if (!answer_copy(answer_field(theirs, 0, "run_id"), run_id, size)) return; /* nothing was ever sent from there */
    const bool forgot = strcmp(run_id, link_run_id(m->from->link)) != 0;
    if (!forgot && !answer_is_nil(answer_field(ours, 0, "run_id")) && answer_field(ours, 0, "run_id")) return;
    if (!forgot) snprintf(run_id, size, "%s", link_run_id(to->link));
    if (run_id[0] == '\0') return;
    args_command(args, "HSET");
    args_key(args, &to->ledger.names, NAMES_EPOCH, NULL);
    args_text(args, "run_id");
    args_text(args, run_id);
}

static bool read_epoch(const struct move *m, const struct partitions_place *at, struct redisReply ***own_reply,
                       struct errbuf *err)
{
    struct args args;
    args_init(&args);
    args_command(&args, "HGETALL");
    args_key(&args, &at->ledger.names, NAMES_EPOCH, NULL);
    bool ok = args_read(&args, at->link, own_reply, m->all->limit_ms, err);
    args_fini(&args);
    return ok;
}

static bool copy_epoch(const struct move *m, struct partitions_place *to, struct errbuf *err)
{
    struct redisReply **theirs, **ours;
    char run_id[LINK_RUN_ID_BYTES];
    struct args args;
    if (!read_epoch(m, m->from, &theirs, err)) return false;
    bool ok = read_epoch(m, to, &ours, err);
    if (ok) {
        args_init(&args);
        merge_epoch(&args, m, to, theirs[0], ours[0], run_id, sizeof run_id);
        ok = run(m, to, &args, err);
        args_fini(&args);
        args_free_replies(ours, 1);
    }
    args_free_replies(theirs, 1);
    return ok;
}

/* ---- all partitions ---- */

static bool keys_each(struct move *m, partition_keys_take *take, struct errbuf *err)
{
    return partition_keys_each(&m->from->ledger.names, m->from->link, (unsigned)m->all->to, take, m, m->all->limit_ms,
                               err);
}

bool partitions_copy(struct partitions *all, struct errbuf *err)
{
    bool ok = true;
    for (size_t p = 0; ok && p < (size_t)all->from; p++) {
        struct move m = {all, &all->place[p], xcalloc(all->count, sizeof(bool))};
        ok = keys_each(&m, copy_keys, err) && copy_shared(&m, err);
        for (size_t q = 0; ok && q < (size_t)all->to; q++)
            if (m.receives[q]) ok = copy_epoch(&m, &all->place[q], err);
        free(m.receives);
    }
    if (ok) crash_point("after_partitions_copy");
    return ok;
}

bool partitions_drop(struct partitions *all, struct errbuf *err)
{
    for (size_t p = 0; p < (size_t)all->from; p++) {
        struct move m = {all, &all->place[p], NULL};
        if (!keys_each(&m, drop_keys, err) || !drop_shared(&m, err)) return false;
    }
    crash_point("after_partitions_drop");
    return true;
}
