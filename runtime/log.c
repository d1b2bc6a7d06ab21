/* SPDX-License-Identifier: MIT */
#include "runtime/log.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>
#include "runtime/buf.h"
#include "runtime/clock.h"
#include "runtime/digits.h"
#include "runtime/secret.h"
#include "runtime/utf8.h"

#define LINE_MAX_BYTES  (64 * 1024)
#define HELD_MAX_BYTES  PIPE_BUF                  /* so much at once does a pipe not mix with what others write */
#define VALUE_OUT_BYTES (8 * LOG_VALUE_MAX_BYTES) /* the longest escape of one byte has six, and the mark of a cut */

static const char *const level_names[] = {"debug", "info", "warn", "error", "fatal"};

static struct {
    enum log_level level;
    enum log_format format;
    struct buf lines; /* those that are held, and the one that is being made; reused: a line costs no allocation */
    size_t whole;     /* bytes of lines that are finished */
    struct buf value; /* one escaped value */
    bool held;
} sink = {.level = LOG_LEVEL_INFO,
          .format = LOG_FORMAT_LOGFMT,
          .lines = {.max_bytes = LINE_MAX_BYTES + HELD_MAX_BYTES},
          .value = {.max_bytes = VALUE_OUT_BYTES}};

static struct {
    const char *event;
    struct log_limit limit;
} limits[LOG_LIMITED_MAX];

void log_configure(enum log_level level, enum log_format format)
{
    sink.level = level;
    sink.format = format;
}

bool log_enabled(enum log_level level)
{
    return level >= sink.level;
}

/* Characters that break a line, move a cursor or turn the direction of text: nothing a log should do to its reader. */
static bool is_unsafe(uint32_t c)
{
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029 || (c >= 0x202A && c <= 0x202E) ||
           (c >= 0x2066 && c <= 0x2069);
}

/* Append one character; true if logfmt needs quotes because of it. */
static bool append_character(struct buf *out, const char *text, size_t len, uint32_t c)
{
    static const char names[] = "\"\\\n\r\t";
    static const char letters[] = "\"\\nrt";
    const char *name = c != 0 && c < 0x80 ? strchr(names, (int)c) : NULL;

    if (name) {
        buf_append_format(out, "\\%c", letters[name - names]);
        return true;
    }
    if (is_unsafe(c)) {
        buf_append_format(out, "\\u%04x", (unsigned)c);
        return true;
    }
    buf_append(out, text, len);
    return c == ' ' || c == '=';
}

/* How many bytes from the first on stand in a line as they are, whatever the format. */
static size_t plain_run(const char *text, size_t len)
{
    size_t run = 0;
    while (run < len && text[run] > ' ' && text[run] < 0x7F && text[run] != '"' && text[run] != '\\' &&
           text[run] != '=')
        run++;
    return run;
}

/* sink.value = text with secrets masked, escaped and cut; true if logfmt needs quotes. */
static bool escape_value(const char *text, size_t len)
{
    struct buf *out = &sink.value;
    bool quotes = len == 0;

    buf_clear(out);
    for (size_t i = 0; i < len;) {
        uint32_t c = 0;
        if (i >= LOG_VALUE_MAX_BYTES) {
            buf_append_text(out, "...");
            break;
        }
        size_t left = len < LOG_VALUE_MAX_BYTES ? len - i : LOG_VALUE_MAX_BYTES - i;
        size_t plain = secret_search(text + i, len - i, plain_run(text + i, left));
        if (plain > 0) {
            buf_append(out, text + i, plain);
            i += plain;
            continue;
        }
        size_t hidden = secret_match(text + i, len - i);
        if (hidden > 0) {
            buf_append_text(out, "***");
            i += hidden;
            continue;
        }
        size_t size = utf8_decode(text + i, len - i, &c);
        if (size == 0) { /* not UTF-8: U+FFFD stands for the byte */
            buf_append_text(out, "\xEF\xBF\xBD");
            i++;
            continue;
        }
        quotes |= append_character(out, text + i, size, c);
        i += size;
    }
    return quotes;
}

/* ` key=` or `,"key":` */
static void append_key(const char *key)
{
    const bool json = sink.format == LOG_FORMAT_JSON;
    buf_append(&sink.lines, json ? ",\"" : " ", json ? 2 : 1);
    buf_append_text(&sink.lines, key);
    buf_append(&sink.lines, json ? "\":" : "=", json ? 2 : 1);
}

static void append_value(const char *key, const char *text, size_t len)
{
    const size_t quote = escape_value(text, len) || sink.format == LOG_FORMAT_JSON ? 1 : 0;
    append_key(key);
    buf_append(&sink.lines, "\"", quote);
    buf_append(&sink.lines, buf_text(&sink.value), sink.value.len);
    buf_append(&sink.lines, "\"", quote);
}

