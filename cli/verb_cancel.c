/* SPDX-License-Identifier: MIT */
#include "cli/operate.h"

enum cli_exit verb_cancel(struct cli *cli)
{
    const bool in_doubt = options_has(&cli->options, FLAG_IN_DOUBT_ID);
    const struct operation operation = {
        .act = {.event = EV_CANCEL, .in_doubt = in_doubt},
        .word = "cancel",
        .states = PICK_STATE(DS_APPROVED) | PICK_STATE(DS_HELD) | (in_doubt ? PICK_STATE(DS_UNCERTAIN) : 0),
        .reason = -1,
    };
    return operate(cli, &operation);
}
