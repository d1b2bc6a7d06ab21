/* SPDX-License-Identifier: MIT */
#include "ledger/survey_row.h"

#include <hiredis/hiredis.h>
#include <string.h>

#include "ledger/answer.h"
#include "ledger/args.h"
#include "runtime/die.h"

enum { ASK_ROW, ASK_AGENDA, ASK_WAITING, ASK_UNCERTAIN, ASK_LEASE, ASKS };

enum survey_fault survey_row_fault(const struct survey_row *row, int64_t now_ms, int64_t longest_lease_ms)
{
    if (!row->readable) return FAULT_UNREADABLE;
    switch (row->state) {
    case DS_APPROVED: return row->on_agenda || row->waits ? FAULT_NONE : FAULT_NOWHERE;
    case DS_UNCERTAIN: return row->in_uncertain ? FAULT_NONE : FAULT_NOWHERE;
    case DS_CLAIMED:
        if (!row->on_agenda) return FAULT_NOWHERE;
        return row->lease_left_ms == -2 && row->claimed_at_ms + longest_lease_ms < now_ms ? FAULT_NO_LEASE : FAULT_NONE;
    case DS_NONE:
    case DS_PUBLISHED:
    case DS_REJECTED:
    case DS_HELD:
    case DS_COUNT: break;
    }
    return FAULT_NONE;
}

bool survey_row_rests(const struct survey_row *row)
{
    return row->readable && row->state != DS_APPROVED && row->state != DS_CLAIMED;
}

static void ask_row(struct args *args, const struct names *names, const struct survey_row *row)
{
    args_command(args, "HMGET");
    args_key(args, names, NAMES_DELIVERY, row->delivery);
    args_text(args, "state");
    args_text(args, "rev");
    args_text(args, "since");
    args_text(args, "claimed_at");
    args_text(args, "reason");
    args_command(args, "ZSCORE");
    args_key(args, names, NAMES_AGENDA, NULL);
    args_joined(args, "delivery:", row->delivery);
    args_command(args, "ZSCORE");
    args_key(args, names, NAMES_WAITING, row->channel);
    args_text(args, row->delivery);
    args_command(args, "ZSCORE");
    args_key(args, names, NAMES_UNCERTAIN, row->channel);
    args_text(args, row->delivery);
    args_command(args, "PTTL");
    args_key(args, names, NAMES_LEASE, row->delivery);
}

/* A key of another type, or fields that are not ours, make it unreadable: nothing is concluded from it. */
static void take_row(struct redisReply **r, struct survey_row *row)
{
    row->readable = true;
    for (int i = 0; i < ASKS; i++)
        row->readable = row->readable && !answer_error(r[i]);
    const struct redisReply *state = answer_at(r[ASK_ROW], 0);
    row->state = DS_NONE;
    if (!answer_is_nil(state)) row->readable = row->readable && answer_state(state, &row->state);
    row->rev = answer_number_or_0(answer_at(r[ASK_ROW], 1));
    if (answer_is_nil(state) && row->rev > 0) row->readable = false;
    row->since_ms = answer_number_or_0(answer_at(r[ASK_ROW], 2));
    row->claimed_at_ms = answer_number_or_0(answer_at(r[ASK_ROW], 3));
    row->behind = row->state == DS_APPROVED && answer_reason(answer_at(r[ASK_ROW], 4)) == RS_PREDECESSOR;
    row->on_agenda = !answer_is_nil(r[ASK_AGENDA]);
    row->waits = !answer_is_nil(r[ASK_WAITING]);
    row->in_uncertain = !answer_is_nil(r[ASK_UNCERTAIN]);
    row->lease_left_ms = answer_number_or_0(r[ASK_LEASE]);
}

bool survey_rows_read(const struct ledger *ledger, struct redis_link *link, struct survey_row *rows, size_t count,
                      int64_t limit_ms, struct errbuf *err)
{
    struct args args;
    struct delivery_id id;
    char words[KEYS_ERR_BYTES];
    if (count == 0) return true;
    args_init(&args);
    for (size_t i = 0; i < count; i++) {
        if (!identity_parse(rows[i].delivery, &id, words)) die("survey: a name that was not checked");
        memcpy(rows[i].channel, id.channel, sizeof rows[i].channel);
        ask_row(&args, &ledger->names, &rows[i]);
    }
    struct redisReply **replies = xcalloc(args.command_count, sizeof *replies);
    bool ok = args_exchange(&args, link, replies, limit_ms, err);
    for (size_t i = 0; ok && i < count; i++)
        take_row(replies + i * ASKS, &rows[i]);
    args_free_replies(replies, args.command_count);
    args_fini(&args);
    return ok;
}
