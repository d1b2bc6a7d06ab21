/* SPDX-License-Identifier: MIT */
#include "ledger/health.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/answer.h"
#include "ledger/args.h"
#include "ledger/feed.h"
#include "runtime/clock.h"
#include "runtime/die.h"

/* What scripts write. Redis puts a script's writes into its append-only file between MULTI and EXEC, and when it reads
 * the file, EXEC asks for the rights of the user `default`, whether that may log in or not: without them it drops the
 * writes and starts with what is left (seen with 7.0.15 and 8.0.2). */
static const char *const commands_of_scripts[] = {
    "DEL K", "HSET K f v", "SADD K m", "SET K v", "XADD K * f v", "ZADD K 1 m",
};

/* Every command that programs and scripts send, with arguments that it takes; K stands for a key of ours. */
static const char *const commands_of_ours[] = {
    "DEL K",
    "EVAL x 0",
    "EVALSHA x 0",
    "EXISTS K",
    "GET K",
    "HDEL K f",
    "HEXISTS K f",
    "HGET K f",
    "HGETALL K",
    "HINCRBY K f 1",
    "HLEN K",
    "HMGET K f",
    "HRANDFIELD K",
    "HSET K f v",
    "HSETNX K f v",
    "INFO",
    "PERSIST K",
    "PEXPIRE K 1",
    "PTTL K",
    "ROLE",
    "SADD K m",
    "SCAN 0",
    "SET K v",
    "SMEMBERS K",
    "TIME",
    "TYPE K",
    "XACK K g 1",
    "XADD K * f v",
    "XLEN K",
    "XAUTOCLAIM K g c 0 0",
    "XDEL K 1",
    "XPENDING K g",
    "XRANGE K - +",
    "XREAD STREAMS K 0",
    "XGROUP CREATE K g 0",
    "ZADD K 1 m",
    "ZCARD K",
    "ZMSCORE K m",
    "ZRANGE K 0 0",
    "ZRANGEBYSCORE K 0 0",
    "ZREM K m",
    "ZSCORE K m",
    "XCLAIM K g c 0 1",
    "XREADGROUP GROUP g c STREAMS K >",
};

/* What workers send beside those where redis.wait_ asks for copies. A server that does not know one answers with an
 * error, which is no word about a right. */
static const char *const commands_of_copies[] = {"WAIT 0 1", "WAITAOF 0 0 1"};

#define WORDS_BYTES    40
#define COMMANDS_COUNT (sizeof commands_of_ours / sizeof commands_of_ours[0])
#define SCRIPTS_COUNT  (sizeof commands_of_scripts / sizeof commands_of_scripts[0])
#define COPIES_COUNT   (sizeof commands_of_copies / sizeof commands_of_copies[0])
#define RIGHTS_COUNT   (COMMANDS_COUNT + SCRIPTS_COUNT + COPIES_COUNT)

/* ---- INFO: lines "name:value" */

/* Where the value of a line begins, NULL if there is no such line; *len is its length. */
static const char *info_value(const char *info, const char *name, size_t *len)
{
    size_t name_len = strlen(name);
    for (const char *line = info; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, name_len) != 0 || line[name_len] != ':') continue;
        *len = strcspn(line + name_len + 1, "\r\n");
        return line + name_len + 1;
    }
    return NULL;
}

static void info_text(const char *info, const char *name, char *out, size_t size)
{
    size_t len = 0;
    const char *value = info_value(info, name, &len);
    snprintf(out, size, "%.*s", (int)(len < size ? len : size - 1), value ? value : "");
}

static int64_t info_number(const char *info, const char *name)
{
    char text[24];
    info_text(info, name, text, sizeof text);
    return strtoll(text, NULL, 10);
}

static bool info_says(const char *info, const char *name, const char *word)
{
    char text[24];
    info_text(info, name, text, sizeof text);
    return strcmp(text, word) == 0;
}

static void take_info(const char *info, struct health *out)
{
    info_text(info, "redis_version", out->version, sizeof out->version);
    info_text(info, "server_name", out->server, sizeof out->server);
    info_text(info, "role", out->role, sizeof out->role);
    info_text(info, "maxmemory_policy", out->policy, sizeof out->policy);
    out->maxmemory_bytes = info_number(info, "maxmemory");
    out->used_bytes = info_number(info, "used_memory");
    out->system_bytes = info_number(info, "total_system_memory");
    out->evicted = info_number(info, "evicted_keys");
    out->append_only = info_says(info, "aof_enabled", "1");
    out->append_failed = info_says(info, "aof_last_write_status", "err");
    out->snapshot_failed = info_says(info, "rdb_last_bgsave_status", "err");
    out->replicas = info_number(info, "connected_slaves");
}

