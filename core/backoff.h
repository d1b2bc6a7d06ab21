/* SPDX-License-Identifier: MIT */
/* How long to wait before the next try. */
#ifndef LANDFALL_CORE_BACKOFF_H
#define LANDFALL_CORE_BACKOFF_H

#include <stdint.h>

/* Milliseconds to wait after `failures` failures (1 = the first): base * 2^(failures-1), capped first and jittered
 * afterwards, so that a fleet that has reached the cap does not come back all at once. Result in [d/2, d] for d =
 * min(cap, ...), never below 1. */
int64_t backoff_ms(int failures, int64_t base_ms, int64_t cap_ms, uint32_t jitter);

#endif
