/* SPDX-License-Identifier: MIT */
/* The claims that run now: who sends what, for how long already, and when it is taken from them. */
#include <inttypes.h>

#include "cli/batches.h"
#include "cli/notes.h"
#include "cli/out.h"
#include "ledger/inventory.h"

struct leases {
    struct cli *cli;
    json_t *list, *notes;
    int64_t of_claimed; /* leases that a claimed row stands behind */
};

static void take(size_t i, const char *name, const struct reads_delivery *d, void *context)
{
    struct leases *leases = context;
    const int64_t now_ms = cli_now_ms(leases->cli);
    const struct row *row = &d->row;
    (void)i;
    if (!d->lease_holder[0]) return; /* it has ended meanwhile */
    bool claimed = d->readable && row->core.state == DS_CLAIMED;
    leases->of_claimed += claimed;
    json_t *one = json_object();
    out_set(one, "delivery", out_string(name));
    out_set(one, "worker", out_string(d->lease_holder));
    out_set(one, "attempt", json_integer(d->lease_attempt));
    out_set(one, "state", out_string(d->readable ? delivery_state_name(row->core.state) : "unreadable"));
    out_set(one, "claimed_at_ms", out_time(claimed ? row->claimed_at_ms : 0));
    out_set(one, "age_ms", claimed && row->claimed_at_ms ? json_integer(now_ms - row->claimed_at_ms) : json_null());
    out_set(one, "left_ms", d->lease_left_ms >= 0 ? json_integer(d->lease_left_ms) : json_null());
    out_add(leases->list, one);
    if (!claimed)
        out_add_format(leases->notes, "%s: a lease, and no claim behind it: it is %s", name,
                       d->readable ? delivery_state_name(row->core.state) : "unreadable");
    if (d->lease_left_ms < 0)
        out_add_format(leases->notes, "%s: its lease has no end: delete it once %s is gone", name, d->lease_holder);
}

/* Claims that nobody holds any more. */
static bool note_lost(struct leases *leases)
{
    struct cli *cli = leases->cli;
    struct reads_channel *channels = NULL;
    size_t count = 0;
    int64_t claimed = 0;
    if (!reads_channels(&cli->ledger, cli->link, cli->options.value[FLAG_CHANNEL_ID], &channels, &count,
                        cli_limit_ms(cli), &cli->err))
        return false;
    for (size_t i = 0; i < count; i++)
        claimed += channels[i].counts[DS_CLAIMED];
    reads_channels_free(&channels);
    if (claimed > leases->of_claimed)
        out_add_format(leases->notes,
                       "%" PRId64 " claimed without a lease: the next worker that looks makes them uncertain",
                       claimed - leases->of_claimed);
    return true;
}

static void print_lease(const json_t *one)
{
    char age[CLOCK_DURATION_SIZE], left[CLOCK_DURATION_SIZE];
    const json_t *age_ms = json_object_get(one, "age_ms"), *left_ms = json_object_get(one, "left_ms");
    out_line(stdout, "%-40s %-28s %7" JSON_INTEGER_FORMAT " %12s %12s",
             json_string_value(json_object_get(one, "delivery")), json_string_value(json_object_get(one, "worker")),
             json_integer_value(json_object_get(one, "attempt")),
             json_is_integer(age_ms) ? clock_duration(json_integer_value(age_ms), age) : "-",
             json_is_integer(left_ms) ? clock_duration(json_integer_value(left_ms), left) : "no end");
}

static enum cli_exit tell(const struct leases *leases)
{
    if (leases->cli->json) {
        json_t *all = json_object();
        out_set(all, "now_ms", json_integer(cli_now_ms(leases->cli)));
        out_set(all, "leases", json_incref(leases->list));
        out_set(all, "notes", json_incref(leases->notes));
        return out_json(all) ? EXIT_FINE : EXIT_USAGE;
    }
    out_line(stdout, "%-40s %-28s %7s %12s %12s", "delivery", "worker", "attempt", "age", "left");
    for (size_t i = 0; i < json_array_size(leases->list); i++)
        print_lease(json_array_get(leases->list, i));
    notes_print(leases->notes);
    return EXIT_FINE;
}

enum cli_exit verb_leases(struct cli *cli)
{
    const char *channel = cli->options.value[FLAG_CHANNEL_ID];
    struct leases leases = {.cli = cli};
    char **names = NULL;
    size_t count = 0;
    if (!cli_load(cli)) return EXIT_USAGE;
    if (channel && !cli_check_partition(cli, channel, &cli->err)) return cli_fail(cli, EXIT_USAGE);
    enum cli_exit code = cli_connect(cli);
    if (code == EXIT_FINE) code = cli_require_channel(cli, channel);
    if (code != EXIT_FINE) return code;
    leases.list = json_array();
    leases.notes = json_array();
    bool ok =
        inventory_read(&cli->ledger, cli->link, NAMES_LEASE, channel, &names, &count, cli_limit_ms(cli), &cli->err);
    ok = ok && batches_read(cli, names, count, take, &leases) && note_lost(&leases);
    code = ok ? tell(&leases) : cli_fail(cli, EXIT_AWAY);
    inventory_free(&names, count);
    json_decref(leases.list);
    json_decref(leases.notes);
    return code;
}
