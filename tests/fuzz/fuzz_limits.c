/* SPDX-License-Identifier: MIT */
/* What headers say about waiting, in every form that there is. */
#include "platforms/limits.h"

#include "tests/fuzz/kit.h"

#define NOW_MS INT64_C(1790000000000)

void fuzz_begin(void)
{
}

void fuzz_one(struct fuzz_input *input)
{
    size_t len;
    int64_t time_ms = 0;
    char *text = fuzz_text(input, &len);
    for (int form = 0; form < LIMITS_FORM_COUNT; form++) {
        int64_t wait_ms = limits_wait_ms((enum limits_form)form, text, NOW_MS);
        REQUIRE(wait_ms == 0 || (wait_ms >= LIMITS_MIN_MS && wait_ms <= LIMITS_MAX_MS));
    }
    (void)limits_http_date(text, NOW_MS, &time_ms);
    int64_t wait_ms = limits_clamp_seconds(strtod(text, NULL));
    REQUIRE(wait_ms == 0 || (wait_ms >= LIMITS_MIN_MS && wait_ms <= LIMITS_MAX_MS));
    free(text);
}
