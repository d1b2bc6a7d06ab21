/* SPDX-License-Identifier: MIT */
/*
 * intake: from what was read to a slot that can be claimed.
 *
 * An entry of the queue is checked as a stranger's input: what cannot become a delivery goes to the stream `refused`,
 * with why and what to do. An item that can, but does not fit its channel, is claimed all the same and settled as
 * rejected without a request: so it is seen where deliveries are seen.
 */
#include "worker/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keys/canonical.h"
#include "platforms/request.h"
#include "runtime/clock.h"
#include "runtime/crash.h"
#include "runtime/die.h"
#include "runtime/log.h"

/* ---- rendering ---- */

static void unfit(struct slot *slot, enum delivery_event kind, const char *why)
{
    memset(&slot->outcome, 0, sizeof slot->outcome);
    slot->outcome.kind = kind;
    snprintf(slot->outcome.detail, sizeof slot->outcome.detail, "%s", why);
    slot->has_outcome = true;
}

static bool make_key(struct slot *slot, char err[KEYS_ERR_BYTES])
{
    const struct channel *c = slot->lane->channel;
    const struct key_input input = {
        .instance = c->instance,
        .account = c->account,
        .operation = KEY_OPERATION_PUBLISH,
        .id = slot->content.id,
        .generation = (unsigned)slot->generation,
        .content = slot->content.canonical,
        .content_len = slot->content.canonical_len,
        .approved_at_ms = slot->approved_at_ms,
    };
    slot->key[0] = '\0';
    return !c->descriptor->has_key || key_make(&input, c->descriptor->key_format, slot->key, err);
}

/* Steps that this item does not need are passed over at once: where none is left, the claim brings the request along.
 */
static bool first_step(struct slot *slot, struct errbuf *err)
{
    struct channel *c = slot->lane->channel;
    bool wanted = false;
    slot->step = 0;
    while (slot->step < c->descriptor->prepare_count) {
        if (!request_step_wanted(c, slot->step, 0, slot->input, &wanted, err)) return false;
        if (wanted) break;
        slot->step++;
    }
    return true;
}

static enum render_result make_request(struct slot *slot, struct errbuf *err)
{
    struct channel *c = slot->lane->channel;
    const struct request_row row = slot_row(slot);
    enum render_result result = request_input(c, NULL, &row, &slot->input, err);
    if (result != RENDER_OK) return result;
    if (!first_step(slot, err)) return RENDER_BROKEN;
    if (slot->step < c->descriptor->prepare_count) return RENDER_OK; /* rendered with what the steps give */
    slot->has_form = request_render(c, slot->input, &slot->form, err);
    if (!slot->has_form) return RENDER_BROKEN;
    return request_freeze(&slot->form, &slot->frozen, &slot->frozen_len, slot->body_hash, err) ? RENDER_OK
                                                                                               : RENDER_UNFIT;
}

static void render(struct slot *slot)
{
    struct errbuf err = {{0}};
    char key_err[KEYS_ERR_BYTES];
    slot_request_drop(slot);
    slot->has_outcome = false;
    slot->body_hash[0] = '\0';
    if (slot->lane == NULL) return; /* it will wait until somebody knows the channel */
    if (!make_key(slot, key_err)) {
        unfit(slot, EV_REFUSED, key_err);
        return;
    }
    enum render_result result = make_request(slot, &err);
    if (result == RENDER_OK) return;
    slot_request_drop(slot);
    if (result == RENDER_BROKEN) { /* the descriptor's fault, not the item's: a person gives it a better one */
        log_event_limited(LOG_LEVEL_ERROR, "descriptor.broken", LOG_S("delivery", slot->delivery),
                          LOG_S("why", err.text));
        unfit(slot, EV_UNSENDABLE, err.text);
    } else {
        unfit(slot, EV_REFUSED, err.text);
    }
}

/* ---- the claim ---- */

