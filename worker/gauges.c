/* SPDX-License-Identifier: MIT */
#include "worker/gauges.h"

#include <string.h>

#include "ledger/reads.h"

static const double attempt_bounds_s[] = {0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60};

void gauges_init(struct gauges *g)
{
    memset(g, 0, sizeof *g);
    struct metrics *m = g->metrics = metrics_new();
    g->deliveries = metrics_gauge(m, "landfall_deliveries", "Deliveries by channel and state");
    g->in_flight = metrics_gauge(m, "landfall_in_flight", "Transfers in flight");
    g->unsettled = metrics_gauge(m, "landfall_unsettled_outcomes", "Outcomes that wait for the ledger");
    g->outcomes = metrics_counter(m, "landfall_outcomes_total", "Attempts by what became of them");
    g->attempts = metrics_histogram(m, "landfall_attempt_seconds", "From the start of a write request to its end",
                                    attempt_bounds_s, sizeof attempt_bounds_s / sizeof attempt_bounds_s[0]);
    g->waits = metrics_counter(m, "landfall_waits_total", "Claims that the ledger put off");
    g->skipped = metrics_counter(m, "landfall_skipped_total", "Deliveries that were settled before");
    g->refused = metrics_counter(m, "landfall_refused_total", "Input that never became a delivery");
    g->lease_losses = metrics_counter(m, "landfall_lease_losses_total", "Claims whose lease was gone");
    g->late_reports = metrics_counter(m, "landfall_late_reports_total", "Reports that met a changed row");
    g->round_trips = metrics_counter(m, "landfall_ledger_round_trips_total", "Rounds that Redis answered");
    g->errors = metrics_counter(m, "landfall_ledger_errors_total",
                                "Requests that Redis answered with an error, by its first word; lost: rounds without "
                                "an answer");
    g->rounds = metrics_counter(m, "landfall_rounds_total", "Rounds that were made");
    g->writes = metrics_counter(m, "landfall_write_requests_total", "Write requests that may have left");
    g->breaker = metrics_gauge(m, "landfall_breaker_open", "1 while a channel's platform is left alone");
    g->oldest = metrics_gauge(m, "landfall_oldest_seconds",
                              "Since when the first delivery waits for its channel (approved), or is uncertain");
    g->journal = metrics_gauge(m, "landfall_journal_entries", "Deliveries whose outcome is unknown");
    g->up = metrics_gauge(m, "landfall_redis_up", "1 while Redis answers, and is ours");
}

void gauges_fini(struct gauges *g)
{
    metrics_free(&g->metrics);
}

/* ---- as it happens ---- */

/* Where the knowledge of an outcome comes from: `none` where no request left. */
static const char *source_of(const struct slot *slot)
{
    if (slot->has_outcome || slot->outcome.kind == EV_NOT_SENT) return "none";
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

void gauges_round(struct gauges *g, bool answered)
{
    metrics_add(g->rounds, "", 1);
    if (!answered) metrics_add(g->errors, "word=\"lost\"", 1);
}

void gauges_error(struct gauges *g, const char *text)
{
    char word[ERRORS_WORD_BYTES];
    char labels[METRICS_LABELS_SIZE];
    metrics_add(g->errors, metrics_labels(labels, "word", errors_word(text, word), (char *)NULL), 1);
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
    metrics_set(g->up, "", work_connected(w));
    count_on(g, 0, g->skipped, (double)t->skipped);
    count_on(g, 1, g->refused, (double)(t->refused + t->conflicts));
    count_on(g, 2, g->lease_losses, (double)t->lease_losses);
    count_on(g, 3, g->late_reports, (double)t->late_reports);
    count_on(g, 4, g->round_trips, (double)link_round_trips(w->link));
    count_on(g, 5, g->writes, (double)t->writes);
}

static int64_t earlier(int64_t a_ms, int64_t b_ms)
{
    return a_ms == 0 || (b_ms != 0 && b_ms < a_ms) ? b_ms : a_ms;
}

static void tell_channel(struct gauges *g, const struct reads_channel *c, int64_t now_ms)
{
    char labels[METRICS_LABELS_SIZE];
    for (int s = DS_APPROVED; s < DS_COUNT; s++) {
        metrics_labels(labels, "channel", c->channel, "state", delivery_state_name((enum delivery_state)s),
                       (char *)NULL);
        metrics_set(g->deliveries, labels, (double)c->counts[s]);
    }
    bool open = c->blocked_until_ms > now_ms && strcmp(c->blocked_why, SETTLE_BREAKER) == 0;
    metrics_set(g->breaker, metrics_labels(labels, "channel", c->channel, (char *)NULL), open);
}

static void tell_oldest(struct gauges *g, const char *labels, int64_t since_ms, int64_t now_ms)
{
    metrics_set(g->oldest, labels, since_ms > 0 && since_ms < now_ms ? (double)(now_ms - since_ms) / 1000 : 0);
}

void gauges_ask(struct gauges *g, struct worker *w)
{
    struct errbuf err;
    struct reads_channel *channels = NULL;
    struct reads_overview overview;
    size_t count = 0;
    int64_t waiting_ms = 0;
    int64_t uncertain_ms = 0;
    int64_t limit_ms = w->config->redis_round_limit_ms;
    if (!reads_overview(&w->ledger, w->link, &overview, limit_ms, &err) ||
        !reads_channels(&w->ledger, w->link, NULL, &channels, &count, limit_ms, &err))
        return; /* the next round says what is wrong */
    metrics_clear(g->deliveries);
    metrics_clear(g->breaker);
    for (size_t i = 0; i < count; i++) {
        tell_channel(g, &channels[i], overview.now_ms);
        waiting_ms = earlier(waiting_ms, channels[i].waiting_since_ms);
        uncertain_ms = earlier(uncertain_ms, channels[i].uncertain_since_ms);
    }
    tell_oldest(g, "state=\"approved\"", waiting_ms, overview.now_ms);
    tell_oldest(g, "state=\"uncertain\"", uncertain_ms, overview.now_ms);
    metrics_set(g->journal, "", (double)overview.journal_length);
    reads_channels_free(&channels, count);
}
