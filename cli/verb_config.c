/* SPDX-License-Identifier: MIT */
/* What is in force. The channels are checked as every program checks them. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/config_json.h"
#include "cli/out.h"

enum cli_exit verb_config(struct cli *cli)
{
    if (!cli_load(cli)) return EXIT_USAGE;
    if (cli->json) return out_json(config_json(cli->config, &cli->fleet)) ? EXIT_FINE : EXIT_USAGE;
    config_print(cli->config, stdout);
    for (size_t i = 0; i < channel_set_count(cli->fleet.channels); i++)
        out_line(stdout, "channel %s", channel_set_at(cli->fleet.channels, i)->name);
    return EXIT_FINE;
}
