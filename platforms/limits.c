/* SPDX-License-Identifier: MIT */
/*
 * Readers for the forms in which platforms state a wait. All of them walk over ASCII bytes by hand: strtod(),
 * strptime() and timegm() look at the locale or the time zone, and libcurl's CURLINFO_RETRY_AFTER gives negative
 * numbers for dates that have passed (seen with 7.88.1).
 */
#include "platforms/limits.h"

#include <string.h>

#include "keys/content.h"

#define MS_PER_SECOND INT64_C(1000)
#define MS_PER_DAY    INT64_C(86400000)

/* A plain number below this is a span, not a moment: as seconds since 1970 it would be before 1974. */
#define SPAN_LIMIT_MS (INT64_C(100000000) * MS_PER_SECOND)
/* A moment of more seconds than this is one in milliseconds: as seconds it would be after the year 5000. */
#define EPOCH_S_LIMIT_MS (INT64_C(100000000000) * MS_PER_SECOND)
/* A wait beyond this is a mistake of somebody's, not a wish. */
#define ABSURD_MS (366 * MS_PER_DAY)

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *skip_spaces(const char *p)
{
    while (*p == ' ' || *p == '\t')
        p++;
    return p;
}

/* Exactly `width` digits (or, for width 0, one to twelve). NULL if they are not there. */
static const char *take_number(const char *p, int width, int64_t *out)
{
    int64_t n = 0;
    int digits = 0;
    int max = width ? width : 12;
    while (digits < max && is_digit(*p)) {
        n = n * 10 + (*p++ - '0');
        digits++;
    }
    if (digits == 0 || (width && digits != width) || is_digit(*p)) return NULL;
    *out = n;
    return p;
}

/* digits [ "." digits ], times 1000 and cut; white space around it. At most 15 digits before the point. */
static bool read_decimal_ms(const char *p, int64_t *out_ms)
{
    p = skip_spaces(p);
    int64_t n = 0;
    int digits = 0;
    for (; is_digit(*p); p++, digits++) {
        if (digits >= 15) return false;
        n = n * 10 + (*p - '0');
    }
    if (digits == 0) return false;
    n *= MS_PER_SECOND;
    if (*p == '.') {
        int64_t unit = MS_PER_SECOND / 10;
        for (p++; is_digit(*p); p++) {
            n += (*p - '0') * unit;
            unit /= 10;
        }
    }
    if (*skip_spaces(p) != '\0') return false;
    *out_ms = n;
    return true;
}

/* Days from 1970-01-01 to a day of the Gregorian calendar; the year starts in March, so that the leap day is its last.
 */
static int64_t days_from_date(int64_t year, int64_t month, int64_t day)
{
    year -= month <= 2;
    int64_t era = year / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

struct http_time {
    int64_t year, month, day, hour, minute, second;
};

static bool http_time_ms(const struct http_time *t, int64_t *out_ms)
{
    static const char month_days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (t->year % 4 == 0 && t->year % 100 != 0) || t->year % 400 == 0;
    if (t->year < 1900 || t->day < 1 || t->day > month_days[t->month - 1] || t->hour > 23 || t->minute > 59 ||
        t->second > 60 || (t->month == 2 && t->day == 29 && !leap))
        return false;
    int64_t seconds = t->hour * 3600 + t->minute * 60 + t->second;
    *out_ms = days_from_date(t->year, t->month, t->day) * MS_PER_DAY + seconds * MS_PER_SECOND;
    return true;
}

static const char *take_word(const char *p, const char *word)
{
    size_t len = strlen(word);
    return p && strncmp(p, word, len) == 0 ? p + len : NULL;
}

static const char *take_month(const char *p, int64_t *out)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (int i = 0; p && i < 12; i++) {
        if (strncmp(p, months + 3 * i, 3) == 0) {
            *out = i + 1;
            return p + 3;
        }
    }
    return NULL;
}

static const char *take_clock(const char *p, struct http_time *t)
{
    p = p ? take_number(p, 2, &t->hour) : NULL;
    p = take_word(p, ":");
    p = p ? take_number(p, 2, &t->minute) : NULL;
    p = take_word(p, ":");
    return p ? take_number(p, 2, &t->second) : NULL;
}

