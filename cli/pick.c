/* SPDX-License-Identifier: MIT */
#include "cli/pick.h"

#include <stdlib.h>
#include <string.h>

#include "cli/batches.h"
#include "cli/out.h"
#include "ledger/inventory.h"
#include "runtime/die.h"

bool pick_fits(const struct pick *pick, const struct delivery_row *row)
{
    if (!pick->bulk) return true;
    if (!(pick->states & PICK_STATE(row->state))) return false;
    if (pick->reason >= 0 && (int)row->reason != pick->reason) return false;
    return pick->before_ms == 0 || row->since_ms < pick->before_ms;
}

/* ---- arguments */

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool take_names(const struct cli *cli, struct pick *pick, struct errbuf *err)
{
    const struct options *options = &cli->options;
    pick->names = xcalloc(OPTIONS_OPERANDS_MAX, sizeof(*pick->names));
    for (int i = 0; i < options->operand_count; i++) {
        struct delivery_id id;
        char why[KEYS_ERR_BYTES], name[IDENTITY_NAME_BYTES], quoted[KEYS_QUOTE_BYTES];
        const char *word = options->operand[i];
        if (!identity_parse(word, &id, why))
            return errbuf_set(err, "%s: a delivery is named platform/account/id: %s",
                              keys_quote(word, strlen(word), quoted), why);
        if (!cli_check_partition(cli, id.channel, err)) return false;
        identity_name(&id, name);
        if (!bsearch(&(char *){name}, pick->names, pick->count, sizeof(*pick->names), by_bytes))
            pick->names[pick->count++] = xstrdup(name);
        qsort(pick->names, pick->count, sizeof(*pick->names), by_bytes);
    }
    return true;
}

static bool take_flags(const struct cli *cli, struct pick *pick, struct errbuf *err)
{
    const struct options *options = &cli->options;
    const char *state = options->value[FLAG_STATE_ID], *reason = options->value[FLAG_REASON_ID];
    pick->channel = options->value[FLAG_CHANNEL_ID];
    if (pick->channel && !cli_check_partition(cli, pick->channel, err)) return false;
    if (state) {
        int known = delivery_state_from_name(state);
        if (known <= DS_NONE)
            return errbuf_set(err, "--state: there is no such state; there are approved, claimed, published, rejected, "
                                   "uncertain, held");
        pick->states = PICK_STATE(known);
    }
    if (state || reason) pick->reason = reason ? delivery_reason_from_name(reason) : -1;
    if (reason && pick->reason <= RS_NONE)
        return errbuf_set(err, "--reason: there is no such reason; landfall status and show say them");
    return true;
}

bool pick_arguments(const struct cli *cli, unsigned states, int reason, struct pick *pick, struct errbuf *err)
{
    static const enum flag_id flags[] = {FLAG_CHANNEL_ID, FLAG_STATE_ID, FLAG_REASON_ID, FLAG_OLDER_THAN_ID};
    bool any = false;
    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
        any |= options_has(&cli->options, flags[i]);
    pick->bulk = any;
    pick->states = states;
    pick->reason = reason;
    if (any == (cli->options.operand_count > 0))
        return errbuf_set(err, "name deliveries, or choose them with --channel, --state, --reason, --older-than; one "
                               "of the two");
    return any ? take_flags(cli, pick, err) : take_names(cli, pick, err);
}

/* ---- reading */

static void count_group(struct pick *pick, const char *name, const struct delivery_row *row)
{
    char channel[IDENTITY_CHANNEL_BYTES], group[IDENTITY_CHANNEL_BYTES + 64];
    batches_channel(name, channel);
    snprintf(group, sizeof(group), "%s %s %s", channel, delivery_state_name(row->state),
             delivery_reason_name(row->reason));
    out_set(pick->groups, group, json_integer(json_integer_value(json_object_get(pick->groups, group)) + 1));
}

/* Keeps the names whose row fits, and counts them. Rows that cannot be read never fit. */
static void keep_fitting(size_t i, const char *name, const struct reads_delivery *read, void *context)
{
    struct pick *pick = context;
    char *own = pick->names[i];
    pick->names[i] = NULL;
    if (read->readable && pick_fits(pick, &read->row.core)) {
        count_group(pick, name, &read->row.core);
        pick->names[pick->count++] = own;
    } else {
        free(own);
    }
}

bool pick_read(struct cli *cli, struct pick *pick)
{
    const struct when *older = &cli->options.when[FLAG_OLDER_THAN_ID];
    size_t all = 0;
    pick->groups = json_object();
    if (!pick->bulk) return true;
    if (options_has(&cli->options, FLAG_OLDER_THAN_ID))
        pick->before_ms = older->span ? cli_now_ms(cli) - older->ms : older->ms;
    if (!inventory_read(&cli->ledger, cli->link, NAMES_DELIVERY, pick->channel, &pick->names, &all, cli_limit_ms(cli),
                        &cli->err))
        return false;
    bool ok = batches_read(cli, pick->names, all, keep_fitting, pick);
    if (!ok) { /* names that were not looked at any more */
        inventory_free(&pick->names, all);
        pick->count = 0;
    }
    return ok;
}

void pick_fini(struct pick *pick)
{
    for (size_t i = 0; i < pick->count; i++)
        free(pick->names[i]);
    free(pick->names);
    json_decref(pick->groups);
    memset(pick, 0, sizeof(*pick));
}
