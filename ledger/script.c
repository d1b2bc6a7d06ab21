/* SPDX-License-Identifier: MIT */
#include "ledger/script.h"

#include "ledger/errors.h"

bool script_forgotten(const char *error_text)
{
    return errors_action(error_text) == ERRORS_LOAD;
}
