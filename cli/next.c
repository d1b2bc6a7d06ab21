/* SPDX-License-Identifier: MIT */
#include "cli/next.h"

#include "cli/out.h"
#include "cli/when.h"

static const char *const reasons[RS_COUNT] = {
    [RS_NONE] = "",
    [RS_NEW] = "it was submitted and not sent yet",
    [RS_SCHEDULED] = "its time has not come",
    [RS_RETRY] = "the last attempt was proven not to have happened",
    [RS_NOT_SENT] = "nothing was sent: the platform was not reached, or the request could not be made",
    [RS_PACED] = "its channel sends one at a time, with a pause between two",
    [RS_BLOCKED] = "the platform asked the channel to wait",
    [RS_PAUSED] = "its channel is paused",
    [RS_CREDENTIAL] = "the platform refused the channel's credential",
    [RS_CHANNEL_FULL] = "as many of its channel are in flight as may be",
    [RS_QUEUED] = "others of its channel wait before it",
    [RS_PREDECESSOR] = "the delivery that must come first is not published",
    [RS_UNKNOWN_CHANNEL] = "no worker has this channel in its configuration: add it there, or cancel the delivery",
    [RS_RAMP] = "its channel begins again slowly after a failure",
    [RS_REPLAY] = "the platform knows its key, so the same request may be sent again",
    [RS_ABSENT] = "a complete search proved that there is no post",
    [RS_OPERATOR] = "a person decided so",
    [RS_LEDGER_REWOUND] = "Redis was set back, and an attempt may have been forgotten",
    [RS_SENDING] = "a worker is sending it",
    [RS_CONFIRMED] = "the post exists",
    [RS_REFUSED] = "the platform refused it for good",
    [RS_REDIRECTED] = "the platform has moved; a write is never sent after it",
    [RS_NO_ANSWER] = "it may have been executed: no whole answer came",
    [RS_BAD_ANSWER] = "it may have been executed: the answer could not be read",
    [RS_CONFLICT] = "the platform speaks of another request under its key",
    [RS_NO_ID] = "the platform took it and did not say under which id",
    [RS_LEASE_LOST] = "its worker ended or lost its lease while sending",
    [RS_VERIFY] = "the platform said yes; the post is read before that is believed",
    [RS_WINDOW_CLOSED] = "the platform no longer remembers its key",
    [RS_REFUSED_IN_DOUBT] = "a later attempt was refused, an earlier one may have been executed",
    [RS_NOT_SENT_IN_DOUBT] = "a later attempt did not happen, an earlier one may have been executed",
    [RS_UNSENDABLE_IN_DOUBT] = "its frozen request cannot be sent any more, and an attempt may have been executed",
    [RS_EXPIRED_IN_DOUBT] = "its time is over, and an attempt may have been executed",
    [RS_SPENT_IN_DOUBT] = "its attempts are used up, and one may have been executed",
    [RS_POISON_IN_DOUBT] = "workers ended over it, and an attempt may have been executed",
    [RS_LATE_REPORT] = "a report came of an attempt that the ledger did not know",
    [RS_APPROVAL] = "it was submitted to wait for an approval",
    [RS_EXPIRED] = "its time was over before it could be sent",
    [RS_BACKFILL] = "the item is older than its channel takes",
    [RS_SPENT] = "its attempts are used up",
    [RS_POISON] = "it was handed to workers again and again, and none came back",
    [RS_UNSENDABLE] =
        "no request can be made of it as it stands, or its descriptor is broken; detail says what is wrong",
    [RS_GONE] = "the post was there once and is gone",
    [RS_NO_EVIDENCE] = "nobody can find out whether it was executed",
};

const char *next_why(enum delivery_reason reason)
{
    return reasons[reason] ? reasons[reason] : "";
}

static const char *when(const struct next_facts *f, int64_t ms, char out[WHEN_TEXT_BYTES])
{
    return when_text(ms, f->now_ms, out);
}

/* For what is to come: what should have come is due now. */
static const char *due(const struct next_facts *f, int64_t ms, char out[WHEN_TEXT_BYTES])
{
    return when_text(ms > f->now_ms ? ms : f->now_ms, f->now_ms, out);
}

static int64_t later_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* What keeps the whole channel back. */
static void explain_channel(const struct next_facts *f, json_t *out)
{
    const struct reads_channel *c = f->channel;
    char text[WHEN_TEXT_BYTES];
    if (!c) return;
    if (c->paused)
        out_add_format(out, "its channel was paused %s and sends nothing until it is resumed: %s",
                       when(f, c->paused_at_ms, text), c->paused_why);
    else if (c->blocked_until_ms > f->now_ms)
        out_add_format(out, "its channel may send again %s: %s", when(f, c->blocked_until_ms, text), c->blocked_why);
    else if (c->next_at_ms > f->now_ms)
        out_add_format(out, "its channel may send next %s", when(f, c->next_at_ms, text));
}

