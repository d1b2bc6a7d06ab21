/* SPDX-License-Identifier: MIT */
#include "keys/when.h"

#include <string.h>

#include "keys/content.h"

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

bool when_read(const char *text, struct when *out)
{
    char why[KEYS_ERR_BYTES];
    out->span = parse_span(text, &out->ms);
    return out->span || content_time(text, &out->ms, why);
}
