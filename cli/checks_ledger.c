/* SPDX-License-Identifier: MIT */
/* The checks of the ledger: does what is written there fit together, and does somebody work on it? */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/checks.h"
#include "ledger/alive.h"
#include "runtime/clock.h"

#define QUEUE_PER_WORKER 1000 /* entries that wait unread */

/* "12 (a, b, c, ...)" */
struct listed {
    char text[300];
};

static const char *listed(const struct survey_list *list, struct listed *out)
{
    size_t used = (size_t)snprintf(out->text, sizeof(out->text), "%" PRId64, list->total);
    for (size_t i = 0; i < list->kept && i < 3 && used < sizeof(out->text); i++)
        used += (size_t)snprintf(out->text + used, sizeof(out->text) - used, "%s%.80s", i == 0 ? " (" : ", ",
                                 list->names[i]);
    if (list->kept > 0 && used < sizeof(out->text))
        snprintf(out->text + used, sizeof(out->text) - used, "%s)", list->total > 3 ? ", .." : "");
    return out->text;
}

/* What was looked at, for checks that can look at a part only. */
static const char *looked(const struct checks_facts *facts, struct listed *out)
{
    snprintf(out->text, sizeof(out->text), "%" PRId64 " rows looked at%s", facts->survey.rows,
             facts->survey.complete ? ", all there are" : ", not all");
    return out->text;
}

void check_environment(const struct checks_facts *facts, struct finding *finding)
{
    const char *theirs = facts->overview.epoch.environment, *ours = facts->config->environment;
    if (theirs[0] == '\0')
        finding_set(finding, SEVERITY_OK, "", "", "nobody has worked in this Redis yet; it will belong to %s", ours);
    else if (strcmp(theirs, ours) == 0)
        finding_set(finding, SEVERITY_OK, "", "", "this Redis belongs to the environment %s", ours);
    else
        finding_set(finding, SEVERITY_UNSAFE,
                    "A worker stops. If it were let through, tests would be published, or items posted twice.",
                    "Correct redis.url or environment.",
                    "this Redis belongs to the environment %s, the configuration says %s", theirs, ours);
}

void check_epoch(const struct checks_facts *facts, struct finding *finding)
{
    const struct reads_epoch *e = &facts->overview.epoch;
    const int64_t now_ms = facts->overview.now_ms;
    char until[CLOCK_RFC3339_SIZE];
    if (e->leap_until_ms > now_ms)
        finding_set(finding, SEVERITY_RISK, "Key windows cannot be measured until then: no identical replay is sent.",
                    "Find out why the server's clock leapt, and wait.", "the server's clock has leapt; until %s",
                    clock_rfc3339(e->leap_until_ms, until));
    else if (e->doubt_until_ms > now_ms)
        finding_set(finding, SEVERITY_NOTE, "No claim is granted until then where repeats are not harmless.",
                    "Wait; it is a matter of seconds.", "Redis was restarted or replaced; until %s",
                    clock_rfc3339(e->doubt_until_ms, until));
    else if (e->no_absence_before_ms > now_ms)
        finding_set(finding, SEVERITY_NOTE,
                    "What was approved before is read back before it is sent, and no search proves an absence until "
                    "then.",
                    "Wait, or settle by hand what cannot: landfall journal.",
                    "the ledger was set back (restart, failover, backup); no absence counts before %s",
                    clock_rfc3339(e->no_absence_before_ms, until));
    else if (e->run_id[0] && facts->run_id && strcmp(e->run_id, facts->run_id) != 0)
        finding_set(finding, SEVERITY_NOTE, "The next claim notices it; what was approved before is then read back.",
                    "Nothing, if you know of the restart.", "Redis was restarted since anybody worked here");
    else
        finding_set(finding, SEVERITY_OK, "", "", "%s",
                    e->rewound_at_ms > 0 ? "the ledger was set back once, and that time is over"
                                         : "the ledger was never set back");
}

void check_group(const struct checks_facts *facts, struct finding *finding)
{
    if (facts->health.has_queue && !facts->health.has_group)
        finding_set(finding, SEVERITY_RISK, "Nobody is handed what is in the queue until a worker makes the group.",
                    "Start a worker, or landfall doctor --repair.", "the queue has no group \"workers\"");
    else
        finding_set(finding, SEVERITY_OK, "", "", "%s",
                    facts->health.has_queue ? "the queue has its group" : "there is no queue yet");
}

void check_leases(const struct checks_facts *facts, struct finding *finding)
{
    struct listed list, rows;
    if (facts->survey.endless.total > 0)
        finding_set(finding, SEVERITY_RISK,
                    "A lease without an end was written by somebody's hand; its delivery counts as being sent until "
                    "its attempt cannot commit any more.",
                    "DEL the key: the delivery becomes uncertain, is read back, and is not sent again unread.",
                    "leases without an end: %s", listed(&facts->survey.endless, &list));
    else
        finding_set(finding, SEVERITY_OK, "", "", "every lease ends (%s)", looked(facts, &rows));
}

