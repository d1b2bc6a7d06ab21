/* SPDX-License-Identifier: MIT */
#include "reconciler/gauges.h"

#include <stdlib.h>
#include <string.h>

void gauges_init(struct gauges *g)
{
    memset(g, 0, sizeof *g);
    struct metrics *m = g->metrics = metrics_new();
    g->deliveries = metrics_gauge(m, "landfall_deliveries", "Deliveries by channel and state");
    g->outcomes = metrics_counter(m, "landfall_outcomes_total", "Uncertain deliveries that were decided about");
    g->walks = metrics_counter(m, "landfall_walks_total", "Walks over an account's history, by how they ended");
    g->pages = metrics_counter(m, "landfall_pages_total", "Pages and single posts that were read");
    g->journal = metrics_gauge(m, "landfall_journal_entries", "Deliveries whose outcome is unknown");
    g->oldest = metrics_gauge(m, "landfall_oldest_seconds", "Age of the oldest delivery in a state");
    g->in_flight = metrics_gauge(m, "landfall_in_flight", "Transfers in flight");
    g->round_trips = metrics_counter(m, "landfall_ledger_round_trips_total", "Rounds that Redis answered");
    g->rounds = metrics_counter(m, "landfall_rounds_total", "Rounds that were made");
    g->errors = metrics_counter(m, "landfall_ledger_errors_total", "Rounds that were lost");
    g->up = metrics_gauge(m, "landfall_redis_up", "1 while the connection to Redis stands");
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

void gauges_round(struct gauges *g, bool answered)
{
    metrics_add(g->rounds, "", 1);
    if (!answered) metrics_add(g->errors, "word=\"lost\"", 1);
}

void gauges_update(struct gauges *g, int in_flight, bool redis_up, uint64_t round_trips)
{
    metrics_set(g->in_flight, "", in_flight);
    metrics_set(g->up, "", redis_up);
    metrics_add(g->round_trips, "", (double)(round_trips - g->round_trips_told));
    g->round_trips_told = round_trips;
}

static bool ask_channels(struct gauges *g, const struct ledger *ledger, struct redis_link *link, int64_t limit_ms,
                         struct reads_channel **channels, size_t *count, struct errbuf *err)
{
    char labels[METRICS_LABELS_SIZE];
    if (!reads_channels(ledger, link, NULL, channels, count, limit_ms, err)) return false;
    metrics_clear(g->deliveries);
    for (size_t i = 0; i < *count; i++) {
        for (int s = DS_APPROVED; s < DS_COUNT; s++) {
            metrics_labels(labels, "channel", (*channels)[i].channel, "state",
                           delivery_state_name((enum delivery_state)s), (char *)NULL);
            metrics_set(g->deliveries, labels, (double)(*channels)[i].counts[s]);
        }
    }
    return true;
}

/* Since when the first of the uncertain deliveries is so; 0: there is none. */
static bool ask_oldest(const struct ledger *ledger, struct redis_link *link, int64_t limit_ms,
                       const struct reads_channel *channels, size_t count, int64_t *oldest_ms, struct errbuf *err)
{
    *oldest_ms = 0;
    for (size_t i = 0; i < count; i++) {
        struct reads_name *names = NULL;
        size_t found = 0;
        if (channels[i].uncertain == 0) continue;
        if (!reads_uncertain(ledger, link, channels[i].channel, 0, 1, &names, &found, limit_ms, err)) return false;
        if (found > 0 && (*oldest_ms == 0 || names[0].ms < *oldest_ms)) *oldest_ms = names[0].ms;
        free(names);
    }
    return true;
}

bool gauges_ask(struct gauges *g, const struct ledger *ledger, struct redis_link *link, int64_t limit_ms,
                struct errbuf *err)
{
    struct reads_overview overview;
    struct reads_channel *channels = NULL;
    size_t count = 0;
    int64_t oldest_ms = 0;
    if (!ask_channels(g, ledger, link, limit_ms, &channels, &count, err)) return false;
    const bool ok = ask_oldest(ledger, link, limit_ms, channels, count, &oldest_ms, err) &&
                    reads_overview(ledger, link, &overview, limit_ms, err);
    reads_channels_free(&channels, count);
    if (!ok) return false;
    metrics_set(g->journal, "", (double)overview.journal_length);
    metrics_set(g->oldest, "state=\"uncertain\"", oldest_ms > 0 ? (double)(overview.now_ms - oldest_ms) / 1000 : 0);
    return true;
}
