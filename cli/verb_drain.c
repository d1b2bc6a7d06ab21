/* SPDX-License-Identifier: MIT */
/*
 * Becomes landfall-reconciler drain. Nothing is read before, so that the environment, where credentials may be, is
 * whole.
 */
#include <errno.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/companion.h"

enum cli_exit verb_drain(struct cli *cli)
{
    const char *argv[OPTIONS_OPERANDS_MAX + 5] = {NULL, "drain"};
    int argc = 2;
    if (options_has(&cli->options, FLAG_CONFIG_ID)) { /* it stood before the verb */
        argv[argc++] = "--config";
        argv[argc++] = cli->options.value[FLAG_CONFIG_ID];
    }
    for (int i = 0; i < cli->options.operand_count; i++)
        argv[argc++] = cli->options.operand[i];
    companion_exec(argv);
    errbuf_set(&cli->err, "landfall-reconciler: %s; it belongs beside landfall or in $PATH", strerror(errno));
    return cli_fail(cli, EXIT_USAGE);
}
