/* SPDX-License-Identifier: MIT */
/*
 * metrics: counters, gauges and histograms, and their text for Prometheus (exposition format 0.0.4).
 *
 * A family has a name, a help text and a kind; it holds one series per set of labels. Labels are a preformatted string
 * (metrics_labels() writes and escapes it); "" is the series without labels. The number of series is bounded: past
 * METRICS_SERIES_MAX an update that would make a new one is dropped and counted in landfall_metrics_dropped_total.
 * Families live as long as the registry, which owns them; series live until metrics_clear(). One thread.
 */
#ifndef RUNTIME_METRICS_H
#define RUNTIME_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include "runtime/buf.h"

#define METRICS_SERIES_MAX  20000
#define METRICS_LABELS_SIZE 512

#define METRICS_TEXT_MAX_BYTES (32 * 1024 * 1024)

struct metrics;
struct metrics_family;

struct metrics *metrics_new(void);
void metrics_free(struct metrics **metrics);

/* Register a family; name and help are literals and kept by pointer, [a-z0-9_], counters end with _total. A name twice
 * is a bug of ours and ends the process. bounds: upper bounds of the buckets, rising, without +Inf, kept by pointer. */
struct metrics_family *metrics_counter(struct metrics *metrics, const char *name, const char *help);
struct metrics_family *metrics_gauge(struct metrics *metrics, const char *name, const char *help);
struct metrics_family *metrics_histogram(struct metrics *metrics, const char *name, const char *help,
                                         const double *bounds, size_t bound_count);

/* Write name="value" pairs, values escaped and bytes that are not UTF-8 replaced: metrics_labels(out, "channel",
 * channel, "state", state, (char *)NULL). A value too long for out is cut. Returns out. */
const char *metrics_labels(char out[METRICS_LABELS_SIZE], ...) __attribute__((sentinel));

/* counter: add a non-negative amount. gauge: set or add. histogram: observe. */
void metrics_add(struct metrics_family *family, const char *labels, double amount);
void metrics_set(struct metrics_family *family, const char *labels, double value);
void metrics_observe(struct metrics_family *family, const char *labels, double value);

/* Forget the family's series: for gauges that are set anew from a complete picture. */
void metrics_clear(struct metrics_family *family);

/* Append the whole text. */
void metrics_write(const struct metrics *metrics, struct buf *out);

#endif