void check_claims(const struct checks_facts *facts, struct finding *finding)
{
    struct listed list, rows;
    if (facts->survey.no_lease.total > 0)
        finding_set(
            finding, SEVERITY_RISK, "Their worker is gone and nobody has noticed: they are neither sent nor read back.",
            "Start a worker; it makes them uncertain, and a reconciler looks for them.",
            "claimed, and without a lease for longer than one lasts: %s", listed(&facts->survey.no_lease, &list));
    else
        finding_set(finding, SEVERITY_OK, "", "", "every claim has its lease, or just lost it (%s)",
                    looked(facts, &rows));
}

void check_places(const struct checks_facts *facts, struct finding *finding)
{
    struct listed list, rows;
    if (facts->survey.nowhere.total > 0)
        finding_set(finding, SEVERITY_RISK,
                    "They are on no list that anybody looks at: they are never sent, and never read back.",
                    "landfall doctor --repair: it puts them on the agenda, and take and claim decide as always.",
                    "not settled, and on no list: %s", listed(&facts->survey.nowhere, &list));
    else
        finding_set(finding, SEVERITY_OK, "", "", "every delivery that is not settled is on a list (%s)",
                    looked(facts, &rows));
}

void check_rows(const struct checks_facts *facts, struct finding *finding)
{
    struct listed list, rows;
    if (facts->survey.unreadable.total > 0)
        finding_set(finding, SEVERITY_RISK, "They are left alone and looked at again every hour; nothing is sent.",
                    "landfall show says what is wrong with one; restore it from a backup, or settle it by hand.",
                    "rows that cannot be read: %s", listed(&facts->survey.unreadable, &list));
    else
        finding_set(finding, SEVERITY_OK, "", "", "every row has a state that is known (%s)", looked(facts, &rows));
}

void check_agenda(const struct checks_facts *facts, struct finding *finding)
{
    const struct survey *s = &facts->survey;
    struct listed list, odd;
    if (s->odd.total > 0)
        finding_set(finding, SEVERITY_NOTE, "Workers pass over them; somebody else writes into this ledger.",
                    "Find out who; ZREM removes one.", "members of the agenda that are no names of ours: %s",
                    listed(&s->odd, &odd));
    else if (s->stale.total > 0)
        finding_set(finding, SEVERITY_NOTE,
                    "Little: a worker takes them off when they are due. Rows that are gone were deleted by somebody's "
                    "hand, and may be posted again if their items are submitted again.",
                    "landfall doctor --repair takes them off.", "on the agenda, and the row is gone or settled: %s",
                    listed(&s->stale, &list));
    else
        finding_set(finding, SEVERITY_OK, "", "", "%" PRId64 " members of the agenda looked at%s", s->agenda,
                    s->agenda_complete ? ", all there are" : ", not all");
}

void check_channels(const struct checks_facts *facts, struct finding *finding)
{
    const struct survey *s = &facts->survey;
    struct listed deaf, unwalked, unclear;
    if (s->unclear.total > 0)
        finding_set(finding, SEVERITY_RISK,
                    "Somebody's hand wrote it. Nothing of these channels is sent or settled: a worker's log says why.",
                    "HDEL what is no number (next_at, blocked_until, ramp, turn_at) from the channel's key: the pace "
                    "begins anew.",
                    "channels with a time or a ramp that is no number: %s", listed(&s->unclear, &unclear));
    else if (s->deaf.total + s->unwalked.total > 0)
        finding_set(
            finding, SEVERITY_RISK, "Nothing of these channels is sent, or read back, until something moves.",
            "landfall doctor --repair puts the channels on the agenda.",
            "deliveries wait and the channel is not on the agenda: %.150s; uncertain and not to be read: %.150s",
            listed(&s->deaf, &deaf), listed(&s->unwalked, &unwalked));
    else
        finding_set(finding, SEVERITY_OK, "", "", "every channel that has work is on the agenda");
}

void check_chains(const struct checks_facts *facts, struct finding *finding)
{
    const struct checks_chains *c = &facts->chains;
    const struct survey_list *behind = &facts->survey.behind;
    if (c->circles.text[0])
        finding_set(finding, SEVERITY_RISK, "They wait for each other, for ever: none of them is sent.",
                    "landfall cancel one of them, and bring it under another id, without after.",
                    "deliveries that wait in a circle: %.300s", c->circles.text);
    else if (c->holes.text[0])
        finding_set(finding, SEVERITY_RISK,
                    "They wait until it is published; if it was never brought, or its id is misspelt, for ever.",
                    "Bring what is missing (landfall submit), or cancel what waits and bring it without after.",
                    "deliveries that wait for one that is not there: %.300s", c->holes.text);
    else if ((int64_t)behind->kept < behind->total)
        finding_set(finding, SEVERITY_OK, "", "",
                    "%" PRId64 " deliveries wait for another one; only the first %zu were looked at, and that is there",
                    behind->total, behind->kept);
    else
        finding_set(finding, SEVERITY_OK, "", "", "%" PRId64 " deliveries wait for another one, and that is there",
                    behind->total);
}

