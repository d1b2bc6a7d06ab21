/* SPDX-License-Identifier: MIT */
#include "core/backoff.h"

int64_t backoff_ms(int failures, int64_t base_ms, int64_t cap_ms, uint32_t jitter)
{
    int64_t d = base_ms < 1 ? 1 : base_ms;
    for (int i = 1; i < failures && d < cap_ms; i++)
        d = d > INT64_MAX / 2 ? INT64_MAX / 2 : d * 2;
    if (d > cap_ms) d = cap_ms;
    if (d < 1) d = 1;
    int64_t half = d / 2;
    int64_t wait = half + (int64_t)(jitter % (uint64_t)(d - half + 1));
    return wait < 1 ? 1 : wait;
}
