/* SPDX-License-Identifier: MIT */
#include "cli/archive_plan.h"

#include <stdlib.h>
#include <string.h>

#include "cli/batches.h"
#include "cli/out.h"
#include "keys/canonical.h"
#include "keys/content.h"
#include "ledger/inventory.h"
#include "runtime/die.h"

struct reading {
    struct cli *cli;
    struct archive_plan *plan;
};

enum retention archive_plan_verdict(const struct cli *cli, const struct archive_plan *plan, const char *name,
                                    const struct reads_delivery *read)
{
    char channel[IDENTITY_CHANNEL_BYTES];
    batches_channel(name, channel);
    const struct channel *configured = channel_find(cli->fleet.channels, channel);
    const struct retention_facts facts = {.now_ms = cli_now_ms(cli),
                                          .before_ms = plan->before_ms,
                                          .rejected_keep_ms = cli->config->retention_rejected_request_ms,
                                          .without_guard = plan->without_guard,
                                          .awaited = json_object_get(plan->awaited, name) != NULL};
    return retention_of(&read->row.core, configured ? &configured->policy : NULL, &facts);
}

/* The delivery that an unsettled one comes after: its row says whether it may go out. */
static void note_awaited(struct archive_plan *plan, const char *channel, const struct reads_delivery *read)
{
    const enum delivery_state state = read->row.core.state;
    char name[IDENTITY_NAME_BYTES];
    if (state != DS_PUBLISHED && state != DS_REJECTED && batches_after(channel, &read->content, name))
        out_set(plan->awaited, name, json_true());
}

static void look_at(size_t i, const char *name, const struct reads_delivery *read, void *context)
{
    struct reading *reading = context;
    struct archive_plan *plan = reading->plan;
    char channel[IDENTITY_CHANNEL_BYTES];
    (void)i;
    if (read->readable && read->row.core.state == DS_NONE) return; /* gone since its name was read */
    batches_channel(name, channel);
    if (read->readable) note_awaited(plan, channel, read);
    if (plan->channel && strcmp(plan->channel, channel) != 0) return;
    plan->looked_at++;
    if (!read->readable) {
        plan->unreadable++;
        return;
    }
    const enum retention verdict = archive_plan_verdict(reading->cli, plan, name, read);
    plan->kept[verdict]++;
    if (verdict != RETENTION_DROP) return;
    if (plan->count == plan->room) {
        plan->room = plan->room ? 2 * plan->room : 256;
        plan->rows = xrealloc_array(plan->rows, plan->room, sizeof(*plan->rows));
    }
    plan->rows[plan->count++] = (struct archive_row){.name = xstrdup(name), .rev = read->row.core.rev};
}

/* Who comes after whom is known when all rows have been read. */
static void keep_awaited(struct archive_plan *plan)
{
    size_t left = 0;
    for (size_t i = 0; i < plan->count; i++) {
        if (json_object_get(plan->awaited, plan->rows[i].name)) {
            plan->kept[RETENTION_DROP]--;
            plan->kept[RETENTION_AWAITED]++;
            free(plan->rows[i].name);
        } else {
            plan->rows[left++] = plan->rows[i];
        }
    }
    plan->count = left;
}

bool archive_plan_read(struct cli *cli, struct archive_plan *plan)
{
    struct reading reading = {.cli = cli, .plan = plan};
    char **names = NULL;
    size_t count = 0;
    plan->awaited = json_object();
    bool ok =
        inventory_read(&cli->ledger, cli->link, NAMES_DELIVERY, NULL, &names, &count, cli_limit_ms(cli), &cli->err);
    ok = ok && batches_read(cli, names, count, look_at, &reading);
    inventory_free(&names, count);
    keep_awaited(plan);
    return ok;
}

void archive_plan_fini(struct archive_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        free(plan->rows[i].name);
    free(plan->rows);
    json_decref(plan->awaited);
}
