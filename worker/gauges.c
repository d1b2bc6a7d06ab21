/* SPDX-License-Identifier: MIT */
#include "worker/gauges.h"

#include <string.h>

#include "ledger/reads.h"

void gauges_init(struct gauges *g)
{
    memset(g, 0, sizeof *g);
    struct metrics *m = g->metrics = metrics_new();
    g->deliveries = metrics_gauge(m, "landfall_deliveries", "Deliveries by channel and state");
    g->in_flight = metrics_gauge(m, "landfall_in_flight", "Transfers in flight");
    g->unsettled = metrics_gauge(m, "landfall_unsettled_outcomes", "Outcomes that wait for the ledger");
    g->skipped = metrics_counter(m, "landfall_skipped_total", "Deliveries that were settled before");
    g->refused = metrics_counter(m, "landfall_refused_total", "Input that never became a delivery");
    g->lease_losses = metrics_counter(m, "landfall_lease_losses_total", "Claims whose lease was gone");
    g->late_reports = metrics_counter(m, "landfall_late_reports_total", "Reports that met a changed row");
    g->round_trips = metrics_counter(m, "landfall_ledger_round_trips_total", "Rounds that Redis answered");
    g->errors = metrics_counter(m, "landfall_ledger_errors_total", "Rounds that were lost");
    g->rounds = metrics_counter(m, "landfall_write_requests_total", "Write requests that may have left");
    g->journal = metrics_gauge(m, "landfall_journal_entries", "Deliveries whose outcome is unknown");
    g->up = metrics_gauge(m, "landfall_redis_up", "1 while the connection to Redis stands");
}

void gauges_fini(struct gauges *g)
{
    metrics_free(&g->metrics);
}

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
    metrics_set(g->up, "", link_is_open(w->link));
    count_on(g, 0, g->skipped, (double)t->skipped);
    count_on(g, 1, g->refused, (double)(t->refused + t->conflicts));
    count_on(g, 2, g->lease_losses, (double)t->lease_losses);
    count_on(g, 3, g->late_reports, (double)t->late_reports);
    count_on(g, 4, g->round_trips, (double)link_round_trips(w->link));
    count_on(g, 5, g->errors, (double)t->round_errors);
    count_on(g, 6, g->rounds, (double)t->writes);
}

void gauges_ask(struct gauges *g, struct worker *w)
{
    struct errbuf err;
    struct reads_channel *channels = NULL;
    struct reads_overview overview;
    size_t count = 0;
    char labels[METRICS_LABELS_SIZE];
    int64_t limit_ms = w->config->redis_round_limit_ms;
    if (!reads_channels(&w->ledger, w->link, NULL, &channels, &count, limit_ms, &err))
        return; /* the next round says what is wrong */
    metrics_clear(g->deliveries);
    for (size_t i = 0; i < count; i++) {
        for (int s = DS_APPROVED; s < DS_COUNT; s++)
            metrics_set(g->deliveries,
                        metrics_labels(labels, "channel", channels[i].channel, "state",
                                       delivery_state_name((enum delivery_state)s), (char *)NULL),
                        (double)channels[i].counts[s]);
    }
    reads_channels_free(&channels, count);
    if (reads_overview(&w->ledger, w->link, &overview, limit_ms, &err))
        metrics_set(g->journal, "", (double)overview.journal_length);
}
