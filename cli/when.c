/* SPDX-License-Identifier: MIT */
#include "cli/when.h"

#include <stdio.h>
#include <string.h>

#include "keys/content.h"
#include "runtime/clock.h"

#define SPAN_MAX_MS INT64_C(315576000000) /* ten years */

static int64_t unit_ms(char unit)
{
    switch (unit) {
    case 's': return 1000;
    case 'm': return 60000;
    case 'h': return 3600000;
    case 'd': return 86400000;
    default: return 0;
    }
}

/* False if the text is no span. */
static bool parse_span(const char *text, int64_t *out_ms)
{
    int64_t total_ms = 0;
    do {
        int64_t number = 0;
        size_t digits = strspn(text, "0123456789");
        if (digits == 0 || digits > 9) return false;
        for (size_t i = 0; i < digits; i++)
            number = number * 10 + (text[i] - '0');
        int64_t unit = unit_ms(text[digits]);
        if (unit == 0) return false;
        total_ms += number * unit; /* 10^9 days and a few more fit easily */
        if (total_ms > SPAN_MAX_MS) return false;
        text += digits + 1;
    } while (*text != '\0');
    *out_ms = total_ms;
    return true;
}

bool when_parse(const char *text, struct when *out, struct errbuf *err)
{
    char why[KEYS_ERR_BYTES];
    char quoted[KEYS_QUOTE_BYTES];
    out->span = parse_span(text, &out->ms);
    if (out->span || content_time(text, &out->ms, why)) return true;
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
