/* SPDX-License-Identifier: MIT */
#include "ledger/partitions.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/answer.h"
#include "ledger/args.h"
#include "ledger/partition_keys.h"
#include "ledger/setup.h"
#include "runtime/crash.h"
#include "runtime/die.h"

/* ---- how far it is ---- */

static bool read_epoch(struct partitions *all, struct partitions_place *place, bool *mixed, struct errbuf *err)
{
    struct args args;
    struct redisReply **replies;
    char theirs[64];
    args_init(&args);
    args_command(&args, "HMGET");
    args_key(&args, &place->ledger.names, NAMES_EPOCH, NULL);
    args_text(&args, "environment");
    args_text(&args, "partitions");
    args_text(&args, "partitions_from");
    args_command(&args, "DUMP"); /* who may not is told before anything is done */
    args_key(&args, &place->ledger.names, NAMES_EPOCH, NULL);
    bool ok = args_read(&args, place->link, &replies, all->limit_ms, err);
    const size_t count = args.command_count;
    args_fini(&args);
    if (!ok) return false;
    *mixed = !answer_copy(answer_at(replies[0], 0), theirs, sizeof theirs) && !answer_is_nil(answer_at(replies[0], 0));
    place->said = answer_number_or_0(answer_at(replies[0], 1));
    place->said_from = answer_number_or_0(answer_at(replies[0], 2));
    args_free_replies(replies, count);
    if (*mixed) return errbuf_set(err, "partition %u: its epoch cannot be read", place->ledger.names.partition);
    *mixed = !setup_environment(&place->ledger, theirs, err);
    return !*mixed;
}

/* A partition behind `from` is new, or is left from a time when there were more: what it says of that time is over. */
static bool place_fits(const struct partitions *all, const struct partitions_place *place, struct errbuf *err)
{
    const int64_t said = place->said;
    const unsigned number = place->ledger.names.partition;
    if (said < 0 && said != -all->to)
        return errbuf_set(
            err, "the change to %" PRId64 " partitions is not over: end it first, landfall partitions %" PRId64, -said,
            -said);
    if (said < 0 && place->said_from != all->from)
        return errbuf_set(err,
                          "the change from %" PRId64 " partitions is not over, and the configuration says %" PRId64
                          ": set partitions to %" PRId64 " until it is",
                          place->said_from, all->from, place->said_from);
    if (said <= 0 || said == all->from || said == all->to || number >= all->from) return true;
    return errbuf_set(err,
                      "partition %u was started with %" PRId64 " partitions, the configuration says %" PRId64
                      ": the change begins with the number that the fleet has now",
                      number, said, all->from);
}

static bool judge(struct partitions *all, struct errbuf *err)
{
    size_t marked = 0, done = 0;
    for (size_t i = 0; i < all->count; i++) {
        if (!place_fits(all, &all->place[i], err)) return false;
        marked += all->place[i].said < 0;
        done += all->place[i].said == all->to;
    }
    if (done == all->count)
        all->stage = PARTITIONS_DONE;
    else if (done > 0 && done + marked < all->count)
        return errbuf_set(err,
                          "some partitions were started with %" PRId64 ", others with %" PRId64
                          ": the configuration's number is not the fleet's",
                          all->to, all->from);
    else
        all->stage = done > 0 ? PARTITIONS_FINISHING : marked > 0 ? PARTITIONS_MOVING : PARTITIONS_UNTOUCHED;
    return true;
}

bool partitions_open(struct partitions *all, const struct config *config, const struct ledger *ledger, const char *name,
                     int64_t to, bool *mixed, struct errbuf *err)
{
    char why[KEYS_ERR_BYTES];
    memset(all, 0, sizeof *all);
    all->from = ledger->partitions;
    all->to = to;
    all->count = (size_t)(all->from > to ? all->from : to);
    all->limit_ms = config->redis_round_limit_ms;
    all->place = xcalloc(all->count, sizeof *all->place);
    *mixed = false;
    for (size_t i = 0; i < all->count; i++) {
        struct partitions_place *place = &all->place[i];
        place->ledger = *ledger;
        if (!names_init(&place->ledger.names, config->redis_prefix, (unsigned)i, why))
            return errbuf_set(err, "partition %zu: %s", i, why);
        place->link = setup_link(config, &place->ledger, name);
        if (!link_open(place->link, err) || !read_epoch(all, place, mixed, err)) return false;
    }
    *mixed = !judge(all, err);
    return !*mixed;
}

void partitions_close(struct partitions *all)
{
    for (size_t i = 0; all->place && i < all->count; i++)
        link_free(&all->place[i].link);
    free(all->place);
    memset(all, 0, sizeof *all);
}

/* ---- what the epochs say ---- */

static bool run(struct partitions *all, struct partitions_place *place, struct args *args, struct errbuf *err)
{
    struct redisReply **replies;
    if (args->command_count == 0) return true;
    if (!args_read(args, place->link, &replies, all->limit_ms, err)) return false;
    args_free_replies(replies, args->command_count);
    return true;
}

/* 0 removes the number. */
static bool say(struct partitions *all, struct partitions_place *place, int64_t number, struct errbuf *err)
{
    struct args args;
    args_init(&args);
    args_command(&args, number == 0 ? "HDEL" : "HSET");
    args_key(&args, &place->ledger.names, NAMES_EPOCH, NULL);
    args_text(&args, "partitions");
    if (number != 0) args_number(&args, number);
    if (number < 0) {
        args_text(&args, "partitions_from");
        args_number(&args, all->from);
    } else {
        args_command(&args, "HDEL");
        args_key(&args, &place->ledger.names, NAMES_EPOCH, NULL);
        args_text(&args, "partitions_from");
    }
    bool ok = run(all, place, &args, err);
    args_fini(&args);
    return ok;
}

