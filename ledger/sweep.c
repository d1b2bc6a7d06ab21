/* SPDX-License-Identifier: MIT */
#include "ledger/sweep.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>

#include "ledger/answer.h"
#include "ledger/args.h"
#include "ledger/script.h"
#include "ledger/survey_keys.h"
#include "runtime/clock.h"

#define AGAIN_MS 10000 /* after an error */

void sweep_init(struct sweep *sweep)
{
    *sweep = (struct sweep){.active = false};
}

static void drop_page(struct sweep *sweep)
{
    if (sweep->page) args_free_replies(sweep->page, 1);
    sweep->page = NULL;
    sweep->at = 0;
}

void sweep_fini(struct sweep *sweep)
{
    drop_page(sweep);
    sweep->active = false;
}

int64_t sweep_due_ms(const struct sweep *sweep)
{
    return sweep->active ? sweep->next_ms : INT64_MAX;
}

static void begin(struct sweep *sweep, const struct ledger *ledger)
{
    drop_page(sweep);
    names_key(&ledger->names, NAMES_DELIVERY, "*", sweep->pattern, sizeof sweep->pattern);
    keyscan_init(&sweep->scan, sweep->pattern);
    sweep->active = true;
    sweep->next_ms = 0;
}

/* The next rows of the page, as keys and arguments of the script; how many. */
static size_t take_rows(struct sweep *sweep, const struct ledger *ledger, struct delivery_id *rows)
{
    const struct redisReply *names = keyscan_names(sweep->page);
    size_t count = 0;
    for (; sweep->at < answer_count(names) && count < SWEEP_ROWS; sweep->at++) {
        const char *suffix;
        int64_t partition;
        char words[KEYS_ERR_BYTES];
        size_t len;
        const char *key = answer_text(answer_at(names, sweep->at), &len);
        if (strlen(key) == len && survey_key(&ledger->names, key, &suffix, &partition) == SURVEY_KEY_ROW &&
            identity_parse(suffix, &rows[count], words))
            count++;
    }
    return count;
}

static bool place(const struct ledger *ledger, struct redis_link *link, const struct delivery_id *rows, size_t count,
                  int64_t limit_ms, int64_t *placed, struct errbuf *err)
{
    const struct script *script = &script_table[SCRIPT_PLACE];
    struct args args;
    struct redisReply **replies;
    char name[IDENTITY_NAME_BYTES];
    args_init(&args);
    args_command(&args, "EVAL");
    args_bytes(&args, script->text, script->len);
    args_number(&args, (int64_t)(1 + 4 * count));
    args_key(&args, &ledger->names, NAMES_AGENDA, NULL);
    for (size_t i = 0; i < count; i++) {
        identity_name(&rows[i], name);
        args_key(&args, &ledger->names, NAMES_DELIVERY, name);
        args_key(&args, &ledger->names, NAMES_WAITING, rows[i].channel);
        args_key(&args, &ledger->names, NAMES_UNCERTAIN, rows[i].channel);
        args_key(&args, &ledger->names, NAMES_CHANNEL, rows[i].channel);
    }
    for (size_t i = 0; i < count; i++) {
        identity_name(&rows[i], name);
        args_text(&args, name);
        args_text(&args, rows[i].channel);
    }
    bool ok = args_read(&args, link, &replies, limit_ms, err);
    if (ok) *placed = answer_number_or_0(replies[0]);
    if (ok) args_free_replies(replies, 1);
    args_fini(&args);
    return ok;
}

bool sweep_step(struct sweep *sweep, const struct ledger *ledger, struct redis_link *link, int64_t limit_ms,
                int64_t *placed, struct errbuf *err)
{
    struct delivery_id rows[SWEEP_ROWS];
    const int64_t now = clock_boottime_ms();
    const char *run_id = link_run_id(link);
    bool ok = true;
    *placed = 0;
    if (strcmp(run_id, sweep->run_id) != 0) {
        snprintf(sweep->run_id, sizeof sweep->run_id, "%s", run_id);
        begin(sweep, ledger);
    }
    if (now < sweep_due_ms(sweep)) return true;
    sweep->next_ms = now + SWEEP_PAUSE_MS;
    if (!sweep->page) {
        ok = keyscan_page(&sweep->scan, link, &sweep->page, limit_ms, err);
        if (!ok) sweep->page = NULL;
    }
    const size_t count = ok ? take_rows(sweep, ledger, rows) : 0;
    if (count > 0) ok = place(ledger, link, rows, count, limit_ms, placed, err);
    if (ok && sweep->at == answer_count(keyscan_names(sweep->page))) {
        drop_page(sweep);
        sweep->active = !sweep->scan.complete;
    }
    if (ok) return true;
    begin(sweep, ledger);
    sweep->next_ms = now + AGAIN_MS;
    return false;
}
