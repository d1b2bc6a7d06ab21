/* SPDX-License-Identifier: MIT */
/* redis_commands: the functions of the commands, for the table in redis_commands.c. */
#ifndef SIM_REDIS_COMMANDS_H
#define SIM_REDIS_COMMANDS_H

#include "tests/sim/redis_db.h"

/* redis_keys.c */
void redis_del(struct redis_call *c);
void redis_exists(struct redis_call *c);
void redis_type(struct redis_call *c);
void redis_pexpire(struct redis_call *c);
void redis_expire(struct redis_call *c);
void redis_pttl(struct redis_call *c);
void redis_ttl(struct redis_call *c);
void redis_persist(struct redis_call *c);
void redis_keys(struct redis_call *c);
void redis_scan(struct redis_call *c);
void redis_flushall(struct redis_call *c);
void redis_object_command(struct redis_call *c);
void redis_get_string(struct redis_call *c);
void redis_set_string(struct redis_call *c);
void redis_lpush(struct redis_call *c);
void redis_lrange(struct redis_call *c);
void redis_sadd(struct redis_call *c);
void redis_smembers(struct redis_call *c);

/* redis_hash.c */
void redis_hset(struct redis_call *c);
void redis_hsetnx(struct redis_call *c);
void redis_hget(struct redis_call *c);
void redis_hmget(struct redis_call *c);
void redis_hgetall(struct redis_call *c);
void redis_hdel(struct redis_call *c);
void redis_hexists(struct redis_call *c);
void redis_hkeys(struct redis_call *c);
void redis_hlen(struct redis_call *c);
void redis_hincrby(struct redis_call *c);
void redis_hrandfield(struct redis_call *c);

/* redis_zset.c */
void redis_zadd(struct redis_call *c);
void redis_zrem(struct redis_call *c);
void redis_zscore(struct redis_call *c);
void redis_zmscore(struct redis_call *c);
void redis_zcard(struct redis_call *c);
void redis_zrange(struct redis_call *c);
void redis_zrangebyscore(struct redis_call *c);

/* redis_stream.c */
void redis_xadd(struct redis_call *c);
void redis_xlen(struct redis_call *c);
void redis_xrange(struct redis_call *c);
void redis_xrevrange(struct redis_call *c);
void redis_xdel(struct redis_call *c);
void redis_xread(struct redis_call *c);

/* redis_group.c */
void redis_xgroup(struct redis_call *c);
void redis_xreadgroup(struct redis_call *c);
void redis_xack(struct redis_call *c);
void redis_xpending(struct redis_call *c);
void redis_xclaim(struct redis_call *c);
void redis_xautoclaim(struct redis_call *c);
void redis_xinfo(struct redis_call *c);

/* redis_server_words.c */
void redis_ping(struct redis_call *c);
void redis_echo(struct redis_call *c);
void redis_time(struct redis_call *c);
void redis_info(struct redis_call *c);
void redis_role(struct redis_call *c);
void redis_ok(struct redis_call *c);
void redis_config(struct redis_call *c);

/* redis_lua.c */
void redis_eval(struct redis_call *c);
void redis_evalsha(struct redis_call *c);
void redis_script(struct redis_call *c);

/* ---- what several of them share ---- */

/* "ms-seq", "ms" (seq is the given one), "-", "+"; false: the answer is an error. */
bool redis_stream_id_read(struct redis_call *c, const struct redis_arg *arg, uint64_t missing_seq,
                          struct redis_stream_id *out);
void redis_say_stream_id(struct redis_db *db, struct redis_reply *reply, struct redis_stream_id id);
/* [id, [field, value, ..]]; an entry that is gone: [id, nil]. */
void redis_say_stream_entry(struct redis_db *db, struct redis_reply *reply, struct redis_stream_id id,
                            const struct redis_stream_entry *entry);
/* Shell patterns: * ? [..] and backslash. */
bool redis_matches(const struct redis_arg *pattern, const struct redis_text *name);

#endif