bool partitions_mark(struct partitions *all, struct errbuf *err)
{
    for (size_t i = 0; i < all->count; i++)
        if (!say(all, &all->place[i], -all->to, err)) return false;
    crash_point("after_partitions_mark");
    return true;
}

bool partitions_unmark(struct partitions *all, struct errbuf *err)
{
    for (size_t i = 0; i < all->count; i++)
        if (!say(all, &all->place[i], all->place[i].said, err)) return false;
    return true;
}

bool partitions_finish(struct partitions *all, struct errbuf *err)
{
    for (size_t i = 0; i < all->count; i++) {
        if (!say(all, &all->place[i], all->to, err)) return false;
        crash_point("after_partitions_finish");
    }
    return true;
}

bool partitions_audit(struct partitions *all, const char *user, const char *host, const char *why, struct errbuf *err)
{
    struct args args;
    char from[32], to[32];
    snprintf(from, sizeof from, "%" PRId64 " partitions", all->from);
    snprintf(to, sizeof to, "%" PRId64 " partitions", all->to);
    const char *fields[] = {"delivery", "",    "act", "partitions", "user", user, "host",
                            host,       "why", why,   "from",       from,   "to", to};
    args_init(&args);
    args_command(&args, "XADD");
    args_key(&args, &all->place[0].ledger.names, NAMES_AUDIT, NULL);
    args_text(&args, "*");
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        args_text(&args, fields[i]);
    bool ok = run(all, &all->place[0], &args, err);
    args_fini(&args);
    return ok;
}

/* ---- at rest ---- */

struct look {
    struct partitions *all;
    struct partitions_place *place;
    struct errbuf *why; /* empty: it is at rest */
};

/* The row as it is now: the numbers of states may be wrong. */
static void look_at_row(const struct look *look, const char *name, const struct redisReply *answer)
{
    enum delivery_state state;
    if (!answer_state(answer, &state))
        errbuf_set(look->why, "%.200s: its row cannot be read; see landfall doctor", name);
    else if (state == DS_CLAIMED || state == DS_UNCERTAIN)
        errbuf_set(look->why, "%.200s is %s: let a reconciler settle it, landfall drain", name,
                   state == DS_CLAIMED ? "claimed" : "uncertain");
}

static bool look_at_rows(struct look *look, const struct partition_key *keys, size_t count, struct errbuf *err)
{
    struct args args;
    struct redisReply **replies;
    const char *row[PARTITION_KEYS_BATCH];
    size_t rows = 0;
    for (size_t i = 0; i < count; i++)
        if (keys[i].kind == NAMES_DELIVERY) row[rows++] = keys[i].suffix;
    if (rows == 0) return true;
    args_init(&args);
    for (size_t i = 0; i < rows; i++) {
        args_command(&args, "HGET");
        args_key(&args, &look->place->ledger.names, NAMES_DELIVERY, row[i]);
        args_text(&args, "state");
    }
    bool ok = args_read(&args, look->place->link, &replies, look->all->limit_ms, err);
    args_fini(&args);
    if (!ok) return false;
    for (size_t i = 0; i < rows; i++)
        look_at_row(look, row[i], replies[i]);
    args_free_replies(replies, rows);
    return true;
}

static bool look_at(void *context, const struct partition_key *keys, size_t count, struct errbuf *err)
{
    struct look *look = context;
    for (size_t i = 0; i < count; i++) {
        if (keys[i].at_work) {
            errbuf_set(
                look->why,
                "partition %u: there is %s:%.200s: stop workers, reconcilers and drains, and wait until it has ended",
                look->place->ledger.names.partition, names_word(keys[i].kind), keys[i].suffix);
            continue;
        }
        look->all->keys++;
        look->all->rows += keys[i].kind == NAMES_DELIVERY;
    }
    return look_at_rows(look, keys, count, err);
}

static bool look_at_queue(struct look *look, struct errbuf *err)
{
    struct args args;
    struct redisReply **replies;
    args_init(&args);
    args_command(&args, "XLEN");
    args_key(&args, &look->place->ledger.names, NAMES_QUEUE, NULL);
    bool ok = args_read(&args, look->place->link, &replies, look->all->limit_ms, err);
    args_fini(&args);
    if (!ok) return false;
    const int64_t length = answer_number_or_0(replies[0]);
    if (length > 0)
        errbuf_set(look->why,
                   "partition %u: its queue holds %" PRId64 " entries: stop producers, and let a worker take them",
                   look->place->ledger.names.partition, length);
    args_free_replies(replies, 1);
    return true;
}

bool partitions_at_rest(struct partitions *all, bool *rest, struct errbuf *why, struct errbuf *err)
{
    why->text[0] = '\0';
    all->rows = all->keys = 0;
    for (size_t i = 0; i < (size_t)all->from; i++) {
        struct partitions_place *place = &all->place[i];
        struct look look = {all, place, why};
        if (!look_at_queue(&look, err) || !partition_keys_each(&place->ledger.names, place->link, (unsigned)all->to,
                                                               look_at, &look, all->limit_ms, err))
            return false;
    }
    *rest = why->text[0] == '\0';
    return true;
}