static void fill_claim(struct worker *w, struct slot *slot)
{
    const struct channel *c = slot->lane != NULL ? slot->lane->channel : NULL;
    struct claim_request *q = &slot->claim;
    memset(q, 0, sizeof *q);
    q->base.channel = slot->channel;
    q->base.delivery = slot->delivery;
    q->entry = slot->entry_id[0] != '\0' ? slot->entry_id : NULL;
    q->after = slot->after[0] != '\0' ? slot->after : NULL;
    q->after_id = slot->after_id;
    q->token = slot->token;
    q->content_hash = slot->content.hash;
    q->approved_at_ms = slot->approved_at_ms;
    q->not_before_ms = slot->not_before_ms;
    q->not_after_ms = slot->not_after_ms;
    q->dated_ms = content_stored_time(slot->content.dated_ms);
    q->generation = slot->generation;
    q->key = slot->key;
    q->body_hash = slot->body_hash;
    q->frozen = slot->frozen;
    q->frozen_len = slot->frozen_len;
    q->policy = c != NULL ? &c->policy : &w->unknown_policy;
    q->spacing_ms = c != NULL ? c->spacing_ms : 0;
    q->burst = c != NULL ? c->burst : 1;
    q->hold_back = c == NULL                                             ? CLAIM_CHANNEL_UNKNOWN
                   : slot->lane->slots > config_channel_slots(w->config) ? CLAIM_CHANNEL_FULL
                                                                         : CLAIM_SENDS;
}

void intake_claim(struct worker *w, struct slot *slot)
{
    render(slot);
    fill_claim(w, slot);
    slot_phase_set(slot, SLOT_CLAIM);
}

/* ---- entries of the queue ---- */

/* Each field once: a second channel or item would be passed over in silence. */
static bool known_fields_only(const struct feed_entry *entry, char err[KEYS_ERR_BYTES])
{
    char quoted[KEYS_QUOTE_BYTES];
    int channels = 0;
    int items = 0;
    for (size_t i = 0; i < entry->field_count; i++) {
        const char *name = entry->fields[i].name.bytes;
        size_t len = entry->fields[i].name.len;
        int *count = len == 7 && memcmp(name, "channel", len) == 0 ? &channels
                     : len == 4 && memcmp(name, "item", len) == 0  ? &items
                                                                   : NULL;
        if (count == NULL)
            return keys_fail(err, "unknown field %s: an entry has channel and item", keys_quote(name, len, quoted));
        if (++*count > 1)
            return keys_fail(err, "the field %s stands there twice: one entry is one item for one channel", name);
    }
    return true;
}

/* The item of an entry or of take, merged for its channel. The bytes are the slot's own from here on. */
static bool read_item(struct slot *slot, const char *bytes, size_t len, char err[KEYS_ERR_BYTES])
{
    slot->item = xstrndup(bytes, len);
    slot->item_len = len;
    slot->has_content = content_read(bytes, len, slot->channel, &slot->content, err);
    if (!slot->has_content) return false;
    identity_join(slot->channel, slot->content.id, slot->delivery);
    if (slot->content.schedule.after[0] != '\0')
        identity_join(slot->channel, slot->content.schedule.after, slot->after);
    slot->not_before_ms = content_stored_time(slot->content.schedule.not_before_ms);
    slot->not_after_ms = content_stored_time(slot->content.schedule.not_after_ms);
    return true;
}

static bool ours(const struct worker *w, const char *channel, char err[KEYS_ERR_BYTES])
{
    unsigned partition = names_partition(channel, (unsigned)w->config->partitions);
    return partition == w->ledger.names.partition ||
           keys_fail(err, "channel %s belongs to partition %u, this queue is partition %u: add it to that queue",
                     channel, partition, w->ledger.names.partition);
}