/* "06 Nov 1994 08:49:37 GMT" and "06-Nov-94 08:49:37 GMT": what stands behind the comma. */
static bool read_day_first(const char *p, const char *separator, int64_t now_ms, struct http_time *t)
{
    p = take_number(p, 2, &t->day);
    p = take_word(p, separator);
    p = take_month(p, &t->month);
    p = take_word(p, separator);
    bool short_year = *separator == '-';
    p = p ? take_number(p, short_year ? 2 : 4, &t->year) : NULL;
    p = take_word(p, " ");
    p = take_clock(p, t);
    p = take_word(p, " GMT");
    if (!p || *skip_spaces(p) != '\0') return false;
    if (short_year) {
        /* RFC 9110: more than 50 years ahead means the last century. */
        int64_t this_year = 1970 + now_ms / (MS_PER_DAY * 365 + MS_PER_DAY / 4);
        t->year += this_year - this_year % 100;
        if (t->year > this_year + 50) t->year -= 100;
    }
    return true;
}

/* "Nov  6 08:49:37 1994": what stands behind the name of the day. */
static bool read_month_first(const char *p, struct http_time *t)
{
    p = take_month(p, &t->month);
    p = take_word(p, " ");
    p = p ? take_number(skip_spaces(p), 0, &t->day) : NULL;
    p = take_word(p, " ");
    p = take_clock(p, t);
    p = take_word(p, " ");
    p = p ? take_number(p, 4, &t->year) : NULL;
    return p && *skip_spaces(p) == '\0';
}

bool limits_http_date(const char *text, int64_t now_ms, int64_t *out_ms)
{
    const char *p = skip_spaces(text);
    size_t day_name = strspn(p, "abcdefghijklmnopqrstuvwxyzADEFGHIMNORSTUW");
    if (day_name < 3) return false;
    p += day_name;
    struct http_time t = {0};
    bool read;
    if (strncmp(p, ", ", 2) == 0)
        read = read_day_first(p + 2, " ", now_ms, &t) || read_day_first(p + 2, "-", now_ms, &t);
    else
        read = *p == ' ' && read_month_first(p + 1, &t);
    return read && http_time_ms(&t, out_ms);
}

static int64_t clamp(int64_t wait_ms)
{
    if (wait_ms <= 0 || wait_ms > ABSURD_MS) return 0;
    if (wait_ms < LIMITS_MIN_MS) return LIMITS_MIN_MS;
    return wait_ms > LIMITS_MAX_MS ? LIMITS_MAX_MS : wait_ms;
}

static int64_t until(int64_t moment_ms, int64_t now_ms)
{
    return moment_ms > now_ms ? moment_ms - now_ms : 0;
}

/* A moment in any of its forms, as the wait from now. */
static int64_t wait_until_moment(const char *value, int64_t now_ms)
{
    char err[KEYS_ERR_BYTES];
    int64_t ms;
    if (read_decimal_ms(value, &ms)) {
        if (ms < SPAN_LIMIT_MS) return ms;
        return until(ms < EPOCH_S_LIMIT_MS ? ms : ms / MS_PER_SECOND, now_ms);
    }
    value = skip_spaces(value);
    if (content_time(value, &ms, err) || limits_http_date(value, now_ms, &ms)) return until(ms, now_ms);
    return 0;
}

int64_t limits_wait_ms(enum limits_form form, const char *value, int64_t now_ms)
{
    int64_t ms = 0;
    if (!value) return 0;
    switch (form) {
    case LIMITS_SECONDS_OR_DATE:
        if (!read_decimal_ms(value, &ms) && limits_http_date(value, now_ms, &ms)) ms = until(ms, now_ms);
        return clamp(ms);
    case LIMITS_EPOCH_S:
    case LIMITS_EPOCH_MS:
    case LIMITS_ISO8601: return clamp(wait_until_moment(value, now_ms));
    case LIMITS_DELTA_S:
    case LIMITS_BODY: return read_decimal_ms(value, &ms) ? clamp(ms) : 0;
    case LIMITS_FORM_COUNT: break;
    }
    return 0;
}

bool limits_none_left(const char *value)
{
    int64_t thousandths;
    return value && read_decimal_ms(value, &thousandths) && thousandths < MS_PER_SECOND;
}

int64_t limits_clamp_seconds(double seconds)
{
    if (!(seconds > 0) || seconds > (double)ABSURD_MS / 1000) return 0;
    return clamp((int64_t)(seconds * 1000 + 0.5));
}
