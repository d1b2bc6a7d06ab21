/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include <inttypes.h>

#include "cli/out.h"
#include "ledger/setup.h"

#define PATIENCE_ROUNDS 4 /* of redis.round_limit_ms each */

enum cli_exit cli_worse(enum cli_exit a, enum cli_exit b)
{
    static const int rank[] = {
        [EXIT_FINE] = 0, [EXIT_OPEN] = 1, [EXIT_MISSING] = 2, [EXIT_REJECTED] = 3, [EXIT_AWAY] = 4, [EXIT_USAGE] = 5};
    return rank[a] >= rank[b] ? a : b;
}

bool cli_load(struct cli *cli)
{
    bool ok = config_load(cli->options.value[FLAG_CONFIG_ID], &cli->config, &cli->err);
    ok = ok && fleet_load_bare(cli->config, &cli->fleet, &cli->err);
    cli->has_fleet = ok;
    if (ok) setup_name(cli->config, cli->name);
    ok = ok && setup_ledger(cli->config, cli->name, cli->fleet.longest_window_ms, &cli->ledger, &cli->err);
    if (!ok) cli_fail(cli, EXIT_USAGE);
    return ok;
}

enum cli_exit cli_connect(struct cli *cli)
{
    cli->link = setup_link(cli->config, &cli->ledger, cli->name);
    if (!link_open(cli->link, &cli->err) ||
        !reads_overview(&cli->ledger, cli->link, &cli->overview, cli_limit_ms(cli), &cli->err)) {
        setup_explain_away(cli->config, &cli->err);
        return cli_fail(cli, EXIT_AWAY);
    }
    if (!setup_home(&cli->ledger, &cli->overview.epoch, &cli->err)) return cli_fail(cli, EXIT_USAGE);
    return EXIT_FINE;
}

int64_t cli_now_ms(const struct cli *cli)
{
    return server_clock_now(link_clock(cli->link), clock_boottime_ms());
}

int64_t cli_limit_ms(const struct cli *cli)
{
    return cli->config->redis_round_limit_ms;
}

int64_t cli_patience_ms(const struct cli *cli)
{
    return PATIENCE_ROUNDS * cli_limit_ms(cli);
}

bool cli_keep(struct cli *cli)
{
    struct errbuf err;
    if (link_keep(cli->link, &err)) return true;
    if (err.text[0]) cli->err = err; /* else it is not tried yet */
    return false;
}

bool cli_check_partition(const struct cli *cli, const char *channel, struct errbuf *err)
{
    unsigned partition = names_partition(channel, (unsigned)cli->config->partitions);
    if (partition == (unsigned)cli->config->partition) return true;
    return errbuf_set(err, "%s lives in partition %u, this configuration serves %" PRId64 ": set LANDFALL_PARTITION=%u",
                      channel, partition, cli->config->partition, partition);
}

enum cli_exit cli_require_channel(struct cli *cli, const char *channel)
{
    struct reads_channel *channels = NULL;
    size_t count = 0;
    int64_t any = 0;
    if (!channel || channel_find(cli->fleet.channels, channel)) return EXIT_FINE;
    if (!reads_channels(&cli->ledger, cli->link, channel, &channels, &count, cli_limit_ms(cli), &cli->err))
        return cli_fail(cli, EXIT_AWAY);
    for (int i = 0; i < DS_COUNT; i++)
        any += channels[0].counts[i];
    const bool known = any > 0 || channels[0].paused;
    reads_channels_free(&channels);
    if (known) return EXIT_FINE;
    errbuf_set(&cli->err, "%s is not configured here and has no deliveries", channel);
    return cli_fail(cli, EXIT_MISSING);
}

enum cli_exit cli_fail(const struct cli *cli, enum cli_exit code)
{
    const char *verb = cli->options.verb != VERB_COUNT ? verb_table[cli->options.verb].name : "";
    out_line(stderr, "landfall%s%s: %s", verb[0] ? " " : "", verb, cli->err.text);
    if (cli->json) {
        json_t *document = json_object();
        out_set(document, "error", out_string(cli->err.text));
        out_set(document, "exit", json_integer(code));
        (void)out_json(document);
    }
    return code;
}

void cli_close(struct cli *cli)
{
    link_free(&cli->link);
    if (cli->has_fleet) fleet_fini(&cli->fleet);
    config_free(&cli->config);
}
