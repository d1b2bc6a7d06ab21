/* SPDX-License-Identifier: MIT */
/*
 * One byte of look-ahead, one value in memory. The one hard case is a first value that does not end in its line: either
 * it is laid out over several lines, or it is a line that was cut off and whole ones follow. It is taken as laid out
 * until it proves not to be; then the lines behind the first are read once more, each by itself.
 */
#include "cli/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/scan.h"
#include "runtime/die.h"

#define RAW_BYTES ((size_t)64 * 1024)
#define NO_BYTE   (-1)

enum input_mode {
    INPUT_UNDECIDED, /* values may span lines */
    INPUT_LINES,     /* a line is a record */
    INPUT_ELEMENTS,  /* inside an array */
    INPUT_OVER,      /* broken: nothing more is read */
};

struct input {
    int fd;
    char *name;
    bool whole;
    enum input_mode mode;
    bool in_feed;     /* ELEMENTS: the array is a member of an object */
    size_t line;      /* of the next byte */
    size_t began;     /* line of the value that is being read */
    size_t first_end; /* length of value up to and with its first line feed; 0: none yet */
    struct buf value;
    struct scan scan;
    bool eof;
    int error; /* errno of a failed read */
    input_waits *waits;
    void *context;
    size_t at, end;
    char *replay; /* bytes that come before those of raw */
    size_t replay_at, replay_len;
    char raw[RAW_BYTES];
};

