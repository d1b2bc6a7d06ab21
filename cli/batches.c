/* SPDX-License-Identifier: MIT */
#include "cli/batches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keys/canonical.h"
#include "keys/content.h"
#include "runtime/die.h"

void batches_channel(const char *delivery, char channel[IDENTITY_CHANNEL_BYTES])
{
    const char *account = strchr(delivery, '/');
    size_t len = account ? (size_t)(account - delivery) + 1 + strcspn(account + 1, "/") : 0;
    snprintf(channel, IDENTITY_CHANNEL_BYTES, "%.*s", (int)len, delivery);
}

bool batches_read(struct cli *cli, char *const *names, size_t count, batches_row *told, void *context)
{
    const char *name[REQUEST_BATCH_MAX], *channel[REQUEST_BATCH_MAX];
    char channels[REQUEST_BATCH_MAX][IDENTITY_CHANNEL_BYTES];
    struct reads_delivery *read = xcalloc(REQUEST_BATCH_MAX, sizeof(*read));
    bool ok = true;
    for (size_t from = 0; ok && from < count; from += REQUEST_BATCH_MAX) {
        size_t part = count - from < REQUEST_BATCH_MAX ? count - from : REQUEST_BATCH_MAX;
        for (size_t i = 0; i < part; i++) {
            batches_channel(names[from + i], channels[i]);
            name[i] = names[from + i];
            channel[i] = channels[i];
        }
        ok = reads_deliveries(&cli->ledger, cli->link, name, channel, part, read, cli_limit_ms(cli), &cli->err);
        for (size_t i = 0; ok && i < part; i++) {
            told(from + i, name[i], &read[i], context);
            reads_delivery_fini(&read[i]);
        }
    }
    free(read);
    return ok;
}

bool batches_after(const char *channel, const struct request_text *content, char after[IDENTITY_NAME_BYTES])
{
    char err[KEYS_ERR_BYTES];
    struct content merged;
    json_t *item = NULL;
    bool any = false;
    if (content->len == 0 || !canonical_parse(content->bytes, content->len, &item, err)) return false;
    if (content_merge(item, channel, &merged, err)) {
        any = merged.schedule.after[0] != '\0';
        snprintf(after, IDENTITY_NAME_BYTES, "%s/%s", channel, merged.schedule.after);
        content_fini(&merged);
    }
    json_decref(item);
    return any;
}
