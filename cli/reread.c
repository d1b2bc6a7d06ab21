/* SPDX-License-Identifier: MIT */
#include "cli/reread.h"

#include <stdlib.h>

#include "cli/batches.h"
#include "cli/out.h"
#include "platforms/lookup.h"
#include "runtime/die.h"

bool reread_open(struct cli *cli, bool wanted, const char *ext_id, struct reread *out)
{
    *out = (struct reread){.off = !wanted};
    return !wanted || reader_open(cli->options.value[FLAG_CONFIG_ID], ext_id, &out->reader, &cli->err);
}

void reread_close(struct reread *reread)
{
    reader_close(&reread->reader);
    json_decref(reread->readings);
    reread->readings = NULL;
}

/* As claims see it: approved, and not proven absent, before the ledger was set back. */
static bool is_forgotten(const struct cli *cli, const struct row *row, const struct channel *configured)
{
    const int64_t rewound_at_ms = cli->overview.epoch.rewound_at_ms;
    if (configured && configured->policy.harmless) return false;
    return row->core.approved_at_ms < rewound_at_ms && row->cleared_at_ms < rewound_at_ms;
}

struct act_facts reread_facts(const struct cli *cli, const char *channel, const struct reads_delivery *read)
{
    const struct channel *configured = channel_find(cli->fleet.channels, channel);
    const bool leased = read->lease_holder[0] && read->lease_left_ms > 0;
    return (struct act_facts){.row = &read->row.core,
                              .policy = configured ? &configured->policy : NULL,
                              .defaults = &cli->fleet.defaults,
                              .now_ms = cli_now_ms(cli),
                              .lease_ends_ms = leased ? cli_now_ms(cli) + read->lease_left_ms : 0,
                              .forgotten = is_forgotten(cli, &read->row, configured),
                              .by_id = configured && lookup_given(configured, LOOKUP_BY_ID)};
}

/* ---- which are read */

struct choice {
    const struct cli *cli;
    const struct act *act;
    const struct pick *pick;
    const char **names; /* borrowed from the pick */
    size_t count;
};

static void choose(size_t i, const char *name, const struct reads_delivery *read, void *context)
{
    struct choice *choice = context;
    char channel[IDENTITY_CHANNEL_BYTES];
    (void)name;
    if (!read->readable || !pick_fits(choice->pick, &read->row.core)) return;
    batches_channel(choice->pick->names[i], channel);
    const struct act_facts facts = reread_facts(choice->cli, channel, read);
    if (act_wants_reading(choice->act, &facts)) choice->names[choice->count++] = choice->pick->names[i];
}

bool reread_read(struct cli *cli, const struct act *act, const struct pick *pick, struct reread *reread)
{
    if (reread->off) return true;
    struct choice choice = {cli, act, pick, xcalloc(pick->count, sizeof(*choice.names)), 0};
    const bool ok = batches_read(cli, pick->names, pick->count, choose, &choice);
    struct errbuf err = {{0}};
    if (ok && choice.count > 0 && !reader_ask(&reread->reader, choice.names, choice.count, &reread->readings, &err))
        out_line(stderr, "landfall: %s", err.text);
    free(choice.names);
    return ok;
}

/* ---- what was said */

static const char *text_at(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

static int64_t number_at(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

bool reread_find(const struct reread *reread, const char *delivery, struct act_reading *out)
{
    const json_t *said = json_object_get(reread->readings, delivery);
    const json_t *evidence = json_object_get(said, "evidence");
    const char *event = text_at(evidence, "event"), *why = text_at(said, "why");
    const int known = event ? delivery_event_from_name(event) : -1;
    if (known != EV_FOUND && known != EV_ABSENT && known != EV_GONE && known != EV_UNSEEN) return false;
    *out = (struct act_reading){.event = (enum delivery_event)known,
                                .rev = number_at(said, "rev"),
                                .settled = json_is_true(json_object_get(said, "settled")),
                                .settled_at_ms = number_at(said, "settled_at_ms"),
                                .again_ms = number_at(said, "again_ms"),
                                .ext_id = text_at(evidence, "ext_id"),
                                .url = text_at(evidence, "url"),
                                .duplicate_id = text_at(evidence, "duplicate"),
                                .why = why ? why : ""};
    return true;
}
