/* SPDX-License-Identifier: MIT */
#include "runtime/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/die.h"
#include "runtime/utf8.h"

#define FAMILIES_MAX 128
#define NUMBER_SIZE  40

enum metrics_kind { KIND_COUNTER, KIND_GAUGE, KIND_HISTOGRAM };

static const char *const kind_names[] = {"counter", "gauge", "histogram"};

struct series {
    char *labels;
    double value; /* counter, gauge; the sum of a histogram */
    uint64_t count;
    uint64_t *buckets; /* histogram: one for each bound, not cumulative */
};

struct metrics_family {
    struct metrics *metrics;
    const char *name;
    const char *help;
    enum metrics_kind kind;
    const double *bounds;
    size_t bound_count;
    struct series *series; /* in the order they came */
    size_t series_count;
    uint32_t *index; /* open hash table of positions in series, plus 1; 0 is free */
    size_t index_size;
};

struct metrics {
    struct metrics_family *families[FAMILIES_MAX];
    size_t family_count;
    size_t series_count;
    struct metrics_family *dropped;
};

struct metrics *metrics_new(void)
{
    struct metrics *metrics = xcalloc(1, sizeof *metrics);
    metrics->dropped = metrics_counter(metrics, "landfall_metrics_dropped_total",
                                       "Updates that would have made a series beyond the limit of this process");
    metrics_add(metrics->dropped, "", 0);
    return metrics;
}

void metrics_free(struct metrics **metrics)
{
    if (!*metrics) {
        return;
    }
    for (size_t i = 0; i < (*metrics)->family_count; i++) {
        metrics_clear((*metrics)->families[i]);
        free((*metrics)->families[i]);
    }
    free(*metrics);
    *metrics = NULL;
}

static struct metrics_family *add_family(struct metrics *metrics, struct metrics_family family)
{
    if (metrics->family_count == FAMILIES_MAX) {
        die("more than %d metrics: raise FAMILIES_MAX", FAMILIES_MAX);
    }
    for (size_t i = 0; i < metrics->family_count; i++) {
        if (strcmp(metrics->families[i]->name, family.name) == 0) {
            die("the metric %s is registered twice", family.name);
        }
    }
    struct metrics_family *own = xmalloc(sizeof *own);
    *own = family;
    own->metrics = metrics;
    metrics->families[metrics->family_count++] = own;
    return own;
}

struct metrics_family *metrics_counter(struct metrics *metrics, const char *name, const char *help)
{
    return add_family(metrics, (struct metrics_family){.name = name, .help = help, .kind = KIND_COUNTER});
}

struct metrics_family *metrics_gauge(struct metrics *metrics, const char *name, const char *help)
{
    return add_family(metrics, (struct metrics_family){.name = name, .help = help, .kind = KIND_GAUGE});
}

struct metrics_family *metrics_histogram(struct metrics *metrics, const char *name, const char *help,
                                         const double *bounds, size_t bound_count)
{
    return add_family(
        metrics, (struct metrics_family){
                     .name = name, .help = help, .kind = KIND_HISTOGRAM, .bounds = bounds, .bound_count = bound_count});
}

/* ---- series ---- */

/* FNV-1a: short strings of our own making. */
static size_t hash_of(const char *labels)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *labels; labels++) {
        hash = (hash ^ (unsigned char)*labels) * UINT64_C(1099511628211);
    }
    return (size_t)(hash ^ hash >> 32);
}

/* The place of the labels in the index: where they are or where they would go. index_size is a power of two and never
 * full. */
static size_t place_of(const struct metrics_family *family, const char *labels)
{
    size_t at = hash_of(labels) & (family->index_size - 1);
    while (family->index[at] != 0 && strcmp(family->series[family->index[at] - 1].labels, labels) != 0) {
        at = (at + 1) & (family->index_size - 1);
    }
    return at;
}

static void grow(struct metrics_family *family)
{
    size_t size = family->index_size ? 2 * family->index_size : 8;
    free(family->index);
    family->index = xcalloc(size, sizeof *family->index);
    family->index_size = size;
    family->series = xrealloc_array(family->series, size / 2, sizeof *family->series);
    for (size_t i = 0; i < family->series_count; i++) {
        family->index[place_of(family, family->series[i].labels)] = (uint32_t)i + 1;
    }
}

static struct series *series_find(const struct metrics_family *family, const char *labels)
{
    uint32_t position = family->index_size ? family->index[place_of(family, labels)] : 0;
    return position ? &family->series[position - 1] : NULL;
}

/* The series, made if need be; NULL where the registry is full. */
static struct series *series_get(struct metrics_family *family, const char *labels)
{
    struct metrics *metrics = family->metrics;
    struct series *series = series_find(family, labels);

    if (series) {
        return series;
    }
    if (metrics->series_count >= METRICS_SERIES_MAX) {
        metrics_add(metrics->dropped, "", 1);
        return NULL;
    }
    if (2 * (family->series_count + 1) > family->index_size) {
        grow(family);
    }
    series = &family->series[family->series_count++];
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): grow() has made room */
    *series = (struct series){.labels = xstrdup(labels)};
    if (family->kind == KIND_HISTOGRAM) {
        series->buckets = xcalloc(family->bound_count, sizeof *series->buckets);
    }
    family->index[place_of(family, labels)] = (uint32_t)family->series_count;
    metrics->series_count++;
    return series;
}

void metrics_add(struct metrics_family *family, const char *labels, double amount)
{
    struct series *series = series_get(family, labels);
    if (series) {
        series->value += amount;
    }
}

void metrics_set(struct metrics_family *family, const char *labels, double value)
{
    struct series *series = series_get(family, labels);
    if (series) {
        series->value = value;
    }
}

