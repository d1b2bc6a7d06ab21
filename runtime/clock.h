/* SPDX-License-Identifier: MIT */
/*
 * clock: this process's clocks, and what it knows of the Redis server's.
 *
 * Time limits run on CLOCK_BOOTTIME: it never jumps and counts suspended time. The wall clock is for log lines and
 * nothing else. The fleet's time is the Redis server's. A process knows it only through answers that carry it, so it
 * knows bounds: an answer with server time S, whose command was sent at boot time A and read at boot time B, was made
 * at some moment between A and B. So the server's time now is at least S + (now - B) and at most S + (now - A). Whoever
 * asks "is it late enough?" takes the lower bound, whoever asks "may I still?" takes the upper one. The functions on
 * struct server_clock are pure: boot time is passed in.
 */
#ifndef RUNTIME_CLOCK_H
#define RUNTIME_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "runtime/errbuf.h"

#define SERVER_CLOCK_LEAP_MS 30000
#define CLOCK_RFC3339_SIZE   32
#define CLOCK_DURATION_SIZE  48

int64_t clock_boottime_ms(void);
int64_t clock_wall_ms(void);

struct server_clock {
    bool known;
    int64_t server_ms;        /* Unix time in the newest answer */
    int64_t sent_boot_ms;     /* when its command was sent */
    int64_t received_boot_ms; /* when it was read */
};

/* Take over the time in an answer. sent <= received. */
void server_clock_note(struct server_clock *clock, int64_t server_ms, int64_t sent_boot_ms, int64_t received_boot_ms);

/* Lower and upper bound of the server's time at boot time now_boot_ms, Unix ms; 0 and INT64_MAX while nothing is known.
 */
int64_t server_clock_now(const struct server_clock *clock, int64_t now_boot_ms);
int64_t server_clock_latest(const struct server_clock *clock, int64_t now_boot_ms);

/* How far the time in an answer lies outside what the earlier answers allow, if by more than SERVER_CLOCK_LEAP_MS:
 * positive = the server's clock went ahead, negative = back, 0 = no leap (or nothing known yet). Ask before
 * server_clock_note. */
int64_t server_clock_leap(const struct server_clock *clock, int64_t server_ms, int64_t sent_boot_ms,
                          int64_t received_boot_ms);

/* Unix ms as 2026-11-29T21:00:00.123Z; years outside 0..9999 give "-". Returns out. */
const char *clock_rfc3339(int64_t unix_ms, char out[CLOCK_RFC3339_SIZE]);

/* A span as people say it, two units at most: "350 ms", "12 s", "2 min 5 s", "3 h", "7 d 2 h". Returns out. */
const char *clock_duration(int64_t span_ms, char out[CLOCK_DURATION_SIZE]);

#endif
