/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "cli/cli.h"
#include "cli/items.h"
#include "cli/out.h"
#include "keys/content.h"
#include "keys/key.h"

/* The one item of the input. False: cli->err says why. */
static bool read_item(struct cli *cli, struct items *items, const char *channel, struct content *content)
{
    struct item item;
    size_t line;
    char why[KEYS_ERR_BYTES];
    enum input_result result = items_next(items, &item, &line, &cli->err);
    if (result == INPUT_END) return errbuf_set(&cli->err, "%s holds no item", items_name(items));
    if (result != INPUT_VALUE) return errbuf_prefix(&cli->err, "%s:%zu", items_name(items), line);
    if (content_merge(item.json, channel, content, why)) return true;
    return errbuf_set(&cli->err, "%s:%zu: %s", items_name(items), line, why);
}

static bool make(struct cli *cli, const struct channel *channel, const struct content *content, char key[KEY_BYTES])
{
    const struct options *options = &cli->options;
    enum key_format format = channel->descriptor->key_format;
    char why[KEYS_ERR_BYTES];
    if (!channel->descriptor->has_key)
        return errbuf_set(&cli->err, "%s takes no idempotency key", channel->descriptor->title);
    if (format == KEY_TID && !options_has(options, FLAG_APPROVED_AT_ID))
        return errbuf_set(&cli->err, "this channel's keys hold the time of approval: give --approved-at MS "
                                     "(approved_at in landfall show)");
    const struct key_input input = {.instance = channel->instance,
                                    .account = channel->account,
                                    .operation = KEY_OPERATION_PUBLISH,
                                    .id = content->id,
                                    .generation = (unsigned)options->number[FLAG_GENERATION_ID],
                                    .content = content->canonical,
                                    .content_len = content->canonical_len,
                                    .approved_at_ms = options->number[FLAG_APPROVED_AT_ID]};
    return key_make(&input, format, key, why) || errbuf_set(&cli->err, "%s", why);
}

static bool print(const struct cli *cli, const struct channel *channel, const struct content *content, const char *key)
{
    char name[IDENTITY_NAME_BYTES];
    struct delivery_id id;
    if (!cli->json) {
        out_line(stdout, "%s", key);
        return true;
    }
    snprintf(id.channel, sizeof(id.channel), "%s", channel->name);
    snprintf(id.id, sizeof(id.id), "%s", content->id);
    identity_name(&id, name);
    json_t *all = json_object();
    out_set(all, "delivery", out_string(name));
    out_set(all, "key", out_string(key));
    out_set(all, "format", out_string(key_format_name(channel->descriptor->key_format)));
    out_set(all, "generation", json_integer(cli->options.number[FLAG_GENERATION_ID]));
    out_set(all, "content_hash", out_string(content->hash));
    return out_json(all);
}

enum cli_exit verb_key(struct cli *cli)
{
    const struct options *options = &cli->options;
    const char *name = options->value[FLAG_CHANNEL_ID];
    const struct items_source source = {.path = options->operand_count ? options->operand[0] : "-"};
    struct items *items = NULL;
    struct content content;
    char key[KEY_BYTES];
    if (!name) {
        errbuf_set(&cli->err, "missing: --channel CHANNEL");
        return cli_fail(cli, EXIT_USAGE);
    }
    if (!cli_load(cli)) return EXIT_USAGE;
    const struct channel *channel = channel_find(cli->fleet.channels, name);
    if (!channel) {
        errbuf_set(&cli->err, "%s is not configured here; the key depends on its platform", name);
        return cli_fail(cli, EXIT_USAGE);
    }
    bool ok = items_open(&source, &items, &cli->err);
    if (ok && read_item(cli, items, name, &content)) {
        ok = make(cli, channel, &content, key) && print(cli, channel, &content, key);
        content_fini(&content);
    } else {
        ok = false;
    }
    items_close(&items);
    return ok ? EXIT_FINE : cli_fail(cli, EXIT_USAGE);
}
