/* SPDX-License-Identifier: MIT */
/*
 * limits: when may a channel send again, as its platform says it.
 *
 * Pure: no clock, no locale, no time zone of the machine. A moment is compared with the answer's own Date header, so
 * that a wrong clock here does not matter; without one with the caller's idea of the time. Platforms state waits in
 * many forms under the same header names, so the descriptor names the form. What is not positive and readable, and what
 * is absurd (more than a year ahead), is answered 0: the caller uses its own backoff. What is left is clamped to
 * LIMITS_MIN_MS .. LIMITS_MAX_MS.
 */
#ifndef LANDFALL_PLATFORMS_LIMITS_H
#define LANDFALL_PLATFORMS_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIMITS_MIN_MS INT64_C(1000)
#define LIMITS_MAX_MS INT64_C(3600000)

/*
 * X(symbol, name in a descriptor)
 *   seconds_or_date  Retry-After of RFC 9110: seconds, or an HTTP date in one of its three forms
 *   epoch_s          a moment in seconds since 1970, a fraction is allowed
 *   epoch_ms         a moment in milliseconds since 1970
 *   delta_s          seconds from now, a fraction is allowed
 *   iso8601          a moment as RFC 3339 writes it
 *   body             seconds from now, read from the body by the descriptor's program `at`
 *
 * Servers that imitate one another put epochs where the original has ISO times and the other way round, so the three
 * forms of a moment read each other's texts; a plain number too small to be a moment is taken as seconds from now.
 */
#define LIMITS_FORMS(X)                                                                                                \
    X(SECONDS_OR_DATE, "seconds_or_date")                                                                              \
    X(EPOCH_S, "epoch_s")                                                                                              \
    X(EPOCH_MS, "epoch_ms")                                                                                            \
    X(DELTA_S, "delta_s")                                                                                              \
    X(ISO8601, "iso8601")                                                                                              \
    X(BODY, "body")

enum limits_form {
#define X(symbol, name) LIMITS_##symbol,
    LIMITS_FORMS(X)
#undef X
        LIMITS_FORM_COUNT
};

/* How long to wait, in ms, or 0. now_ms: Unix time of the answer. value may be NULL. */
int64_t limits_wait_ms(enum limits_form form, const char *value, int64_t now_ms);

/* A wait in seconds as a body states it, in ms, or 0. */
int64_t limits_clamp_seconds(double seconds);

/* True if a header that counts what is left says that nothing is: a plain number below one. value may be NULL. */
bool limits_none_left(const char *value);

/* Reads an HTTP date (RFC 9110, 5.6.7: IMF-fixdate, RFC 850 and asctime forms) as Unix ms. now_ms resolves years of two
 * digits. False for anything else. */
bool limits_http_date(const char *text, int64_t now_ms, int64_t *out_ms);

#endif
