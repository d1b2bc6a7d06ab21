/* SPDX-License-Identifier: MIT */
#include "cli/operate.h"

enum cli_exit verb_approve(struct cli *cli)
{
    const struct operation operation = {
        .act = {.event = EV_APPROVE},
        .word = "approve",
        .resends = true,
        .reads = true,
        .states = PICK_STATE(DS_HELD),
        .reason = RS_APPROVAL,
    };
    return operate(cli, &operation);
}
