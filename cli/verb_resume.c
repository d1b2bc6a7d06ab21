/* SPDX-License-Identifier: MIT */
#include "cli/pausing.h"

enum cli_exit verb_resume(struct cli *cli)
{
    return pausing(cli, CHANNEL_RESUME);
}