/* ---- the questions */

enum {
    ASK_INFO,
    ASK_FSYNC,
    ASK_SAVE,
    ASK_LISTPACK_VALUE,
    ASK_LISTPACK_ENTRIES,
    ASK_MIN_REPLICAS,
    ASK_USER,
    ASK_QUEUE,
    ASK_STREAM, /* before the group: what is read in between only makes less of what seems to be missing */
    ASK_GROUPS,
    ASK_COUNT
};

static const char *const settings[] = {
    [ASK_FSYNC] = "appendfsync",
    [ASK_SAVE] = "save",
    [ASK_LISTPACK_VALUE] = "hash-max-listpack-value",
    [ASK_LISTPACK_ENTRIES] = "hash-max-listpack-entries",
    [ASK_MIN_REPLICAS] = "min-replicas-to-write",
};

static void ask(struct args *args, const struct names *names)
{
    args_command(args, "INFO");
    for (int i = ASK_FSYNC; i <= ASK_MIN_REPLICAS; i++) {
        args_command(args, "CONFIG");
        args_text(args, "GET");
        args_text(args, settings[i]);
    }
    args_command(args, "ACL");
    args_text(args, "WHOAMI");
    args_command(args, "EXISTS");
    args_key(args, names, NAMES_QUEUE, NULL);
    args_command(args, "XINFO");
    args_text(args, "STREAM");
    args_key(args, names, NAMES_QUEUE, NULL);
    args_command(args, "XINFO");
    args_text(args, "GROUPS");
    args_key(args, names, NAMES_QUEUE, NULL);
}

static void take_setting(const struct redisReply *reply, struct health *out, char *text, size_t size)
{
    text[0] = '\0';
    if (answer_error(reply)) answer_words(reply, out->config_refused, sizeof out->config_refused);
    answer_words(answer_at(reply, 1), text, size);
}

static int64_t take_number(const struct redisReply *reply, struct health *out)
{
    char text[24];
    int64_t number = HEALTH_UNKNOWN;
    take_setting(reply, out, text, sizeof text);
    return answer_number(answer_at(reply, 1), &number) ? number : HEALTH_UNKNOWN;
}

static int64_t counter(const struct redisReply *info, const char *name)
{
    int64_t number;
    return answer_number(answer_field(info, 0, name), &number) ? number : HEALTH_UNKNOWN;
}

/* A server that counts neither, or may not be asked, leaves both unknown. */
static void take_queue(const struct redisReply *stream, const struct redisReply *groups, struct health *out)
{
    out->entries_added = counter(stream, "entries-added");
    out->entries_there = answer_number_or_0(answer_field(stream, 0, "length"));
    out->entries_read = HEALTH_UNKNOWN;
    for (size_t i = 0; i < answer_count(groups); i++) {
        if (!answer_is(answer_field(answer_at(groups, i), 0, "name"), FEED_GROUP_WORKERS)) continue;
        out->has_group = true;
        out->entries_read = counter(answer_at(groups, i), "entries-read");
    }
}

static void take_answers(struct redisReply **r, struct health *out)
{
    char text[REQUEST_ERROR_SIZE];
    take_info(answer_text(r[ASK_INFO], NULL), out);
    take_setting(r[ASK_FSYNC], out, out->append_fsync, sizeof out->append_fsync);
    take_setting(r[ASK_SAVE], out, out->save, sizeof out->save);
    out->listpack_value_bytes = take_number(r[ASK_LISTPACK_VALUE], out);
    out->listpack_entries = take_number(r[ASK_LISTPACK_ENTRIES], out);
    out->min_replicas = take_number(r[ASK_MIN_REPLICAS], out);
    answer_words(r[ASK_USER], text, sizeof text);
    snprintf(out->user, sizeof out->user, "%.63s", answer_error(r[ASK_USER]) ? "" : text);
    if (answer_error(r[ASK_USER])) snprintf(out->acl_refused, sizeof out->acl_refused, "%.127s", text);
    out->has_queue = answer_number_or_0(r[ASK_QUEUE]) == 1;
    take_queue(r[ASK_STREAM], r[ASK_GROUPS], out);
}

/* ---- rights */

