/* SPDX-License-Identifier: MIT */
/* Between delivery.c and evidence.c only: how a decision is begun and what both halves of the table share. */
#ifndef LANDFALL_CORE_DECIDE_H
#define LANDFALL_CORE_DECIDE_H

#include "core/delivery.h"

/* Everything that one decision is made from. */
struct situation {
    const struct delivery_row *row;
    const struct delivery_input *in;
    const struct delivery_policy *policy;
    int64_t now_ms;
};

/* The row as it is, with this verdict. */
struct delivery_decision decide_keep(const struct situation *s, enum delivery_verdict verdict);
/* A change that leaves the state; the caller sets what differs. */
void decide_approved(struct delivery_decision *d, enum delivery_reason why, enum delivery_place place, int64_t due_ms);
void decide_uncertain(struct delivery_decision *d, enum delivery_reason why, int64_t due_ms);
void decide_held(struct delivery_decision *d, enum delivery_reason why);
void decide_rejected(struct delivery_decision *d, enum delivery_reason why, enum delivery_source source);
/* Published under in->ext_id; raises the alarms that go with it. */
struct delivery_decision decide_published(const struct situation *s, enum delivery_source source);
/* Time of the next try after `failures`. */
int64_t decide_retry_at(const struct situation *s, int failures);
/* True if nothing may be sent any more because its time is over. */
bool decide_expired(const struct situation *s);

/* evidence.c: EV_FOUND, EV_ABSENT, EV_UNSEEN, EV_GONE. */
struct delivery_decision evidence_step(const struct situation *s);

#endif
