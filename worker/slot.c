/* SPDX-License-Identifier: MIT */
/* Slots and lanes: acquired, released, counted. Every slot is freed in one place, so nothing that it owns can be
 * forgotten. */
#include "worker/worker.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "platforms/program_input.h"
#include "runtime/clock.h"
#include "runtime/die.h"
#include "runtime/random.h"

int64_t ledger_now(const struct worker *w)
{
    return server_clock_now(link_clock(w->link), clock_boottime_ms());
}

int slots_free(const struct worker *w)
{
    return w->slot_count - w->slots_used - (int)w->take_count;
}

/* The first that is free: what was read first is claimed first. */
struct slot *slot_acquire(struct worker *w)
{
    while (w->free_from < w->slot_count && w->slots[w->free_from].phase != SLOT_FREE)
        w->free_from++;
    if (w->free_from == w->slot_count) return NULL;
    struct slot *slot = &w->slots[w->free_from];
#ifndef NDEBUG /* tests find somebody who looks at these before they are written */
    memset(&slot->row, 0xa5, sizeof *slot - offsetof(struct slot, row));
#endif
    slot->owner.kind = OWNER_SLOT; /* all else is 0: slot_release() left it so */
    slot->ready_boot_ms = clock_boottime_ms();
    random_hex(slot->token, sizeof slot->token);
    slot->phase = SLOT_CLAIM;
    w->slots_used++;
    return slot;
}

void slot_lane_set(struct slot *slot, struct lane *lane)
{
    slot->lane = lane;
    if (lane != NULL) lane->slots++;
}

struct request_row slot_row(struct slot *slot)
{
    return (struct request_row){
        .content = &slot->content,
        .key = slot->key[0] != '\0' ? slot->key : NULL,
        .generation = slot->generation,
        .approved_at_ms = slot->approved_at_ms,
        .dated_ms = slot->content.dated_ms == CONTENT_NO_TIME ? 0 : slot->content.dated_ms,
        .after_id = slot->after_id,
        .after_url = slot->after_url,
    };
}

void slot_request_drop(struct slot *slot)
{
    program_input_free(&slot->input);
    if (slot->has_form) form_fini(&slot->form);
    slot->has_form = false;
    free(slot->frozen);
    free(slot->prepared);
    request_files_fini(&slot->files);
    slot->each_at = 0;
    slot->asked = 0;
    slot->frozen = slot->prepared = NULL;
    slot->frozen_len = slot->prepared_len = 0;
}

void slot_release(struct worker *w, struct slot *slot)
{
    if (slot->lane != NULL) {
        slot->lane->slots--;
        lane_refill(w, slot->lane);
    }
    round_recall(w, slot);
    if (slot->renewing) round_forget(w->round, &slot->renew.base);
    slot_request_drop(slot);
    if (slot->has_content) content_fini(&slot->content);
    claim_fini(&slot->claim);
    free(slot->item);
    memset(slot, 0, offsetof(struct slot, row)); /* the rest, most of it, stays (worker.h) */
    slot->phase = SLOT_FREE;
    if (slot - w->slots < w->free_from) w->free_from = (int)(slot - w->slots);
    w->slots_used--;
}

void slot_phase_set(struct slot *slot, enum slot_phase phase)
{
    slot->phase = phase;
    slot->ready_boot_ms = clock_boottime_ms();
}

void lane_refill(struct worker *w, struct lane *lane)
{
    int64_t soon = clock_boottime_ms() + WORKER_REFILL_MS;
    if (lane->more && soon < w->next_agenda_ms) w->next_agenda_ms = soon;
    lane->more = false; /* the next look says it again */
}

struct lane *lane_of(struct worker *w, const char *channel)
{
    size_t low = 0, high = w->lane_count;
    while (low < high) { /* the channel set is sorted by name */
        size_t middle = (low + high) / 2;
        int order = strcmp(w->lanes[middle].channel->name, channel);
        if (order == 0) return &w->lanes[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

int lane_room(const struct worker *w, const struct lane *lane)
{
    int room = (int)config_channel_slots(w->config) - lane->slots;
    return room > 0 ? room : 0;
}