static void append_integer(const char *key, int64_t value)
{
    char text[DIGITS_BYTES], *const end = text + sizeof text, *first = digits_before(end, value);
    append_key(key);
    buf_append(&sink.lines, first, (size_t)(end - first));
}

static void append_field(const struct log_field *field)
{
    if (field->kind == LOG_FIELD_INTEGER) {
        append_integer(field->key, field->integer);
    } else if (field->text) {
        append_value(field->key, field->text, field->len == LOG_TERMINATED ? strlen(field->text) : field->len);
    }
}

/* ---- lines ---- */

/* Finished lines leave. What stderr does not take is lost. */
static void write_out(size_t len)
{
    ssize_t written = 0;
    do {
        written = write(STDERR_FILENO, sink.lines.data, len);
    } while (written < 0 && errno == EINTR);
    sink.lines.len -= len;
    sink.whole -= len;
    memmove(sink.lines.data, sink.lines.data + len, sink.lines.len);
}

void log_flush(void)
{
    if (sink.whole > 0) {
        write_out(sink.whole);
    }
}

void log_hold(void)
{
    sink.held = true;
}

void log_release(void)
{
    sink.held = false;
    log_flush();
}

static void begin_line(enum log_level level, const char *event)
{
    struct buf *out = &sink.lines;
    char time[CLOCK_RFC3339_SIZE];
    bool json = sink.format == LOG_FORMAT_JSON;

    clock_rfc3339(clock_wall_ms(), time);
    buf_append_text(out, json ? "{\"time\":\"" : "");
    buf_append_text(out, time);
    buf_append_text(out, json ? "\",\"level\":\"" : " level=");
    buf_append_text(out, level_names[level]);
    buf_append_text(out, json ? "\",\"event\":\"" : " event=");
    buf_append_text(out, event);
    buf_append_text(out, json ? "\"" : "");
}

/* Lines of the normal course wait for others of their turn; what somebody should see takes them along. */
static void end_line(enum log_level level)
{
    const size_t before = sink.whole;

    buf_append_text(&sink.lines, sink.format == LOG_FORMAT_JSON ? "}\n" : "\n");
    sink.whole = sink.lines.len;
    if (before > 0 && sink.whole > HELD_MAX_BYTES) {
        write_out(before);
    }
    if (!sink.held || level >= LOG_LEVEL_WARN || sink.whole > HELD_MAX_BYTES) {
        log_flush();
    }
}

static void write_line(enum log_level level, const char *event, const struct log_field *fields, int64_t suppressed)
{
    const size_t room_end = sink.whole + LINE_MAX_BYTES - VALUE_OUT_BYTES - 256;

    begin_line(level, event);
    for (const struct log_field *field = fields; field->key && sink.lines.len < room_end; field++) {
        append_field(field);
    }
    if (suppressed > 0) {
        append_integer("suppressed", suppressed);
    }
    end_line(level);
}

void log_fields(enum log_level level, const char *event, const struct log_field *fields)
{
    if (log_enabled(level)) {
        write_line(level, event, fields, 0);
    }
}

bool log_limit_pass(struct log_limit *limit, int64_t now_ms, int64_t *suppressed)
{
    if (limit->used && now_ms < limit->next_ms) {
        limit->suppressed++;
        return false;
    }
    *suppressed = limit->suppressed;
    *limit = (struct log_limit){.used = true, .level = limit->level, .next_ms = now_ms + LOG_LIMITED_INTERVAL_MS};
    return true;
}

static struct log_limit *limit_of(const char *event)
{
    for (size_t i = 0; i < LOG_LIMITED_MAX; i++) {
        if (!limits[i].event) {
            limits[i].event = event;
        }
        if (strcmp(limits[i].event, event) == 0) {
            return &limits[i].limit;
        }
    }
    return NULL;
}

void log_fields_limited(enum log_level level, const char *event, const struct log_field *fields)
{
    int64_t suppressed = 0;
    if (!log_enabled(level)) {
        return;
    }
    struct log_limit *limit = limit_of(event);
    if (limit) {
        limit->level = level;
    }
    if (!limit || log_limit_pass(limit, clock_boottime_ms(), &suppressed)) {
        write_line(level, event, fields, suppressed);
    }
}

void log_limited_flush(int64_t now_boot_ms)
{
    static const struct log_field none[] = {LOG_END};

    for (size_t i = 0; i < LOG_LIMITED_MAX && limits[i].event; i++) {
        struct log_limit *limit = &limits[i].limit;
        int64_t suppressed = 0;
        bool owes =
            limit->suppressed > 0 && now_boot_ms >= limit->next_ms; /* asked too early, the rule would count it */
        if (owes && log_limit_pass(limit, now_boot_ms, &suppressed)) {
            write_line(limit->level, limits[i].event, none, suppressed);
        }
    }
}
