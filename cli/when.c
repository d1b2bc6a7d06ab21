/* SPDX-License-Identifier: MIT */
#include "cli/when.h"

#include <stdio.h>
#include <string.h>

#include "keys/base.h"
#include "runtime/clock.h"

bool when_parse(const char *text, struct when *out, struct errbuf *err)
{
    char quoted[KEYS_QUOTE_BYTES];
    if (when_read(text, out)) return true;
    return errbuf_set(err, "%s is no time: write 2026-09-01T09:00:00+02:00, or a span such as 90s, 15m, 2h30m, 7d",
                      keys_quote(text, strlen(text), quoted));
}

const char *when_text(int64_t ms, int64_t now_ms, char out[WHEN_TEXT_BYTES])
{
    char span[CLOCK_DURATION_SIZE];
    char moment[CLOCK_RFC3339_SIZE];
    clock_rfc3339(ms, moment);
    if (ms == 0)
        snprintf(out, WHEN_TEXT_BYTES, "-");
    else if (ms > now_ms + 999)
        snprintf(out, WHEN_TEXT_BYTES, "in %s (%s)", clock_duration(ms - now_ms, span), moment);
    else if (ms < now_ms - 999)
        snprintf(out, WHEN_TEXT_BYTES, "%s ago (%s)", clock_duration(now_ms - ms, span), moment);
    else
        snprintf(out, WHEN_TEXT_BYTES, "now (%s)", moment);
    return out;
}