void check_counts(const struct checks_facts *facts, struct finding *finding)
{
    const struct survey *s = &facts->survey;
    if (s->counted && s->count_count > 0)
        finding_set(
            finding, SEVERITY_RISK,
            "Status and metrics are wrong. After a block, the claimed ones decide how many may be sent at once: "
            "too many of them counted stops the channel.",
            "landfall doctor --repair counts again, at a moment when nothing changes.",
            "counts that are wrong: %zu; of %s %s there are %" PRId64 ", and %" PRId64 " are stated", s->count_count,
            s->counts[0].channel, delivery_state_name(s->counts[0].state), s->counts[0].found, s->counts[0].stated);
    else if (s->counted)
        finding_set(finding, SEVERITY_OK, "", "", "the counts are right (%" PRId64 " rows)", s->rows);
    else
        finding_set(finding, SEVERITY_OK, "", "", "the counts were not compared: %s",
                    !s->complete              ? "there are too many rows to look at"
                    : s->unreadable.total > 0 ? "some rows cannot be read"
                                              : "they changed meanwhile");
}

void check_keys(const struct checks_facts *facts, struct finding *finding)
{
    const struct survey *s = &facts->survey;
    struct listed list;
    if (s->unknown.total > 0)
        finding_set(finding, SEVERITY_NOTE,
                    "Of another version, or of somebody else who uses the prefix: this version does not look at them.",
                    "Upgrade all processes to one version, or give the other program another prefix.",
                    "keys under %s: that this version does not know: %s", facts->config->redis_prefix,
                    listed(&s->unknown, &list));
    else
        finding_set(finding, SEVERITY_OK, "", "", "%" PRId64 " keys looked at%s, all of them known", s->keys,
                    s->complete ? "" : ", not all there are");
}

void check_processes(const struct checks_facts *facts, struct finding *finding)
{
    const bool none = facts->workers == 0 && facts->processes_complete;
    const bool unread = facts->reconcilers == 0 && facts->processes_complete;
    const bool work = facts->overview.queue_length + facts->overview.agenda_length > 0;
    if (none && work)
        finding_set(finding, SEVERITY_RISK, "Nothing is sent.", "Start one: landfall-worker.",
                    "no worker was seen for %d s, and there is work", ALIVE_MS / 1000);
    else if (unread && facts->overview.journal_length > 0)
        finding_set(finding, SEVERITY_RISK, "What is uncertain stays so.", "Start one: landfall-reconciler run.",
                    "no reconciler was seen for %d s, and %" PRId64 " deliveries are uncertain", ALIVE_MS / 1000,
                    facts->overview.journal_length);
    else if (none || unread)
        finding_set(finding, SEVERITY_NOTE, "Nothing yet: there is nothing for it to do.",
                    "Start it before there is: landfall-worker, landfall-reconciler run.", "no %s was seen for %d s",
                    none && unread ? "worker and no reconciler"
                    : none         ? "worker"
                                   : "reconciler",
                    ALIVE_MS / 1000);
    else
        finding_set(finding, SEVERITY_OK, "", "", "%" PRId64 " workers and %" PRId64 " reconcilers%s", facts->workers,
                    facts->reconcilers, facts->processes_complete ? "" : ", and perhaps more");
}

/* What left the queue unread: it was trimmed. Entries that are there may have been read or not, so it may be more. */
static int64_t vanished(const struct health *h)
{
    if (h->entries_added == HEALTH_UNKNOWN || h->entries_read == HEALTH_UNKNOWN) return 0;
    return h->entries_added - h->entries_read - h->entries_there;
}

void check_queue(const struct checks_facts *facts, struct finding *finding)
{
    const int64_t length = facts->overview.queue_length, workers = facts->workers;
    if (vanished(&facts->health) > 0)
        finding_set(
            finding, SEVERITY_RISK,
            "The queue was trimmed (XADD with MAXLEN or MINID, XTRIM). What landfall submit brought is sent all "
            "the same; what was added to the queue alone is lost.",
            "Producers must not trim the queue. landfall audit names what never came; submit it again. Then "
            "XGROUP SETID with ENTRIESREAD, set to the queue's entries-added, ends this finding.",
            "%" PRId64 " entries left the queue and no worker has read them", vanished(&facts->health));
    else if (length > QUEUE_PER_WORKER * (workers > 0 ? workers : 1))
        finding_set(finding, SEVERITY_NOTE, "What comes last waits long, and may miss its not_after.",
                    "Start more workers, or see in landfall status what the channels wait for.",
                    "%" PRId64 " entries wait in the queue, for %" PRId64 " workers", length, workers);
    else
        finding_set(finding, SEVERITY_OK, "", "", "%" PRId64 " entries wait in the queue", length);
}
