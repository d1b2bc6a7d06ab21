/* SPDX-License-Identifier: MIT */
/* redis_hiredis: an answer of the in-memory Redis as hiredis hands it to its caller; and those of hiredis' functions
 * that do nothing here, in place of its own. */
#ifndef SIM_REDIS_HIREDIS_H
#define SIM_REDIS_HIREDIS_H

#include "tests/sim/redis_db.h"

struct redisReply;

/* A copy; freed with answer_free(). */
struct redisReply *redis_hiredis_reply(const struct redis_reply *from);

#endif
