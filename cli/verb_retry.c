/* SPDX-License-Identifier: MIT */
#include "cli/operate.h"

enum cli_exit verb_retry(struct cli *cli)
{
    const struct operation operation = {
        .act = {.event = EV_RETRY, .new_key = options_has(&cli->options, FLAG_NEW_KEY_ID)},
        .word = "retry",
        .resends = true,
        .reads = true,
        .states = PICK_STATE(DS_HELD),
        .reason = -1,
    };
    return operate(cli, &operation);
}
