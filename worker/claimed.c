/* SPDX-License-Identifier: MIT */
/*
 * claimed: what the ledger's answer to a claim leads to. `granted` is the only answer after which anything is sent.
 */
#include "worker/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keys/canonical.h"
#include "platforms/program_input.h"
#include "platforms/request.h"
#include "runtime/clock.h"
#include "runtime/crash.h"
#include "runtime/die.h"
#include "runtime/log.h"
#include "runtime/random.h"
#include "worker/gauges.h"

static void not_sent(struct worker *w, struct slot *slot, enum delivery_event kind, const char *why)
{
    memset(&slot->outcome, 0, sizeof slot->outcome);
    slot->outcome.kind = kind;
    snprintf(slot->outcome.detail, sizeof slot->outcome.detail, "%s", why);
    slot->has_outcome = true;
    settle_begin(w, slot);
}

/* The verdict's programs see the delivery as its request saw it. */
static bool make_input(struct slot *slot, struct errbuf *err)
{
    if (slot->input != NULL) return true;
    const struct request_row row = slot_row(slot);
    return request_input(slot->lane->channel, NULL, &row, &slot->input, err) == RENDER_OK;
}

/* Whoever can write to the ledger must not be able to have a credential sent elsewhere: the frozen request has to go
 * where this channel's requests go today, with the same holes. */
static bool goes_where_ours_go(struct slot *slot, struct errbuf *err)
{
    struct form today;
    if (!request_render(slot->lane->channel, slot->input, &today, err)) return false;
    bool agrees = request_agrees(&slot->form, &today);
    slot->form.foreign = today.foreign || !agrees;
    form_fini(&today);
    return agrees || errbuf_set(err, "the frozen request goes to another place than the channel's requests do now");
}

/* What the steps had given when the request was frozen. */
static bool take_over_prepared(struct slot *slot, struct errbuf *err)
{
    char why[KEYS_ERR_BYTES];
    json_t *prepared = NULL;
    const struct request_text *text = &slot->claim.answer_prepared;
    if (!make_input(slot, err)) return false;
    if (text->len == 0) return true;
    if (!canonical_parse(text->bytes, text->len, &prepared, why)) return errbuf_set(err, "prepared: %s", why);
    program_input_put(slot->input, "prepared", prepared);
    return true;
}

/* What the delivery that had to come first is known by. */
static void take_over_after(struct slot *slot)
{
    if (!slot->claim.has_after) return;
    snprintf(slot->after_id, sizeof slot->after_id, "%s", slot->claim.after_id_wanted);
    snprintf(slot->after_url, sizeof slot->after_url, "%s", slot->claim.after_url_wanted);
}

/* A row in doubt goes out byte for byte as it was frozen, without steps, whatever this worker would have rendered. */
static bool take_over_frozen(struct slot *slot, struct errbuf *err)
{
    const struct claim_request *q = &slot->claim;
    slot_request_drop(slot);
    take_over_after(slot);
    slot->has_outcome = false;
    snprintf(slot->key, sizeof slot->key, "%s", q->answer_key);
    snprintf(slot->body_hash, sizeof slot->body_hash, "%s", q->answer_body_hash);
    slot->frozen = xstrndup(q->answer_frozen.bytes, q->answer_frozen.len);
    slot->frozen_len = q->answer_frozen.len;
    slot->step = slot->lane->channel->descriptor->prepare_count;
    slot->has_form = request_thaw(slot->frozen, slot->frozen_len, slot->body_hash, &slot->form, err);
    return slot->has_form && take_over_prepared(slot, err) && goes_where_ours_go(slot, err);
}

/* The request that is to be sent. What take handed over in doubt was to come again with the claim; where the doubt has
 * ended meanwhile it did not, and the row has these bytes now. */
static bool has_request(struct slot *slot, struct errbuf *err)
{
    if (slot->claim.in_doubt && slot->claim.answer_frozen.bytes != NULL) return take_over_frozen(slot, err);
    if (slot->frozen == NULL || slot->has_form) return true;
    slot->has_form = request_thaw(slot->frozen, slot->frozen_len, slot->body_hash, &slot->form, err);
    return slot->has_form && make_input(slot, err) && goes_where_ours_go(slot, err);
}

static void granted(struct worker *w, struct slot *slot)
{
    struct errbuf err = {{0}};
    struct claim_request *q = &slot->claim;
    crash_point("after_claim");
    slot->row = q->row;
    prepare_lease(w, slot, q->lease_end_ms);
    copied_mark(w, slot);
    if (!has_request(slot, &err)) {
        log_event(LOG_LEVEL_ERROR, "delivery.unreadable", LOG_S("delivery", slot->delivery), LOG_S("why", err.text));
        not_sent(w, slot, EV_UNSENDABLE, err.text);
    } else if (w->stopping) {
        not_sent(w, slot, EV_NOT_SENT, "the worker was stopped before it sent");
    } else if (slot->has_outcome) {
        settle_begin(w, slot); /* the item does not fit its channel: nothing is to be sent */
    } else if (!make_input(slot, &err)) {
        not_sent(w, slot, EV_UNSENDABLE, err.text);
    } else {
        send_begin(w, slot);
    }
}

