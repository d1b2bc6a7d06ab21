/* SPDX-License-Identifier: MIT */
/* Commands about the server itself. */
#include "tests/sim/redis_commands.h"

#include <inttypes.h>

void redis_ping(struct redis_call *c)
{
    redis_say_status(c->reply, "PONG");
}

void redis_echo(struct redis_call *c)
{
    redis_say_bytes(c->db, c->reply, c->arg[1].bytes, c->arg[1].len);
}

void redis_time(struct redis_call *c)
{
    struct redis_reply *child = redis_say_array(c->db, c->reply, 2);
    redis_say_format(c->db, &child[0], "%" PRId64, c->db->now_us / 1000000);
    redis_say_format(c->db, &child[1], "%" PRId64, c->db->now_us % 1000000);
}

void redis_info(struct redis_call *c)
{
    redis_say_format(c->db, c->reply,
                     "# Server\r\nredis_version:7.0.15\r\nrun_id:%s\r\nuptime_in_seconds:%" PRId64 "\r\n",
                     c->db->run_id, (c->db->now_us - c->db->started_us) / 1000000);
}

void redis_role(struct redis_call *c)
{
    struct redis_reply *child = redis_say_array(c->db, c->reply, 3);
    redis_say_bytes(c->db, &child[0], "master", 6);
    redis_say_integer(&child[1], 0);
    (void)redis_say_array(c->db, &child[2], 0);
}

/* What needs no more than to be taken: there is one database and one user. */
void redis_ok(struct redis_call *c)
{
    redis_say_status(c->reply, "OK");
}

void redis_config(struct redis_call *c)
{
    if (redis_arg_is(&c->arg[1], "GET"))
        (void)redis_say_array(c->db, c->reply, 0);
    else
        redis_say_error(c->reply, "ERR this server has no configuration");
}
