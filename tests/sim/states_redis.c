/* SPDX-License-Identifier: MIT */
/*
 * The real ledger on an in-memory Redis: what is asked is answered at once. Each state holds a snapshot, which is put
 * into the one live Redis before a step of it, and taken from there after it.
 *
 * A snapshot's hash leaves out what nothing is decided by: the streams of outcomes, the server's time that was seen
 * last (it matters where a clock goes back), words for people; and the row's revision, which is only compared with the
 * one that somebody holds (states_hash.c has the difference).
 */
#include "tests/sim/states.h"

#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "ledger/agenda.h"
#include "runtime/clock.h"
#include "runtime/die.h"
#include "runtime/log.h"
#include "tests/sim/redis_command.h"
#include "tests/sim/redis_hiredis.h"
#include "tests/sim/sim_row.h"

#define REPLIES_MAX 8
#define ROUND_MS    3000

struct states_redis {
    int refs;
    struct redis_db data;
    struct states_row row;
    uint64_t hash[2];
};

struct ledger states_ledger;
struct redis_link *states_link;
struct ledger_round *states_round;

static struct redis_db live;
static redisReader reader;
static redisContext context = {.reader = &reader};
static redisReply *replies[REPLIES_MAX];
static size_t reply_count, reply_at;

/* ---- hiredis, as ledger/link.c uses it ---- */

redisContext *redisConnectUnixWithTimeout(const char *path, const struct timeval tv)
{
    (void)path;
    (void)tv;
    return &context;
}

redisContext *redisConnectWithTimeout(const char *ip, int port, const struct timeval tv)
{
    (void)port;
    return redisConnectUnixWithTimeout(ip, tv);
}

void redisFree(redisContext *c)
{
    (void)c;
}

int redisAppendFormattedCommand(redisContext *c, const char *bytes, size_t len)
{
    struct redis_arg words[512];
    size_t used;
    (void)c;
    if (reply_count == REPLIES_MAX) die("states: a round is too large");
    size_t count = redis_command_read(bytes, len, words, sizeof words / sizeof words[0], &used);
    if (used != len) die("states: %zu bytes are not one command", len);
    replies[reply_count++] = redis_hiredis_reply(redis_db_run(&live, count, words));
    return REDIS_OK;
}

int redisBufferWrite(redisContext *c, int *done)
{
    (void)c;
    *done = 1;
    return REDIS_OK;
}

int redisGetReplyFromReader(redisContext *c, void **reply)
{
    (void)c;
    *reply = reply_at < reply_count ? replies[reply_at++] : NULL;
    if (reply_at == reply_count) reply_at = reply_count = 0;
    return REDIS_OK;
}

int redisBufferRead(redisContext *c)
{
    (void)c;
    return REDIS_ERR;
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    (void)fds;
    (void)count;
    (void)timeout_ms;
    return 0;
}

/* ---- the machine: one clock, no chance, no log ---- */

int64_t __wrap_clock_boottime_ms(void);
int64_t __wrap_clock_boottime_ms(void)
{
    return live.now_us / 1000 - STATES_EPOCH_MS + 1000;
}

int64_t __wrap_clock_wall_ms(void);
int64_t __wrap_clock_wall_ms(void)
{
    return live.now_us / 1000;
}

uint32_t __wrap_random_below(uint32_t bound);
uint32_t __wrap_random_below(uint32_t bound)
{
    (void)bound;
    return 0;
}

void __wrap_log_fields(enum log_level level, const char *event, const struct log_field *fields);
void __wrap_log_fields(enum log_level level, const char *event, const struct log_field *fields)
{
    (void)level;
    (void)event;
    (void)fields;
}

/* ---- a snapshot's hash ---- */

static bool decides_nothing(const char *key, const char *field)
{
    return (strncmp(key, "request:", 8) == 0 && strcmp(field, "detail") == 0) ||
           (strcmp(key, "epoch") == 0 && strcmp(field, "server_ms") == 0);
}

static void add_part(uint64_t sum[2], const char *key, const char *name, const char *value)
{
    char text[512];
    int len = snprintf(text, sizeof text, "%s%c%s%c%s", key, 0, name, 0, value);
    if (len >= (int)sizeof text) die("states: a value of %d bytes", len);
    states_hash_add(sum, text, (size_t)len);
}

