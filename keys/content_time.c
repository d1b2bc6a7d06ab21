/* SPDX-License-Identifier: MIT */
/* RFC 3339 times, read strictly and without the C library's calendar, which asks the locale and the time zone. */
#include "keys/content.h"

#include <string.h>

/* What is left of the text; a failed step leaves it anywhere. */
struct cursor {
    const char *at;
};

static bool number(struct cursor *cursor, int digit_count, int *out)
{
    *out = 0;
    for (int i = 0; i < digit_count; i++, cursor->at++) {
        if (*cursor->at < '0' || *cursor->at > '9') return false;
        *out = *out * 10 + (*cursor->at - '0');
    }
    return true;
}

static bool one_of(struct cursor *cursor, const char *set, char *out)
{
    *out = *cursor->at;
    if (!*out || !strchr(set, *out)) return false;
    cursor->at++;
    return true;
}

struct parts {
    int year, month, day, hour, minute, second, millisecond;
    int offset_minutes;
};

static bool read_fraction(struct cursor *cursor, int *millisecond)
{
    int place = 100;

    *millisecond = 0;
    if (*cursor->at != '.') return true;
    cursor->at++;
    if (*cursor->at < '0' || *cursor->at > '9') return false;
    for (; *cursor->at >= '0' && *cursor->at <= '9'; cursor->at++) {
        *millisecond += place * (*cursor->at - '0');
        place /= 10;
    }
    return true;
}

static bool read_offset(struct cursor *cursor, int *minutes)
{
    int hour;
    int minute;
    char sign;

    *minutes = 0;
    if (!one_of(cursor, "Zz+-", &sign)) return false;
    if (sign == 'Z' || sign == 'z') return true;
    char colon;
    if (!number(cursor, 2, &hour) || !one_of(cursor, ":", &colon) || !number(cursor, 2, &minute)) return false;
    *minutes = (sign == '-' ? -1 : 1) * (hour * 60 + minute);
    return hour < 24 && minute < 60;
}

static bool read_date_and_clock(struct cursor *cursor, struct parts *parts)
{
    char c;
    return number(cursor, 4, &parts->year) && one_of(cursor, "-", &c) && number(cursor, 2, &parts->month) &&
           one_of(cursor, "-", &c) && number(cursor, 2, &parts->day) && one_of(cursor, "Tt", &c) &&
           number(cursor, 2, &parts->hour) && one_of(cursor, ":", &c) && number(cursor, 2, &parts->minute) &&
           one_of(cursor, ":", &c) && number(cursor, 2, &parts->second) && read_fraction(cursor, &parts->millisecond);
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

/* Days since 1 January 1970 in the Gregorian calendar, counted in years that begin in March. */
static int64_t days_since_1970(int year, int month, int day)
{
    int64_t y = month > 2 ? year : year - 1;
    int64_t m = month > 2 ? month - 3 : month + 9;
    int64_t era_start = y >= 0 ? y / 400 : (y - 399) / 400;
    int64_t year_of_era = y - era_start * 400;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + (153 * m + 2) / 5 + day - 1;
    return era_start * 146097 + day_of_era - 719468;
}

bool content_time(const char *text, int64_t *out_ms, char err[KEYS_ERR_BYTES])
{
    char quoted[KEYS_QUOTE_BYTES];
    struct cursor cursor = {text};
    struct parts p;

    keys_quote(text, strlen(text), quoted);
    if (!read_date_and_clock(&cursor, &p))
        return keys_fail(err, "%s is not an RFC 3339 time; write it as 2026-09-01T09:00:00+02:00", quoted);
    if (!*cursor.at)
        return keys_fail(err, "%s has no offset from UTC; add one at the end, Z or +02:00 for example", quoted);
    if (!read_offset(&cursor, &p.offset_minutes) || *cursor.at)
        return keys_fail(err, "%s does not end with an offset from UTC; end it with Z or +02:00 for example", quoted);
    if (p.month < 1 || p.month > 12 || p.day < 1 || p.day > days_in_month(p.year, p.month))
        return keys_fail(err, "%s names a day that no calendar has; correct the date", quoted);
    if (p.second == 60) return keys_fail(err, "%s is a leap second, which cannot be kept; write second 59", quoted);
    if (p.hour > 23 || p.minute > 59 || p.second > 59)
        return keys_fail(err, "%s names a time that no clock shows; correct it", quoted);

    int64_t minutes = (days_since_1970(p.year, p.month, p.day) * 24 + p.hour) * 60 + p.minute - p.offset_minutes;
    *out_ms = (minutes * 60 + p.second) * 1000 + p.millisecond;
    return true;
}
