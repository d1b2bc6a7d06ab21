/* SPDX-License-Identifier: MIT */
#include "worker/gauges.h"

#include <string.h>

#include "worker/spool.h"

static const double attempt_bounds_s[] = {0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60};

void gauges_init(struct gauges *g)
{
    memset(g, 0, sizeof *g);
    struct metrics *m = g->metrics = metrics_new();
    meters_init(&g->ledger, m);
    g->in_flight = metrics_gauge(m, "landfall_in_flight", "Transfers in flight");
    g->unsettled = metrics_gauge(m, "landfall_unsettled_outcomes", "Outcomes that wait for the ledger");
    g->spooled = metrics_gauge(m, "landfall_spooled_outcomes", "Of them, those that stand in the spool file");
    g->outcomes = metrics_counter(m, "landfall_outcomes_total", "Attempts by what became of them");
    g->attempts = metrics_histogram(m, "landfall_attempt_seconds", "From the start of a write request to its end",
                                    attempt_bounds_s, sizeof attempt_bounds_s / sizeof attempt_bounds_s[0]);
    g->waits = metrics_counter(m, "landfall_waits_total", "Claims that the ledger put off");
    g->skipped = metrics_counter(m, "landfall_skipped_total", "Deliveries that were settled before");
    g->refused = metrics_counter(m, "landfall_refused_total", "Input that never became a delivery");
    g->lease_losses = metrics_counter(m, "landfall_lease_losses_total", "Claims whose lease was gone");
    g->late_reports = metrics_counter(m, "landfall_late_reports_total", "Reports that met a changed row");
    g->writes = metrics_counter(m, "landfall_write_requests_total", "Write requests that may have left");
    g->uncopied = metrics_counter(m, "landfall_uncopied_claims_total",
                                  "Claims given back unsent because too few copies of them were acknowledged");
    g->copies_enough =
        metrics_gauge(m, "landfall_copies_enough", "1 while as many copies are acknowledged as redis.wait_ asks for");
}

void gauges_fini(struct gauges *g)
{
    metrics_free(&g->metrics);
}

/* ---- as it happens ---- */

/* Where the knowledge of an outcome comes from: `none` where no request left. */
static const char *source_of(const struct slot *slot)
{
    if (slot->has_outcome || slot->outcome.kind == EV_NOT_SENT || slot->outcome.kind == EV_UNSENDABLE) return "none";
    return slot->claim.in_doubt ? "replay" : "response";
}

void gauges_outcome(struct gauges *g, const struct slot *slot)
{
    char labels[METRICS_LABELS_SIZE];
    metrics_labels(labels, "channel", slot->channel, "outcome", delivery_event_name(slot->outcome.kind), "source",
                   source_of(slot), (char *)NULL);
    metrics_add(g->outcomes, labels, 1);
}

void gauges_attempt(struct gauges *g, const char *channel, double seconds)
{
    char labels[METRICS_LABELS_SIZE];
    metrics_observe(g->attempts, metrics_labels(labels, "channel", channel, (char *)NULL), seconds);
}

void gauges_wait(struct gauges *g, const char *channel, enum delivery_reason reason)
{
    char labels[METRICS_LABELS_SIZE];
    metrics_labels(labels, "channel", channel, "reason", delivery_reason_name(reason), (char *)NULL);
    metrics_add(g->waits, labels, 1);
}

/* ---- now and then ---- */

static void count_on(struct gauges *g, int which, struct metrics_family *family, double value)
{
    metrics_add(family, "", value - g->reported[which]);
    g->reported[which] = value;
}

void gauges_update(struct gauges *g, const struct worker *w)
{
    const struct tally *t = &w->tally;
    double unsettled = 0;
    for (int i = 0; i < w->slot_count; i++)
        unsettled += w->slots[i].phase == SLOT_SETTLE;
    metrics_set(g->in_flight, "", transfer_in_flight(w->pool));
    metrics_set(g->unsettled, "", unsettled);
    metrics_set(g->spooled, "", (double)spool_pending(w->spool));
    meters_update(&g->ledger, w->link, work_connected(w));
    count_on(g, 0, g->skipped, (double)t->skipped);
    count_on(g, 1, g->refused, (double)(t->refused + t->conflicts));
    count_on(g, 2, g->lease_losses, (double)t->lease_losses);
    count_on(g, 3, g->late_reports, (double)t->late_reports);
    count_on(g, 4, g->writes, (double)t->writes);
    count_on(g, 5, g->uncopied, (double)t->uncopied);
    metrics_set(g->copies_enough, "", copies_open(w->copies));
}
