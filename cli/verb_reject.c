/* SPDX-License-Identifier: MIT */
/* As cancel, for who was asked to approve: the reason stays with the delivery, where show finds it. */
#include "cli/operate.h"

enum cli_exit verb_reject(struct cli *cli)
{
    const struct operation operation = {
        .act = {.event = EV_CANCEL, .in_doubt = options_has(&cli->options, FLAG_IN_DOUBT_ID)},
        .word = "reject",
        .detail = cli->options.value[FLAG_WHY_ID],
        .states = PICK_STATE(DS_HELD),
        .reason = RS_APPROVAL,
    };
    return operate(cli, &operation);
}