void metrics_observe(struct metrics_family *family, const char *labels, double value)
{
    struct series *series = series_get(family, labels);
    if (!series) {
        return;
    }
    series->value += value;
    series->count++;
    for (size_t i = 0; i < family->bound_count; i++) {
        if (value <= family->bounds[i]) {
            /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a histogram's series has buckets */
            series->buckets[i]++;
            return;
        }
    }
}

void metrics_clear(struct metrics_family *family)
{
    for (size_t i = 0; i < family->series_count; i++) {
        free(family->series[i].labels);
        free(family->series[i].buckets);
    }
    family->metrics->series_count -= family->series_count;
    free(family->series);
    free(family->index);
    family->series = NULL;
    family->index = NULL;
    family->series_count = 0;
    family->index_size = 0;
}

/* ---- text ---- */

/* How many bytes from the first on stand in a label as they are. */
static size_t plain_run(const char *text, size_t len)
{
    size_t run = 0;
    while (run < len && text[run] >= ' ' && text[run] < 0x7F && text[run] != '"' && text[run] != '\\') {
        run++;
    }
    return run;
}

/* Escaped as the exposition format wants it in a label: backslash, quote, line feed; a byte that is not UTF-8 becomes
 * U+FFFD. Cut to fit. */
static size_t escape_label(char *out, size_t room, const char *value)
{
    size_t len = strlen(value);
    size_t at = 0;

    while (len > 0) {
        size_t left = room - at;
        size_t size = plain_run(value, len < left ? len : left);
        if (size == 0) {
            size = utf8_decode(value, len, NULL);
        }
        const char *piece = value;
        size_t piece_len = size;
        switch (size == 1 ? *value : 0) {
        case '\\': piece = "\\\\", piece_len = 2; break;
        case '"': piece = "\\\"", piece_len = 2; break;
        case '\n': piece = "\\n", piece_len = 2; break;
        default: break;
        }
        if (size == 0) {
            piece = "\xEF\xBF\xBD", piece_len = 3, size = 1;
        }
        if (piece_len > left) {
            break;
        }
        memcpy(out + at, piece, piece_len);
        at += piece_len;
        value += size;
        len -= size;
    }
    return at;
}

const char *metrics_labels(char out[METRICS_LABELS_SIZE], ...)
{
    size_t at = 0;
    const char *name = NULL;
    va_list pairs;

    va_start(pairs, out);
    while ((name = va_arg(pairs, const char *))) {
        const char *value = va_arg(pairs, const char *);
        size_t name_len = strlen(name);
        size_t around = name_len + (at > 0 ? 1 : 0) + 3; /* the comma, =, two quotes */
        if (at + around >= METRICS_LABELS_SIZE) {
            break;
        }
        if (at > 0) {
            out[at++] = ',';
        }
        memcpy(out + at, name, name_len);
        memcpy(out + at + name_len, "=\"", 2);
        at += name_len + 2;
        at += escape_label(out + at, METRICS_LABELS_SIZE - at - 2, value ? value : "");
        out[at++] = '"';
    }
    va_end(pairs);
    out[at] = '\0';
    return out;
}

/* The shortest of two forms that reads back as the same double. */
static const char *format_number(double number, char out[NUMBER_SIZE])
{
    if (isnan(number) || isinf(number)) {
        (void)snprintf(out, NUMBER_SIZE, "%s", isnan(number) ? "NaN" : number > 0 ? "+Inf" : "-Inf");
        return out;
    }
    (void)snprintf(out, NUMBER_SIZE, "%.15g", number);
    if (strtod(out, NULL) != number) {
        (void)snprintf(out, NUMBER_SIZE, "%.17g", number);
    }
    char *comma = strchr(out, ','); /* a locale's decimal point */
    if (comma) {
        *comma = '.';
    }
    return out;
}

static void write_sample(struct buf *out, const char *name, const char *suffix, const char *labels, const char *value)
{
    const char *open = *labels ? "{" : "";
    const char *close = *labels ? "}" : "";
    buf_append_format(out, "%s%s%s%s%s %s\n", name, suffix, open, labels, close, value);
}

static void write_histogram(const struct metrics_family *family, const struct series *series, struct buf *out)
{
    const char *comma = *series->labels ? "," : "";
    char number[NUMBER_SIZE];
    uint64_t below = 0;

    for (size_t i = 0; i < family->bound_count; i++) {
        below += series->buckets[i];
        buf_append_format(out, "%s_bucket{%s%sle=\"%s\"} %" PRIu64 "\n", family->name, series->labels, comma,
                          format_number(family->bounds[i], number), below);
    }
    buf_append_format(out, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", family->name, series->labels, comma,
                      series->count);
    write_sample(out, family->name, "_sum", series->labels, format_number(series->value, number));
    (void)snprintf(number, sizeof number, "%" PRIu64, series->count);
    write_sample(out, family->name, "_count", series->labels, number);
}

void metrics_write(const struct metrics *metrics, struct buf *out)
{
    for (size_t i = 0; i < metrics->family_count; i++) {
        const struct metrics_family *family = metrics->families[i];
        buf_append_format(out, "# HELP %s %s\n# TYPE %s %s\n", family->name, family->help, family->name,
                          kind_names[family->kind]);
        for (size_t j = 0; j < family->series_count; j++) {
            char number[NUMBER_SIZE];
            const struct series *series = &family->series[j];
            if (family->kind == KIND_HISTOGRAM) {
                write_histogram(family, series, out);
            } else {
                write_sample(out, family->name, "", series->labels, format_number(series->value, number));
            }
        }
    }
}