static bool read_entry(struct worker *w, struct slot *slot, const struct feed_entry *entry, char err[KEYS_ERR_BYTES])
{
    size_t len = 0;
    const char *channel = feed_value(entry, "channel", &len);
    if (entry->handed_out > WORKER_POISON_COUNT)
        return keys_fail(err, "it was handed out %d times and nobody came back to claim it", entry->handed_out - 1);
    if (!known_fields_only(entry, err)) return false;
    if (channel == NULL)
        return keys_fail(err, "the field channel is missing: XADD ... channel platform/account item '{..}'");
    if (strlen(channel) != len || !identity_channel_check(channel, err))
        return strlen(channel) == len ? false : keys_fail(err, "the channel's name has a NUL in it");
    if (!ours(w, channel, err)) return false;
    snprintf(slot->channel, sizeof slot->channel, "%s", channel);
    snprintf(slot->entry_id, sizeof slot->entry_id, "%s", entry->id);
    slot->approved_at_ms = entry->ms;
    const char *item = feed_value(entry, "item", &len);
    if (item == NULL) return keys_fail(err, "the field item is missing: XADD ... channel platform/account item '{..}'");
    return read_item(slot, item, len, err);
}

static void refuse(struct worker *w, const struct feed_entry *entry, const char *why)
{
    struct errbuf err = {{0}};
    w->tally.refused++;
    log_event_limited(LOG_LEVEL_ERROR, "input.refused", LOG_S("entry", entry->id), LOG_S("why", why));
    if (!feed_refuse(&w->ledger, w->link, entry, why, w->config->redis_round_limit_ms,
                     &err)) /* it stays pending and comes again */
        log_event_limited(LOG_LEVEL_WARN, "input.refused.unwritten", LOG_S("entry", entry->id), LOG_S("why", err.text));
}

static void intake_entry(struct worker *w, const struct feed_entry *entry)
{
    char err[KEYS_ERR_BYTES] = "";
    struct slot *slot = slot_acquire(w);
    crash_point("after_read");
    if (!read_entry(w, slot, entry, err)) {
        slot_release(w, slot);
        refuse(w, entry, err);
        return;
    }
    slot_lane_set(slot, lane_of(w, slot->channel));
    intake_claim(w, slot);
}

size_t intake_entries(struct worker *w, const struct feed_batch *batch, size_t from)
{
    size_t at = from;
    while (at < batch->count && slots_free(w) > 0) {
        const struct feed_entry *entry = &batch->entries[at++];
        if (entry->deleted) /* trimmed by somebody; what had a row comes again from the agenda */
            log_event_limited(LOG_LEVEL_WARN, "input.lost", LOG_S("entry", entry->id),
                              LOG_S("why", "the entry was deleted before it was read"));
        else
            intake_entry(w, entry);
    }
    return at;
}

/* ---- what take handed over ---- */

static void take_frozen(struct slot *slot, const struct take_request *take)
{
    /* In doubt: these bytes or none. claim answers with them once more, and those are sent. */
    snprintf(slot->key, sizeof slot->key, "%s", take->key);
    snprintf(slot->body_hash, sizeof slot->body_hash, "%s", take->body_hash);
    slot->step = slot->lane->channel->descriptor->prepare_count;
    slot->frozen = xstrndup(take->frozen.bytes, take->frozen.len);
    slot->frozen_len = take->frozen.len;
}

void intake_taken(struct worker *w, const struct take_request *take)
{
    char err[KEYS_ERR_BYTES] = "";
    struct slot *slot = slot_acquire(w);
    snprintf(slot->channel, sizeof slot->channel, "%s", take->base.channel);
    if (take->content.bytes == NULL || !read_item(slot, take->content.bytes, take->content.len, err)) {
        log_event_limited(LOG_LEVEL_ERROR, "delivery.unreadable", LOG_S("delivery", take->base.delivery),
                          LOG_S("why", err[0] != '\0' ? err : "its content is gone"));
        slot_release(w, slot);
        return; /* take counts: after five times it is held as poison */
    }
    slot->approved_at_ms = take->approved_at_ms;
    slot->not_before_ms = take->not_before_ms;
    slot->not_after_ms = take->not_after_ms;
    slot->generation = take->generation;
    slot_lane_set(slot, lane_of(w, slot->channel));
    if (take->in_doubt && take->frozen.bytes != NULL && slot->lane != NULL) {
        take_frozen(slot, take);
        fill_claim(w, slot);
        slot_phase_set(slot, SLOT_CLAIM);
        return;
    }
    intake_claim(w, slot);
}