/* "HSET K f v": one command line of the table, as arguments of ACL DRYRUN. */
static void put_dry_run(struct args *args, const struct names *names, const char *user, const char *line, char *words)
{
    args_command(args, "ACL");
    args_text(args, "DRYRUN");
    args_text(args, user);
    snprintf(words, WORDS_BYTES, "%s", line);
    for (char *word = words, *next; word; word = next) {
        next = strchr(word, ' ');
        if (next) *next++ = '\0';
        if (strcmp(word, "K") == 0)
            args_key(args, names, NAMES_EPOCH, NULL);
        else
            args_text(args, word);
    }
}

/* Names of the commands that are not allowed, with spaces between. Returns how many. */
static int take_forbidden(struct redisReply **replies, const char *const *lines, size_t count, struct health *out,
                          char *text, size_t size)
{
    int forbidden = 0;
    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(text);
        if (answer_is(replies[i], "OK")) continue;
        if (answer_error(replies[i])) {
            answer_words(replies[i], out->acl_refused, sizeof out->acl_refused);
            continue;
        }
        forbidden++;
        snprintf(text + used, size - used, "%s%.*s", used ? " " : "", (int)strcspn(lines[i], " "), lines[i]);
    }
    return forbidden;
}

static void take_rights(struct redisReply **replies, struct health *out)
{
    struct redisReply **of_scripts = replies + COMMANDS_COUNT, **of_copies = of_scripts + SCRIPTS_COUNT;
    out->forbidden_count =
        take_forbidden(replies, commands_of_ours, COMMANDS_COUNT, out, out->forbidden, sizeof out->forbidden);
    (void)take_forbidden(of_scripts, commands_of_scripts, SCRIPTS_COUNT, out, out->reload_forbidden,
                         sizeof out->reload_forbidden);
    out->wait_forbidden = !answer_is(of_copies[0], "OK") && !answer_error(of_copies[0]);
    out->waitaof_forbidden = !answer_is(of_copies[1], "OK") && !answer_error(of_copies[1]);
}

static bool read_rights(const struct ledger *ledger, struct redis_link *link, struct health *out, int64_t limit_ms,
                        struct errbuf *err)
{
    struct args args;
    struct redisReply *replies[RIGHTS_COUNT] = {NULL};
    char(*words)[WORDS_BYTES] = xcalloc(RIGHTS_COUNT, sizeof *words), (*at)[WORDS_BYTES] = words;
    args_init(&args);
    for (size_t i = 0; i < COMMANDS_COUNT; i++)
        put_dry_run(&args, &ledger->names, out->user, commands_of_ours[i], *at++);
    for (size_t i = 0; i < SCRIPTS_COUNT; i++)
        put_dry_run(&args, &ledger->names, "default", commands_of_scripts[i], *at++);
    for (size_t i = 0; i < COPIES_COUNT; i++)
        put_dry_run(&args, &ledger->names, out->user, commands_of_copies[i], *at++);
    bool ok = args_ask(&args, link, replies, limit_ms, err);
    if (ok) take_rights(replies, out);
    for (size_t i = 0; i < RIGHTS_COUNT; i++)
        answer_free(replies[i]);
    args_fini(&args);
    free(words);
    return ok;
}

/* ---- the clock */

static bool read_clock(struct redis_link *link, struct health *out, int64_t limit_ms, struct errbuf *err)
{
    struct args args;
    struct redisReply *reply[1] = {NULL};
    args_init(&args);
    args_command(&args, "TIME");
    const int64_t before_ms = clock_wall_ms();
    bool ok = args_ask(&args, link, reply, limit_ms, err);
    const int64_t after_ms = clock_wall_ms();
    if (ok) {
        out->server_ms =
            answer_number_or_0(answer_at(reply[0], 0)) * 1000 + answer_number_or_0(answer_at(reply[0], 1)) / 1000;
        out->wall_ms = before_ms + (after_ms - before_ms) / 2;
        out->error_ms = (after_ms - before_ms) / 2 + 1;
    }
    answer_free(reply[0]);
    args_fini(&args);
    return ok;
}

bool health_read(const struct ledger *ledger, struct redis_link *link, struct health *out, int64_t limit_ms,
                 struct errbuf *err)
{
    struct args args;
    struct redisReply *replies[ASK_COUNT] = {NULL};
    memset(out, 0, sizeof *out);
    args_init(&args);
    ask(&args, &ledger->names);
    bool ok = args_ask(&args, link, replies, limit_ms, err);
    if (ok) take_answers(replies, out);
    for (size_t i = 0; i < ASK_COUNT; i++)
        answer_free(replies[i]);
    args_fini(&args);
    if (ok && !out->acl_refused[0]) ok = read_rights(ledger, link, out, limit_ms, err);
    return ok && read_clock(link, out, limit_ms, err);
}
