/* SPDX-License-Identifier: MIT */
/*
 * copied: nothing is sent before as many copies of its claim are acknowledged as redis.wait_ asks for.
 *
 * Every answer of the ledger that a write rests on is marked: the claim, and the request that was frozen after steps.
 * Meanwhile the slot logs in, or does its steps; it is stopped in front of the write alone, in SLOT_COPIES. Where the
 * copies do not come, nothing of the write has left, so the claim is given back as any attempt that was not sent, and
 * no other claim is made before there are enough copies again.
 */
#include "worker/worker.h"

#include "runtime/clock.h"
#include "runtime/log.h"

void copied_mark(struct worker *w, struct slot *slot)
{
    if (w->copies == NULL) return;
    slot->copied = COPIES_AWAITED;
    slot->copies_mark = copies_mark(w->copies);
}

/* Returns how many slots waited for this news. */
static int mark_all(struct worker *w, enum copies_news news, uint64_t through)
{
    int count = 0;
    for (int i = 0; i < w->slot_count; i++) {
        struct slot *slot = &w->slots[i];
        if (slot->copied != COPIES_AWAITED) continue;
        if (news == COPIES_REACHED && slot->copies_mark > through) continue;
        slot->copied = news == COPIES_REACHED ? COPIES_ENOUGH : COPIES_MISSING;
        count++;
    }
    return count;
}

static void tell(struct worker *w, enum copies_news news, bool were_open, int count, const char *why)
{
    if (were_open != copies_open(w->copies)) w->next_heartbeat_ms = 0; /* it says so, for `landfall status` */
    if (news == COPIES_FAILED) {
        w->tally.uncopied += count;
        log_event_limited(LOG_LEVEL_WARN, "ledger.copies.missing", LOG_S("why", why),
                          LOG_I("claims_given_back", count));
    } else if (news == COPIES_REACHED && !were_open) {
        log_event(LOG_LEVEL_INFO, "ledger.copies.enough", LOG_I("replicas", w->config->redis_wait_replicas));
    }
}

static void go_on(struct worker *w, int64_t now_ms)
{
    for (int i = 0; i < w->slot_count; i++) {
        struct slot *slot = &w->slots[i];
        if (slot->phase != SLOT_COPIES) continue;
        if (slot->copied == COPIES_AWAITED && now_ms < slot->deadline_boot_ms) continue;
        if (slot->copied == COPIES_AWAITED) slot->copied = COPIES_MISSING;
        send_write(w, slot);
    }
}

void copied_turn(struct worker *w)
{
    struct errbuf err = {{0}};
    uint64_t through = 0;
    if (w->copies == NULL) return;
    if (work_connected(w)) {
        bool were_open = copies_open(w->copies);
        enum copies_news news = copies_step(w->copies, link_run_id(w->link), &through, &err);
        if (news != COPIES_NOTHING) tell(w, news, were_open, mark_all(w, news, through), err.text);
    }
    go_on(w, clock_boottime_ms()); /* a claim's time passes without a ledger, too */
}
