/* SPDX-License-Identifier: MIT */
#include "ledger/meters.h"

#include <string.h>

#include "ledger/calls_channel.h"
#include "ledger/errors.h"
#include "ledger/reads.h"

void meters_init(struct meters *meters, struct metrics *metrics)
{
    *meters = (struct meters){
        .deliveries = metrics_gauge(metrics, "landfall_deliveries", "Deliveries by channel and state"),
        .breaker = metrics_gauge(metrics, "landfall_breaker_open", "1 while a channel's platform is left alone"),
        .paused = metrics_gauge(metrics, "landfall_channel_paused", "1 while a channel waits for a person"),
        .queue =
            metrics_gauge(metrics, "landfall_queue_entries", "Entries of the queue that no delivery has come of yet"),
        .doubted = metrics_gauge(metrics, "landfall_ledger_doubted",
                                 "1 while what Redis may have forgotten is read back before it is sent"),
        .duplicates = metrics_counter(metrics, "landfall_duplicates_total", "Alarms about a second post"),
        .oldest = metrics_gauge(
            metrics, "landfall_oldest_seconds",
            "Since when the first delivery is queued, waits for its channel, is being sent, or is uncertain"),
        .journal = metrics_gauge(metrics, "landfall_journal_entries", "Deliveries whose outcome is unknown"),
        .rounds = metrics_counter(metrics, "landfall_rounds_total", "Rounds that were made"),
        .round_trips = metrics_counter(metrics, "landfall_ledger_round_trips_total", "Rounds that Redis answered"),
        .errors = metrics_counter(metrics, "landfall_ledger_errors_total",
                                  "Requests that Redis answered with an error, by its first word; lost: rounds without "
                                  "an answer"),
        .up = metrics_gauge(metrics, "landfall_redis_up", "1 while Redis answers, and is ours"),
    };
}

/* ---- as it happens ---- */

void meters_round(struct meters *meters, bool answered)
{
    metrics_add(meters->rounds, "", 1);
    if (!answered) metrics_add(meters->errors, "word=\"lost\"", 1);
}

void meters_error(struct meters *meters, const char *text)
{
    char word[ERRORS_WORD_BYTES];
    char labels[METRICS_LABELS_SIZE];
    metrics_labels(labels, "word", errors_word(text, word), (char *)NULL);
    metrics_add(meters->errors, labels, 1);
}

void meters_update(struct meters *meters, const struct redis_link *link, bool up)
{
    uint64_t round_trips = link_round_trips(link);
    metrics_set(meters->up, "", up);
    metrics_add(meters->round_trips, "", (double)(round_trips - meters->round_trips_told));
    meters->round_trips_told = round_trips;
}

void meters_duplicate(struct meters *meters, const char *channel)
{
    char labels[METRICS_LABELS_SIZE];
    metrics_add(meters->duplicates, metrics_labels(labels, "channel", channel, (char *)NULL), 1);
}

/* ---- now and then ---- */

static int64_t earlier(int64_t a_ms, int64_t b_ms)
{
    return a_ms == 0 || (b_ms != 0 && b_ms < a_ms) ? b_ms : a_ms;
}

static void tell_channel(struct meters *meters, const struct reads_channel *c, int64_t now_ms)
{
    char labels[METRICS_LABELS_SIZE];
    for (int s = DS_APPROVED; s < DS_COUNT; s++) {
        metrics_labels(labels, "channel", c->channel, "state", delivery_state_name((enum delivery_state)s),
                       (char *)NULL);
        metrics_set(meters->deliveries, labels, (double)c->counts[s]);
    }
    bool open = c->blocked_until_ms > now_ms && strcmp(c->blocked_why, CHANNEL_BREAKER) == 0;
    metrics_set(meters->breaker, metrics_labels(labels, "channel", c->channel, (char *)NULL), open);
    metrics_set(meters->paused, labels, c->paused);
}

static void tell_oldest(struct meters *meters, const char *labels, int64_t since_ms, int64_t now_ms)
{
    metrics_set(meters->oldest, labels, since_ms > 0 && since_ms < now_ms ? (double)(now_ms - since_ms) / 1000 : 0);
}

bool meters_ask(struct meters *meters, const struct ledger *ledger, struct redis_link *link, int64_t limit_ms,
                struct errbuf *err)
{
    struct reads_channel *channels = NULL;
    struct reads_overview overview;
    size_t count = 0;
    int64_t waiting_ms = 0;
    int64_t uncertain_ms = 0;
    int64_t claimed_ms = 0;
    if (!reads_overview(ledger, link, &overview, limit_ms, err) ||
        !reads_channels(ledger, link, NULL, &channels, &count, limit_ms, err) ||
        !reads_oldest_claim(ledger, link, &claimed_ms, limit_ms, err)) {
        reads_channels_free(&channels);
        return false;
    }
    metrics_clear(meters->deliveries);
    metrics_clear(meters->breaker);
    metrics_clear(meters->paused);
    for (size_t i = 0; i < count; i++) {
        tell_channel(meters, &channels[i], overview.now_ms);
        waiting_ms = earlier(waiting_ms, channels[i].waiting_since_ms);
        uncertain_ms = earlier(uncertain_ms, channels[i].uncertain_since_ms);
    }
    tell_oldest(meters, "state=\"queued\"", overview.queued_since_ms, overview.now_ms);
    tell_oldest(meters, "state=\"approved\"", waiting_ms, overview.now_ms);
    tell_oldest(meters, "state=\"claimed\"", claimed_ms, overview.now_ms);
    tell_oldest(meters, "state=\"uncertain\"", uncertain_ms, overview.now_ms);
    metrics_set(meters->queue, "", (double)overview.queue_length);
    metrics_set(meters->journal, "", (double)overview.journal_length);
    metrics_set(meters->doubted, "", overview.epoch.no_absence_before_ms > overview.now_ms);
    reads_channels_free(&channels);
    return true;
}
