/* SPDX-License-Identifier: MIT */
#include "tests/sim/redis_commands.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* In the order of their names, for the search. The number is how many words the command has; negative: at least. */
static const struct redis_command table[] = {
    {"auth", -2, redis_ok, true},
    {"client", -2, redis_ok, true},
    {"command", -1, redis_ok, true},
    {"config", -2, redis_config, true},
    {"del", -2, redis_del, false},
    {"echo", 2, redis_echo, false},
    {"eval", -3, redis_eval, true},
    {"evalsha", -3, redis_evalsha, true},
    {"exists", -2, redis_exists, false},
    {"expire", -3, redis_expire, false},
    {"flushall", -1, redis_flushall, false},
    {"flushdb", -1, redis_flushall, false},
    {"get", 2, redis_get_string, false},
    {"hdel", -3, redis_hdel, false},
    {"hexists", 3, redis_hexists, false},
    {"hget", 3, redis_hget, false},
    {"hgetall", 2, redis_hgetall, false},
    {"hincrby", 4, redis_hincrby, false},
    {"hkeys", 2, redis_hkeys, false},
    {"hlen", 2, redis_hlen, false},
    {"hmget", -3, redis_hmget, false},
    {"hrandfield", -2, redis_hrandfield, false},
    {"hset", -4, redis_hset, false},
    {"hsetnx", 4, redis_hsetnx, false},
    {"info", -1, redis_info, false},
    {"keys", 2, redis_keys, false},
    {"lpush", -3, redis_lpush, false},
    {"lrange", 4, redis_lrange, false},
    {"object", -2, redis_object_command, false},
    {"persist", 2, redis_persist, false},
    {"pexpire", -3, redis_pexpire, false},
    {"ping", -1, redis_ping, false},
    {"pttl", 2, redis_pttl, false},
    {"role", 1, redis_role, true},
    {"sadd", -3, redis_sadd, false},
    {"scan", -2, redis_scan, false},
    {"script", -2, redis_script, true},
    {"select", 2, redis_ok, false},
    {"set", -3, redis_set_string, false},
    {"smembers", 2, redis_smembers, false},
    {"time", 1, redis_time, false},
    {"ttl", 2, redis_ttl, false},
    {"type", 2, redis_type, false},
    {"xack", -4, redis_xack, false},
    {"xadd", -5, redis_xadd, false},
    {"xautoclaim", -6, redis_xautoclaim, false},
    {"xclaim", -6, redis_xclaim, false},
    {"xdel", -3, redis_xdel, false},
    {"xgroup", -2, redis_xgroup, false},
    {"xinfo", -2, redis_xinfo, false},
    {"xlen", 2, redis_xlen, false},
    {"xpending", -3, redis_xpending, false},
    {"xrange", -4, redis_xrange, false},
    {"xread", -4, redis_xread, false},
    {"xreadgroup", -7, redis_xreadgroup, false},
    {"xrevrange", -4, redis_xrevrange, false},
    {"zadd", -4, redis_zadd, false},
    {"zcard", 2, redis_zcard, false},
    {"zmscore", -3, redis_zmscore, false},
    {"zrange", -4, redis_zrange, false},
    {"zrangebyscore", -4, redis_zrangebyscore, false},
    {"zrem", -3, redis_zrem, false},
    {"zscore", 3, redis_zscore, false},
};

static int against(const void *name, const void *command)
{
    return strcmp(name, ((const struct redis_command *)command)->name);
}

const struct redis_command *redis_command_find(const struct redis_arg *name)
{
    char lower[24];
    if (name->len >= sizeof lower) return NULL;
    for (size_t i = 0; i < name->len; i++)
        lower[i] = (char)tolower((unsigned char)name->bytes[i]);
    lower[name->len] = '\0';
    return bsearch(lower, table, sizeof table / sizeof table[0], sizeof table[0], against);
}
