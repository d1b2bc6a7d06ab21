/* SPDX-License-Identifier: MIT */
#include "ledger/keyscan.h"

#include <stdio.h>
#include <string.h>

#include "ledger/answer.h"
#include "ledger/args.h"

#define KEYS_A_STEP 5000 /* that the server looks at: a millisecond or two */

void keyscan_init(struct keyscan *scan, const char *pattern)
{
    *scan = (struct keyscan){.pattern = pattern, .cursor = "0"};
}

bool keyscan_page(struct keyscan *scan, struct redis_link *link, struct redisReply ***own_reply, int64_t limit_ms,
                  struct errbuf *err)
{
    struct args args;
    args_init(&args);
    args_command(&args, "SCAN");
    args_text(&args, scan->cursor);
    args_text(&args, "MATCH");
    args_text(&args, scan->pattern);
    args_text(&args, "COUNT");
    args_number(&args, KEYS_A_STEP);
    bool ok = args_read(&args, link, own_reply, limit_ms, err);
    args_fini(&args);
    if (!ok) return false;
    ok = answer_copy(answer_at((*own_reply)[0], 0), scan->cursor, sizeof scan->cursor) && scan->cursor[0] != '\0';
    scan->complete = ok && strcmp(scan->cursor, "0") == 0;
    if (ok) return true;
    args_free_replies(*own_reply, 1);
    return errbuf_set(err, "redis: SCAN answers what is no page");
}

const struct redisReply *keyscan_names(struct redisReply **reply)
{
    return answer_at(reply[0], 1);
}
