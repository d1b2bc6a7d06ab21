/* SPDX-License-Identifier: MIT */
/*
 * lanes: which account is walked when.
 *
 * `run` walks what the agenda says is due; `drain` walks what it was asked for, whatever the agenda says. Either way
 * the walk lease decides who does it. Channels that are not configured here are somebody else's: left alone, said once.
 */
#include "reconciler/reconciler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/agenda.h"
#include "platforms/channel.h"
#include "runtime/clock.h"
#include "runtime/die.h"
#include "runtime/log.h"

#define LANES_STRANGERS_MAX 1000

struct lane *lane_of(struct reconciler *r, const char *channel)
{
    for (size_t low = 0, high = r->lane_count; low < high;) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(channel, r->lanes[middle].channel->name);
        if (order == 0) return &r->lanes[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

static void note_stranger(struct reconciler *r, const char *channel)
{
    for (size_t i = 0; i < r->stranger_count; i++)
        if (strcmp(r->strangers[i], channel) == 0) return;
    if (r->stranger_count == LANES_STRANGERS_MAX) return;
    r->strangers = xrealloc_array(r->strangers, r->stranger_count + 1, sizeof *r->strangers);
    snprintf(r->strangers[r->stranger_count++], sizeof *r->strangers, "%s", channel);
    log_event(LOG_LEVEL_WARN, "channel.unknown", LOG_S("channel", channel),
              LOG_S("why", "it has uncertain deliveries and is not configured here: they wait for a reconciler that "
                           "knows it"));
}

/* False: all walks are under way. */
static bool begin(struct reconciler *r, struct lane *lane, int64_t now)
{
    if (lane->walking || now < lane->ask_boot_ms) return true;
    return walk_begin(r, lane);
}

static void begin_wanted(struct reconciler *r, int64_t now)
{
    for (size_t i = 0; i < r->lane_count; i++) {
        struct lane *lane = &r->lanes[i];
        if (lane->wanted && now >= lane->wanted_boot_ms && !begin(r, lane, now)) return;
    }
}

static void begin_due(struct reconciler *r, int64_t now)
{
    struct errbuf err = {{0}};
    struct agenda_walk *walks = NULL;
    size_t count = 0;
    if (now < r->next_agenda_ms) return;
    r->next_agenda_ms = now + RECONCILER_AGENDA_MS;
    if (!agenda_walks(&r->ledger, r->link, &walks, &count, r->config->redis_round_limit_ms, &err)) {
        log_event_limited(LOG_LEVEL_WARN, "ledger.lost", LOG_S("why", err.text));
        return;
    }
    const int64_t server_ms = reconciler_now_ms(r);
    bool room = true;
    for (size_t i = 0; i < count; i++) {
        struct lane *lane = lane_of(r, walks[i].channel);
        if (lane == NULL)
            note_stranger(r, walks[i].channel);
        else if (room && walks[i].due_ms <= server_ms)
            room = begin(r, lane, now);
    }
    free(walks);
}

static bool may_begin(const struct reconciler *r)
{
    return !r->stopping && link_is_open(r->link) && r->clock_known;
}

static bool has_free_walk(const struct reconciler *r)
{
    for (size_t i = 0; i < RECONCILER_WALKS_MAX; i++)
        if (r->walks[i].phase == WALK_FREE) return true;
    return false;
}

int64_t lanes_wake_boot_ms(const struct reconciler *r)
{
    int64_t wake = INT64_MAX;
    if (!may_begin(r) || (r->draining && !has_free_walk(r))) return wake;
    if (!r->draining) return r->next_agenda_ms;
    for (size_t i = 0; i < r->lane_count; i++) {
        const struct lane *lane = &r->lanes[i];
        if (!lane->wanted || lane->walking) continue;
        const int64_t due = lane->wanted_boot_ms > lane->ask_boot_ms ? lane->wanted_boot_ms : lane->ask_boot_ms;
        if (due < wake) wake = due;
    }
    return wake;
}

void lanes_turn(struct reconciler *r)
{
    const int64_t now = clock_boottime_ms();
    if (!may_begin(r)) return;
    if (r->draining)
        begin_wanted(r, now);
    else
        begin_due(r, now);
}