static void add_table(uint64_t sum[2], const char *key, const struct redis_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct redis_entry *entry = &table->entry[i];
        const struct redis_text *value = entry->value;
        if (!decides_nothing(key, entry->name->bytes))
            add_part(sum, key, entry->name->bytes, value != NULL ? value->bytes : "");
    }
}

static void add_object(uint64_t sum[2], const char *key, const struct redis_object *object)
{
    char count[32];
    switch (object->type) {
    case REDIS_STRING: add_part(sum, key, "", object->string->bytes); break;
    case REDIS_HASH:
    case REDIS_SET:
    case REDIS_LIST: add_table(sum, key, &object->table); break;
    case REDIS_ZSET:
        for (size_t i = 0; i < object->zset.count; i++)
            add_part(sum, key, object->zset.member[i].name->bytes, "");
        break;
    case REDIS_STREAM:
        snprintf(count, sizeof count, "%zu", object->stream.count);
        add_part(sum, key, count, "");
        break;
    }
}

static void hash_data(const struct redis_db *db, uint64_t sum[2])
{
    sum[0] = sum[1] = 0;
    for (size_t i = 0; i < db->keys.count; i++) {
        const char *key = db->keys.entry[i].name->bytes + strlen(SIM_ROW_START);
        bool apart =
            strncmp(key, "delivery:", 9) == 0 || strncmp(key, "lease:", 6) == 0 || strcmp(key, "outcomes") == 0;
        if (!apart) add_object(sum, key, db->keys.entry[i].value);
    }
}

/* ---- snapshots ---- */

static int any_room(const char *channel, void *arg)
{
    (void)channel;
    (void)arg;
    return 1;
}

/* When somebody has something to do. */
static int64_t next_due_ms(void)
{
    struct errbuf err = {{0}};
    struct agenda_due due;
    if (!agenda_read(&states_ledger, states_link, live.now_us / 1000, AGENDA_DUE_MAX, any_room, NULL, &due, ROUND_MS,
                     &err))
        die("states: %s", err.text);
    return due.count > 0 ? due.item[0].score_ms : due.next_ms;
}

static int64_t number(const struct redis_object *row, const char *field)
{
    return strtoll(sim_row_field(row, field), NULL, 10);
}

static void read_core(const struct redis_object *row, struct delivery_row *core)
{
    *core = (struct delivery_row){
        .state = (enum delivery_state)delivery_state_from_name(sim_row_field(row, "state")),
        .reason = (enum delivery_reason)delivery_reason_from_name(sim_row_field(row, "reason")),
        .rev = number(row, "rev"),
        .since_ms = number(row, "since"),
        .approved_at_ms = number(row, "approved_at"),
        .generation = (int)number(row, "gen"),
        .attempt = (int)number(row, "attempt"),
        .tries = (int)number(row, "tries"),
        .first_send_ms = number(row, "first_send"),
        .commit_by_ms = number(row, "commit_by"),
        .misses = (int)number(row, "misses"),
        .missed_at_ms = number(row, "missed_at"),
        .waived = sim_row_field(row, "waived")[0] != '\0',
    };
    snprintf(core->token, sizeof core->token, "%s", sim_row_field(row, "token"));
    snprintf(core->ext_id, sizeof core->ext_id, "%s", sim_row_field(row, "ext_id"));
    if (!doubt_parse(sim_row_field(row, "in_doubt"), &core->doubt)) die("states: the row's doubt cannot be read");
}

static int64_t score(const char *kind, const char *suffix, const char *member)
{
    size_t at;
    const struct redis_object *set = sim_row_object(&live, kind, suffix);
    bool there = set != NULL && redis_zset_find(&set->zset, member, strlen(member), &at);
    return there ? (int64_t)set->zset.member[at].score : 0;
}

static void read_lease(struct states_row *out)
{
    const struct redis_object *lease = sim_row_object(&live, "lease", STATES_DELIVERY);
    const char *token = lease != NULL ? strrchr(lease->string->bytes, ' ') : NULL;
    if (token == NULL) return;
    out->lease_end_ms = lease->expires_ms;
    snprintf(out->lease_token, sizeof out->lease_token, "%s", token + 1);
}

