/* SPDX-License-Identifier: MIT */
/*
 * when: times as people write and read them. Pure: the caller says what time it is.
 */
#ifndef LANDFALL_CLI_WHEN_H
#define LANDFALL_CLI_WHEN_H

#include <stdbool.h>
#include <stdint.h>

#include "keys/when.h"
#include "runtime/errbuf.h"

#define WHEN_TEXT_BYTES 96

/* when_read(), and err says what can be written. */
MUSTCHECK bool when_parse(const char *text, struct when *out, struct errbuf *err);

/* "in 5 min (2026-09-01T07:00:00.000Z)" or "3 h ago (...)"; "now" within a second; "-" for 0. Returns out. */
const char *when_text(int64_t ms, int64_t now_ms, char out[WHEN_TEXT_BYTES]);

#endif