static void explain_approved(const struct next_facts *f, json_t *out)
{
    const struct reads_delivery *d = f->delivery;
    char text[WHEN_TEXT_BYTES];
    if (d->row.core.doubt.count > 0)
        out_add_format(out, "the next send is the same request with the same key, byte for byte");
    if (d->waiting_ms)
        out_add_format(out, "it stands in its channel's waiting list, due %s", due(f, d->waiting_ms, text));
    else if (d->agenda_ms)
        out_add_format(out, "%s %s",
                       d->row.core.reason == RS_NEW ? "a worker reads it from the queue, or at the latest takes it"
                                                    : "a worker takes it",
                       due(f, d->agenda_ms, text));
    else
        out_add_format(out, "a worker reads it from the queue");
    if (d->row.turn_ms > 0)
        out_add_format(out, "it was handed back after doubt: such go out one by one, each when its turn comes");
    explain_channel(f, out);
    if (d->row.core.not_after_ms)
        out_add_format(out, "if it has not been sent it is held %s", when(f, d->row.core.not_after_ms, text));
}

static void explain_claimed(const struct next_facts *f, json_t *out)
{
    const struct reads_delivery *d = f->delivery;
    char text[WHEN_TEXT_BYTES];
    out_add_format(out, "%s settles attempt %d", d->row.worker, d->row.core.attempt);
    if (d->lease_holder[0] && d->lease_left_ms < 0)
        out_add_format(out,
                       "its lease has no end, which no program of ours writes: delete it once that worker is gone");
    else if (d->lease_holder[0])
        out_add_format(out, "its lease ends %s; without a settlement it becomes uncertain then (lease_lost)",
                       when(f, f->now_ms + d->lease_left_ms, text));
    else
        out_add_format(out, "its lease is gone: the next worker that looks makes it uncertain (lease_lost)");
}

static void explain_absence(const struct next_facts *f, json_t *out)
{
    const struct delivery_row *r = &f->delivery->row.core;
    char text[WHEN_TEXT_BYTES];
    if (f->policy->can_read)
        out_add_format(
            out, "it can be called absent at the earliest by a search that begins %s; clean searches: %d of %d",
            due(f, later_of(r->commit_by_ms + f->policy->visibility_lag_ms, f->epoch->no_absence_before_ms), text),
            r->misses, f->policy->clean_misses);
    else if (!f->policy->harmless)
        out_add_format(out, "this platform's history cannot be read, so nothing proves that there is no post");
    if (f->policy->harmless)
        out_add_format(out, "a repeat does no harm: it may be sent again %s", due(f, r->commit_by_ms, text));
    else if (delivery_replay_allowed(r, f->policy, f->now_ms) && r->tries < f->policy->max_attempts &&
             r->ext_id[0] == '\0')
        out_add_format(out, "the platform still knows its key: the same request may be sent again %s",
                       due(f, r->commit_by_ms, text));
    out_add_format(out, "if nothing is found out it is held for a person %s",
                   due(f, r->since_ms + f->policy->give_up_after_ms, text));
}

static void explain_uncertain(const struct next_facts *f, json_t *out)
{
    const struct reads_channel *c = f->channel;
    char text[WHEN_TEXT_BYTES];
    if (c && c->walker[0])
        out_add_format(out, "%s reads the account now", c->walker);
    else if (c && c->walk_due_ms)
        out_add_format(out, "the reconciler looks again %s", due(f, c->walk_due_ms, text));
    else
        out_add_format(out, "the reconciler looks at it when it next reads the account");
    if (f->policy)
        explain_absence(f, out);
    else
        out_add_format(out, "its channel is not configured here, so what its platform allows is not known");
}

json_t *next_explain(const struct next_facts *f)
{
    json_t *out = json_array();
    switch (f->delivery->row.core.state) {
    case DS_NONE: out_add_format(out, "there is no such delivery"); break;
    case DS_APPROVED: explain_approved(f, out); break;
    case DS_CLAIMED: explain_claimed(f, out); break;
    case DS_UNCERTAIN: explain_uncertain(f, out); break;
    case DS_HELD: out_add_format(out, "nothing, until a person decides"); break;
    case DS_PUBLISHED:
    case DS_REJECTED: out_add_format(out, "nothing: it is settled"); break;
    case DS_COUNT: break;
    }
    return out;
}
