/* SPDX-License-Identifier: MIT */
/*
 * ledger_line: a row as one line that can be committed: members in a fixed order, times as text, and nothing in it that
 * changes while the delivery's state does not. What export prints and archive keeps.
 */
#ifndef LANDFALL_CLI_LEDGER_LINE_H
#define LANDFALL_CLI_LEDGER_LINE_H

#include <jansson.h>

#include "ledger/row.h"

/* The caller's. */
json_t *ledger_line(const char *delivery, const struct row *row);
/* Of a row that cannot be read. */
json_t *ledger_line_unreadable(const char *delivery, const char *why);
/* Its bytes, without a line feed; the caller frees. */
char *ledger_line_text(const json_t *line);

#endif
