/* SPDX-License-Identifier: MIT */
#include "reconciler/gauges.h"

#include <string.h>

void gauges_init(struct gauges *g)
{
    memset(g, 0, sizeof *g);
    struct metrics *m = g->metrics = metrics_new();
    meters_init(&g->ledger, m);
    g->outcomes = metrics_counter(m, "landfall_outcomes_total", "Uncertain deliveries that were decided about");
    g->walks = metrics_counter(m, "landfall_walks_total", "Walks over an account's history, by how they ended");
    g->pages = metrics_counter(m, "landfall_pages_total", "Pages and single posts that were read");
    g->in_flight = metrics_gauge(m, "landfall_in_flight", "Transfers in flight");
}

void gauges_fini(struct gauges *g)
{
    metrics_free(&g->metrics);
}

void gauges_walk(struct gauges *g, const char *channel, const char *result)
{
    char labels[METRICS_LABELS_SIZE];
    metrics_add(g->walks, metrics_labels(labels, "channel", channel, "result", result, (char *)NULL), 1);
}

void gauges_page(struct gauges *g, const char *channel)
{
    char labels[METRICS_LABELS_SIZE];
    metrics_add(g->pages, metrics_labels(labels, "channel", channel, (char *)NULL), 1);
}

void gauges_outcome(struct gauges *g, const char *channel, const char *outcome, const char *source)
{
    char labels[METRICS_LABELS_SIZE];
    metrics_labels(labels, "channel", channel, "outcome", outcome, "source", source, (char *)NULL);
    metrics_add(g->outcomes, labels, 1);
}
