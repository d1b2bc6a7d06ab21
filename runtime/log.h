/* SPDX-License-Identifier: MIT */
/*
 * log: one line per event, on stderr.
 *
 *   2026-11-29T21:00:00.123Z level=warn event=delivery.uncertain delivery=site/brand/x why="no answer"
 *
 * An event has a name and typed fields; there is no format string, so no text of a user, platform or file can become
 * one. Values are escaped (quotes, control characters, bytes that are not UTF-8) and cut at LOG_VALUE_MAX_BYTES, so an
 * event is one line whatever is in it. Every living secret is masked in every value (secret.h). A line is written with
 * one write(2), at once or, between log_hold() and log_release(), together with others; a line that stderr does not
 * take is lost, never waited for twice. Not for use from several threads.
 *
 *   log_event(LOG_LEVEL_WARN, "delivery.uncertain", LOG_S("delivery", id), LOG_I("attempt", 2));
 *   log_event(LOG_LEVEL_INFO, "worker.ready", LOG_END);
 */
#ifndef RUNTIME_LOG_H
#define RUNTIME_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_VALUE_MAX_BYTES     1024
#define LOG_LIMITED_INTERVAL_MS 10000

enum log_level {
    LOG_LEVEL_DEBUG, /* for whoever works on landfall; off in production */
    LOG_LEVEL_INFO,  /* the normal course: started, settled, stopped */
    LOG_LEVEL_WARN,  /* something went wrong and landfall goes on by itself; worth a look when it repeats */
    LOG_LEVEL_ERROR, /* something needs a person: a channel paused, an item refused, a duplicate */
    LOG_LEVEL_FATAL, /* the process ends because of it */
};

enum log_format { LOG_FORMAT_LOGFMT, LOG_FORMAT_JSON };

enum log_field_kind { LOG_FIELD_TEXT, LOG_FIELD_INTEGER };

struct log_field {
    const char *key; /* a literal of [a-z0-9_]; NULL ends the list */
    enum log_field_kind kind;
    const char *text; /* NULL: the field is left out */
    size_t len;
    int64_t integer;
};

#define LOG_TERMINATED ((size_t)-1)

/* A terminated string; bytes with a length; an integer; the end of the list (needed only where there are no fields). */
#define LOG_S(name, value)                                                                                             \
    {                                                                                                                  \
        .key = (name), .kind = LOG_FIELD_TEXT, .text = (value), .len = LOG_TERMINATED                                  \
    }
#define LOG_N(name, value, bytes)                                                                                      \
    {                                                                                                                  \
        .key = (name), .kind = LOG_FIELD_TEXT, .text = (value), .len = (bytes)                                         \
    }
#define LOG_I(name, value)                                                                                             \
    {                                                                                                                  \
        .key = (name), .kind = LOG_FIELD_INTEGER, .integer = (value)                                                   \
    }
#define LOG_END                                                                                                        \
    {                                                                                                                  \
        .key = NULL                                                                                                    \
    }

/* Defaults: info, logfmt. */
void log_configure(enum log_level level, enum log_format format);
bool log_enabled(enum log_level level);

#define log_event(level, event, ...) log_fields((level), (event), (const struct log_field[]){__VA_ARGS__, LOG_END})

/* From log_hold() on, lines below `warn` may wait for log_release(), a line of another level, PIPE_BUF bytes of them,
 * or log_flush(), whichever comes first; their order is kept. For one turn of a loop: a process that is killed in the
 * middle of it takes what it held along. Who waits, or ends the process, calls log_flush() before. */
void log_hold(void);
void log_release(void);
void log_flush(void);

/* At most one line per event name in LOG_LIMITED_INTERVAL_MS; the next line says suppressed=N. For what can happen once
 * per delivery or per round. Event names are literals and few; past LOG_LIMITED_MAX of them the rest is written without
 * a limit. */
#define log_event_limited(level, event, ...)                                                                           \
    log_fields_limited((level), (event), (const struct log_field[]){__VA_ARGS__, LOG_END})

#define LOG_LIMITED_MAX 256

/* For the loop, each round or less often, with its boot time: writes the lines that still owe their suppressed=N, so
 * that the count of a burst that ended is not lost. */
void log_limited_flush(int64_t now_boot_ms);

/* The rule behind it: true = write the line now, with *suppressed lines left out before it. */
struct log_limit {
    bool used;
    enum log_level level;
    int64_t next_ms;
    int64_t suppressed;
};

bool log_limit_pass(struct log_limit *limit, int64_t now_ms, int64_t *suppressed);

/* What the macros call. event is a literal such as "delivery.uncertain". */
void log_fields(enum log_level level, const char *event, const struct log_field *fields);
void log_fields_limited(enum log_level level, const char *event, const struct log_field *fields);

#endif