static void read_row(struct states_row *out)
{
    const struct redis_object *row = sim_row_object(&live, "delivery", STATES_DELIVERY);
    const struct redis_object *queue = sim_row_object(&live, "queue", "");
    if (row != NULL) read_core(row, &out->core);
    out->taken = (int)number(row, "taken");
    out->agenda_ms = score("agenda", "", "delivery:" STATES_DELIVERY);
    out->waiting_ms = score("waiting", STATES_CHANNEL, STATES_DELIVERY);
    read_lease(out);
    out->queued = queue != NULL && queue->stream.count > 0;
    out->next_ms = next_due_ms();
    out->wrong = sim_row_misplaced(&live, STATES_CHANNEL, STATES_DELIVERY);
}

static struct states_redis *snapshot(void)
{
    struct states_redis *redis = xcalloc(1, sizeof *redis);
    redis->refs = 1;
    redis_db_clean(&live);
    read_row(&redis->row);
    redis_db_copy_data(&redis->data, &live);
    hash_data(&live, redis->hash);
    return redis;
}

struct states_redis *states_redis_keep(struct states_redis *redis)
{
    redis->refs++;
    return redis;
}

void states_redis_drop(struct states_redis *redis)
{
    if (redis == NULL || --redis->refs > 0) return;
    redis_db_flush(&redis->data);
    free(redis);
}

void states_redis_enter(const struct state *s)
{
    live.now_us = states_ms(s->now) * 1000;
    redis_db_copy_data(&live, &s->redis->data);
}

void states_redis_leave(struct state *s)
{
    states_redis_drop(s->redis);
    s->redis = snapshot();
}

const struct states_row *states_redis_row(const struct states_redis *redis)
{
    return &redis->row;
}

const uint64_t *states_redis_hash(const struct states_redis *redis)
{
    return redis->hash;
}

void states_redis_round(void)
{
    struct errbuf err = {{0}};
    if (!round_run(states_round, states_link, ROUND_MS, &err)) die("states: %s", err.text);
}

/* ---- begin and end ---- */

void states_redis_open(struct redis_lua *lua)
{
    char err[KEYS_ERR_BYTES];
    struct errbuf why = {{0}};
    static const struct link_address address = {.url = "unix:///sim", .name = "states"};
    redis_db_init(&live, lua);
    memset(live.run_id, 'a', REDIS_RUN_ID_BYTES - 1);
    live.now_us = live.started_us = STATES_EPOCH_MS * 1000;
    if (!names_init(&states_ledger.names, "lf", 0, err)) die("states: %s", err);
    states_ledger.environment = "test";
    states_ledger.partitions = 1;
    states_ledger.worker = "w";
    states_ledger.outcomes_max = 10;
    states_ledger.claim_valid_ms = 15000;
    states_link = link_new(&address);
    states_round = round_new(&states_ledger);
    if (!link_open(states_link, &why)) die("states: %s", why.text);
}

void states_redis_close(void)
{
    round_free(&states_round);
    link_free(&states_link);
    redis_db_fini(&live);
}

static void command(const char *const *word, size_t count)
{
    struct redis_arg arg[8];
    for (size_t i = 0; i < count; i++)
        arg[i] = (struct redis_arg){word[i], strlen(word[i])};
    const struct redis_reply *reply = redis_db_run(&live, count, arg);
    if (reply->kind == REDIS_ERROR) die("states: %s: %s", word[0], reply->text);
}

struct states_redis *states_redis_begin(void)
{
    static const char *const group[] = {"XGROUP", "CREATE", SIM_ROW_START "queue", "workers", "0", "MKSTREAM"};
    static const char *const entry[] = {"XADD", SIM_ROW_START "queue", "*", "channel", STATES_CHANNEL, "item", "{}"};
    states_ledger.longest_window_ms = states.of.policy.key_window_ms > 0 ? states.of.policy.key_window_ms : 0;
    live.now_us = states_ms(0) * 1000;
    redis_db_flush(&live);
    command(group, sizeof group / sizeof group[0]);
    command(entry, sizeof entry / sizeof entry[0]);
    return snapshot();
}