bool input_open(const char *path, bool whole, size_t value_max_bytes, struct input **out, struct errbuf *err)
{
    bool standard = strcmp(path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    *out = NULL;
    if (fd < 0) return errbuf_set(err, "%s: %s", path, strerror(errno));
    struct input *input = xcalloc(1, sizeof(*input));
    input->fd = fd;
    input->name = xstrdup(standard ? "standard input" : path);
    input->whole = whole;
    input->line = 1;
    buf_init(&input->value, value_max_bytes);
    *out = input;
    return true;
}

void input_close(struct input **input)
{
    if (!*input) return;
    if ((*input)->fd != STDIN_FILENO) close((*input)->fd);
    buf_fini(&(*input)->value);
    free((*input)->replay);
    free((*input)->name);
    free(*input);
    *input = NULL;
}

const char *input_name(const struct input *input)
{
    return input->name;
}

void input_on_wait(struct input *input, input_waits *waits, void *context)
{
    input->waits = waits;
    input->context = context;
}

/* ---- bytes */

static void fill(struct input *input)
{
    struct pollfd ready = {.fd = input->fd, .events = POLLIN};
    ssize_t got = 0;
    if (input->waits && poll(&ready, 1, 0) == 0 && !input->waits(input->context)) {
        input->eof = true;
        return;
    }
    do {
        got = read(input->fd, input->raw, sizeof(input->raw));
    } while (got < 0 && errno == EINTR);
    input->error = got < 0 ? errno : 0;
    input->eof = got <= 0;
    input->at = 0;
    input->end = got > 0 ? (size_t)got : 0;
}

static int peek(struct input *input)
{
    if (input->replay_at < input->replay_len) return (unsigned char)input->replay[input->replay_at];
    if (input->at == input->end && !input->eof) fill(input);
    return input->at < input->end ? (unsigned char)input->raw[input->at] : NO_BYTE;
}

static int take(struct input *input)
{
    int c = peek(input);
    if (c == NO_BYTE) return c;
    if (input->replay_at < input->replay_len)
        input->replay_at++;
    else
        input->at++;
    if (c == '\n') input->line++;
    return c;
}

static void skip_line(struct input *input)
{
    while (peek(input) != NO_BYTE && take(input) != '\n')
        ;
}

/* White space, and a byte order mark where the input begins (editors add it). */
static void skip_space(struct input *input)
{
    static const char mark[] = "\xef\xbb\xbf";
    size_t seen = 0;
    while (input->line == 1 && seen < 3 && peek(input) == (unsigned char)mark[seen]) {
        take(input);
        seen++;
    }
    while (scan_is_space(peek(input)))
        take(input);
}

/* ---- values */

static void begin(struct input *input)
{
    buf_clear(&input->value);
    scan_init(&input->scan);
    input->began = input->line;
    input->first_end = 0;
}

static int take_into_value(struct input *input)
{
    char c = (char)take(input);
    scan_byte(&input->scan, c);
    buf_append(&input->value, &c, 1);
    if (c == '\n' && input->first_end == 0) input->first_end = input->value.len;
    return (unsigned char)c;
}

static enum input_result bad(struct input *input, enum input_mode next, struct errbuf *err, const char *why)
{
    input->mode = next;
    errbuf_set(err, "%s", why);
    return INPUT_BAD;
}

/* The first value went wrong after its first line. If what follows looks like records, they are read again one by one;
 * else there is no telling where anything begins. */
static enum input_result broken_layout(struct input *input, struct errbuf *err)
{
    const char *text = buf_text(&input->value);
    size_t from = input->first_end;
    if (from == 0 || from >= input->value.len || text[from] != '{' || input->value.cut)
        return bad(input, INPUT_OVER, err,
                   "the JSON value that begins here does not end, or is too long; nothing behind it was read");
    input->replay_len = input->value.len - from;
    input->replay = xmalloc(input->replay_len);
    memcpy(input->replay, text + from, input->replay_len);
    input->replay_at = 0;
    input->line = input->began + 1;
    return bad(input, INPUT_LINES, err, "the line ends inside a JSON value; was it cut off?");
}

static bool opens_items(const struct input *input)
{
    const struct scan *scan = &input->scan;
    return !input->whole && input->mode == INPUT_UNDECIDED && scan->depth == 1 && scan->last == ':' &&
           scan->string_len == 5 && !input->value.cut &&
           memcmp(buf_text(&input->value) + scan->string_at, "items", 5) == 0 && !scan->in_string;
}

static enum input_result at_line_end(struct input *input, struct errbuf *err)
{
    static const char cut_off[] = "the line ends inside a JSON value; was it cut off?";
    if (input->mode == INPUT_LINES) return bad(input, INPUT_LINES, err, cut_off);
    if (input->scan.in_string) {
        if (input->first_end == input->value.len) return bad(input, INPUT_LINES, err, cut_off);
        return broken_layout(input, err);
    }
    bool first = input->first_end == input->value.len;
    if (first && peek(input) == '{' && !scan_object_may_begin(&input->scan))
        return bad(input, INPUT_LINES, err, cut_off);
    return INPUT_VALUE;
}

static enum input_result too_long(struct input *input, struct errbuf *err)
{
    if (input->first_end > 0) return broken_layout(input, err);
    skip_line(input);
    errbuf_set(err, "the value is longer than %zu bytes", input->value.max_bytes);
    input->mode = INPUT_LINES;
    return INPUT_BAD;
}

/* A value that begins with a bracket, to its end. INPUT_END: it is a feed, whose items come now. */
static enum input_result gather(struct input *input, struct errbuf *err)
{
    begin(input);
    do {
        int c = peek(input);
        if (c == NO_BYTE) {
            if (input->mode == INPUT_UNDECIDED && input->first_end > 0) return broken_layout(input, err);
            return bad(input, INPUT_LINES, err, "the input ends inside a JSON value; was it cut off?");
        }
        if (c == '[' && opens_items(input)) {
            take(input);
            input->mode = INPUT_ELEMENTS;
            input->in_feed = true;
            return INPUT_END;
        }
        c = take_into_value(input);
        if (input->value.cut) return too_long(input, err);
        if (c == '\n') {
            enum input_result result = at_line_end(input, err);
            if (result != INPUT_VALUE) return result;
        }
    } while (!scan_closed(&input->scan));
    if (input->mode == INPUT_UNDECIDED && input->first_end == 0) input->mode = INPUT_LINES;
    return INPUT_VALUE;
}

static enum input_result top_value(struct input *input, struct errbuf *err)
{
    int c = peek(input);
    if (c == '[' && !input->whole && input->mode == INPUT_UNDECIDED) {
        take(input);
        input->mode = INPUT_ELEMENTS;
        input->in_feed = false;
        return INPUT_END;
    }
    if (c == '{' || (c == '[' && input->whole)) return gather(input, err);
    begin(input);
    if (!input->whole) {
        skip_line(input);
        return bad(input, input->mode, err, "this is no JSON object; an item begins with {");
    }
    while (peek(input) != NO_BYTE && peek(input) != '\n' && !input->value.cut)
        take_into_value(input);
    return input->value.cut ? too_long(input, err) : INPUT_VALUE;
}

/* Behind the array of a feed: the rest of its object. */
static enum input_result feed_tail(struct input *input, struct errbuf *err)
{
    begin(input);
    scan_byte(&input->scan, '{');
    while (!scan_closed(&input->scan)) {
        if (peek(input) == NO_BYTE) return bad(input, INPUT_OVER, err, "the feed document ends before its last }");
        scan_byte(&input->scan, (char)take(input));
    }
    input->mode = INPUT_UNDECIDED;
    return INPUT_END;
}

/* One element: all up to the comma or bracket behind it. INPUT_END: the array is over. */
static enum input_result element(struct input *input, struct errbuf *err)
{
    skip_space(input);
    begin(input);
    for (;;) {
        int c = peek(input);
        if (c == NO_BYTE)
            return bad(input, INPUT_OVER, err, "the array of items is not whole: it does not end behind this element");
        if (scan_closed(&input->scan) && (c == ',' || c == ']' || c == '}')) break;
        take_into_value(input);
    }
    int end = take(input);
    if (end == '}')
        return bad(input, INPUT_OVER, err, "a } where a comma or ] is expected; nothing behind it was read");
    bool last = end == ']';
    if (input->scan.at == 0 && last) {
        input->mode = INPUT_UNDECIDED;
        return input->in_feed ? feed_tail(input, err) : INPUT_END;
    }
    if (last) { /* the next call sees the end */
        if (input->replay_at < input->replay_len)
            input->replay_at--;
        else
            input->at--;
    }
    if (!input->value.cut) return INPUT_VALUE;
    errbuf_set(err, "the item is longer than %zu bytes", input->value.max_bytes);
    return INPUT_BAD;
}

enum input_result input_next(struct input *input, const char **text, size_t *len, size_t *line, struct errbuf *err)
{
    enum input_result result = INPUT_END;
    while (result == INPUT_END && input->mode != INPUT_OVER) {
        if (input->mode == INPUT_ELEMENTS) {
            result = element(input, err);
            continue;
        }
        skip_space(input);
        if (peek(input) == NO_BYTE) break;
        result = top_value(input, err);
    }
    *line = input->began;
    if (input->error) {
        errbuf_set(err, "%s: %s", input->name, strerror(input->error));
        return INPUT_FAILED;
    }
    *text = buf_text(&input->value);
    *len = input->value.len;
    return result;
}