static void conflict(struct worker *w, struct slot *slot)
{
    struct errbuf err = {{0}};
    char why[512];
    char name_channel[] = "channel";
    char name_item[] = "item";
    const struct claim_request *q = &slot->claim;
    snprintf(why, sizeof why,
             "%.200s exists with other content (%s, since %lld, content %s): give the new text a new id, or cancel the "
             "old one first",
             slot->delivery, delivery_state_name(q->state), (long long)q->since_ms, q->their_content);
    w->tally.conflicts++;
    log_event(LOG_LEVEL_ERROR, "input.conflict", LOG_S("delivery", slot->delivery), LOG_S("why", why));
    if (slot->entry_id[0] == '\0') return;
    struct feed_field fields[] = {
        {{name_channel, strlen(name_channel)}, {slot->channel, strlen(slot->channel)}},
        {{name_item, strlen(name_item)}, {slot->item, slot->item_len}},
    };
    struct feed_entry entry = {.field_count = 2, .fields = fields};
    snprintf(entry.id, sizeof entry.id, "%s", slot->entry_id);
    if (!feed_refuse(&w->ledger, w->link, &entry, why, w->config->redis_round_limit_ms, &err))
        log_event_limited(LOG_LEVEL_WARN, "input.refused.unwritten", LOG_S("entry", entry.id), LOG_S("why", err.text));
}

/* It is not this worker's to send now: where it stands is counted, and the slot is free again. */
static void leave(struct worker *w, struct slot *slot, enum delivery_state state)
{
    tally_note(&w->tally, slot->delivery, state);
    slot_release(w, slot);
}

static void claim_again(struct slot *slot, int64_t wait_ms)
{
    slot->retry_boot_ms = clock_boottime_ms() + wait_ms;
    slot_phase_set(slot, SLOT_CLAIM);
}

static void held_back(struct worker *w, struct slot *slot, enum delivery_state state)
{
    log_event(state == DS_APPROVED ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARN, "delivery.not_now",
              LOG_S("delivery", slot->delivery), LOG_S("state", delivery_state_name(state)),
              LOG_S("reason", delivery_reason_name(slot->claim.reason)), LOG_I("until", slot->claim.until_ms));
    leave(w, slot, state);
}

static void answered(struct worker *w, struct slot *slot)
{
    struct claim_request *q = &slot->claim;
    switch (q->answer) {
    case CLAIM_GRANTED: granted(w, slot); break;
    case CLAIM_ALREADY:
        if (q->state == DS_PUBLISHED || q->state == DS_REJECTED) w->tally.skipped++;
        leave(w, slot, q->state);
        break;
    case CLAIM_CONFLICT:
        conflict(w, slot);
        slot_release(w, slot);
        break;
    case CLAIM_BUSY: slot_release(w, slot); break; /* its holder answers for it */
    case CLAIM_WAIT:
        gauges_wait(w->gauges, slot->channel, q->reason);
        if (slot->lane != NULL && (q->reason == RS_CHANNEL_FULL || q->reason == RS_QUEUED)) slot->lane->more = true;
        held_back(w, slot, DS_APPROVED);
        break;
    case CLAIM_UNCERTAIN: held_back(w, slot, DS_UNCERTAIN); break;
    case CLAIM_HELD: held_back(w, slot, DS_HELD); break;
    case CLAIM_RERENDER:
        slot->approved_at_ms = q->approved_at_wanted_ms;
        slot->generation = q->generation_wanted;
        take_over_after(slot);
        intake_claim(w, slot);
        break;
    case CLAIM_LATE: /* it was not executed and will not be: a new claim may be made */
        random_hex(slot->token, sizeof slot->token);
        slot->run_id[0] = '\0';
        claim_again(slot, 0);
        break;
    case CLAIM_NO_CONTENT:
        q->content = slot->item;
        q->content_len = slot->item_len;
        claim_again(slot, 0);
        break;
    case CLAIM_ENVIRONMENT:
        work_foreign(w, q->base.error);
        slot_release(w, slot);
        break;
    case CLAIM_ERROR:
    case CLAIM_ANSWER_COUNT:
        log_event_limited(LOG_LEVEL_ERROR, "delivery.unreadable", LOG_S("delivery", slot->delivery),
                          LOG_S("why", q->base.error));
        slot_release(w, slot); /* an entry stays pending and is handed out again, at most WORKER_POISON_COUNT times */
        break;
    }
}

void claimed_answered(struct worker *w, struct slot *slot)
{
    switch (slot->claim.base.result) {
    case REQUEST_PENDING:
    case REQUEST_UNKNOWN: break; /* asked again as it is, token and all */
    case REQUEST_REFUSED:        /* nothing was changed */
        meters_error(&w->gauges->ledger, slot->claim.base.error);
        log_event_limited(LOG_LEVEL_WARN, "ledger.refused", LOG_S("why", slot->claim.base.error));
        claim_again(slot, ERRORS_RETRY_MS);
        break;
    case REQUEST_ANSWERED: answered(w, slot); break;
    }
}
