/* SPDX-License-Identifier: MIT */
#include "runtime/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "runtime/die.h"

static int64_t read_ms(clockid_t id)
{
    struct timespec now;
    if (clock_gettime(id, &now) != 0) {
        die("the clock cannot be read: %s", strerror(errno));
    }
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t clock_boottime_ms(void)
{
    return read_ms(CLOCK_BOOTTIME);
}

int64_t clock_wall_ms(void)
{
    return read_ms(CLOCK_REALTIME);
}

void server_clock_note(struct server_clock *clock, int64_t server_ms, int64_t sent_boot_ms, int64_t received_boot_ms)
{
    *clock = (struct server_clock){
        .known = true, .server_ms = server_ms, .sent_boot_ms = sent_boot_ms, .received_boot_ms = received_boot_ms};
}

int64_t server_clock_now(const struct server_clock *clock, int64_t now_boot_ms)
{
    return clock->known ? clock->server_ms + (now_boot_ms - clock->received_boot_ms) : 0;
}

int64_t server_clock_latest(const struct server_clock *clock, int64_t now_boot_ms)
{
    return clock->known ? clock->server_ms + (now_boot_ms - clock->sent_boot_ms) : INT64_MAX;
}

int64_t server_clock_leap(const struct server_clock *clock, int64_t server_ms, int64_t sent_boot_ms,
                          int64_t received_boot_ms)
{
    if (!clock->known) {
        return 0;
    }
    /* The answer was made between sending and receiving, so its time lies between these two unless a clock leapt. */
    int64_t ahead = server_ms - server_clock_latest(clock, received_boot_ms);
    int64_t behind = server_clock_now(clock, sent_boot_ms) - server_ms;
    if (ahead > SERVER_CLOCK_LEAP_MS) {
        return ahead;
    }
    return behind > SERVER_CLOCK_LEAP_MS ? -behind : 0;
}

/* Two digits and what stands behind them. Twice for each delivery: strftime and printf take two thousand instructions.
 */
static char *put_two(char *out, int number, char behind)
{
    out[0] = (char)('0' + number / 10);
    out[1] = (char)('0' + number % 10);
    out[2] = behind;
    return out + 3;
}

const char *clock_rfc3339(int64_t unix_ms, char out[CLOCK_RFC3339_SIZE])
{
    int64_t ms = ((unix_ms % 1000) + 1000) % 1000;
    time_t seconds = (time_t)(unix_ms / 1000 - (unix_ms % 1000 < 0 ? 1 : 0)); /* floor, also before 1970 */
    struct tm parts;

    if (!gmtime_r(&seconds, &parts) || parts.tm_year < -1900 || parts.tm_year > 9999 - 1900) {
        (void)snprintf(out, CLOCK_RFC3339_SIZE, "-");
        return out;
    }
    int year = parts.tm_year + 1900;
    char *at = put_two(out, year / 100, ' ') - 1;
    at = put_two(at, year % 100, '-');
    at = put_two(at, parts.tm_mon + 1, '-');
    at = put_two(at, parts.tm_mday, 'T');
    at = put_two(at, parts.tm_hour, ':');
    at = put_two(at, parts.tm_min, ':');
    at = put_two(at, parts.tm_sec, '.');
    *at++ = (char)('0' + ms / 100);
    at = put_two(at, (int)(ms % 100), 'Z');
    *at = '\0';
    return out;
}

const char *clock_duration(int64_t span_ms, char out[CLOCK_DURATION_SIZE])
{
    static const struct {
        uint64_t ms;
        const char *name;
    } units[] = {{86400000, "d"}, {3600000, "h"}, {60000, "min"}, {1000, "s"}, {1, "ms"}};
    const char *sign = span_ms < 0 ? "-" : "";
    uint64_t span = span_ms < 0 ? 0 - (uint64_t)span_ms : (uint64_t)span_ms;
    size_t unit = 0;

    while (units[unit].ms > 1 && span < units[unit].ms) {
        unit++;
    }
    uint64_t whole = span / units[unit].ms;
    uint64_t rest =
        units[unit].ms >= 60000 ? span % units[unit].ms / units[unit + 1].ms : 0; /* seconds go without ms */
    if (rest > 0) {
        (void)snprintf(out, CLOCK_DURATION_SIZE, "%s%" PRIu64 " %s %" PRIu64 " %s", sign, whole, units[unit].name, rest,
                       units[unit + 1].name);
    } else {
        (void)snprintf(out, CLOCK_DURATION_SIZE, "%s%" PRIu64 " %s", sign, whole, units[unit].name);
    }
    return out;
}
