/* SPDX-License-Identifier: MIT */
#include "platforms/html.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <utf8proc.h>

#define REFERENCE_MAX 12 /* bytes between "&" and ";" of the longest reference that is known */

struct entity {
    const char *name;
    uint32_t code;
};

/* The named references that editors and platforms write. An unknown one stays as it is. */
static const struct entity entities[] = {
    {"amp", '&'},      {"lt", '<'},       {"gt", '>'},       {"quot", '"'},     {"apos", '\''},     {"nbsp", 0xa0},
    {"iexcl", 0xa1},   {"cent", 0xa2},    {"pound", 0xa3},   {"yen", 0xa5},     {"sect", 0xa7},     {"copy", 0xa9},
    {"laquo", 0xab},   {"shy", 0xad},     {"reg", 0xae},     {"deg", 0xb0},     {"plusmn", 0xb1},   {"acute", 0xb4},
    {"para", 0xb6},    {"middot", 0xb7},  {"raquo", 0xbb},   {"frac12", 0xbd},  {"iquest", 0xbf},   {"Auml", 0xc4},
    {"Ouml", 0xd6},    {"times", 0xd7},   {"Uuml", 0xdc},    {"szlig", 0xdf},   {"agrave", 0xe0},   {"aacute", 0xe1},
    {"auml", 0xe4},    {"aring", 0xe5},   {"ccedil", 0xe7},  {"egrave", 0xe8},  {"eacute", 0xe9},   {"ecirc", 0xea},
    {"iacute", 0xed},  {"ntilde", 0xf1},  {"oacute", 0xf3},  {"ouml", 0xf6},    {"oslash", 0xf8},   {"uacute", 0xfa},
    {"uuml", 0xfc},    {"ndash", 0x2013}, {"mdash", 0x2014}, {"lsquo", 0x2018}, {"rsquo", 0x2019},  {"sbquo", 0x201a},
    {"ldquo", 0x201c}, {"rdquo", 0x201d}, {"bdquo", 0x201e}, {"bull", 0x2022},  {"hellip", 0x2026}, {"euro", 0x20ac},
    {"trade", 0x2122}, {"rarr", 0x2192},  {"larr", 0x2190},  {"zwnj", 0x200c},  {"zwj", 0x200d},    {"sol", '/'},
    {"colon", ':'},    {"num", '#'},      {"lsqb", '['},     {"rsqb", ']'},
};

/* Elements whose edges end a line of text. */
static const char *const blocks[] = {"p",   "div", "br",    "li",      "ul",         "ol",     "blockquote",
                                     "pre", "h1",  "h2",    "h3",      "h4",         "h5",     "h6",
                                     "tr",  "hr",  "table", "figure",  "figcaption", "td",     "th",
                                     "dl",  "dt",  "dd",    "section", "article",    "header", "footer"};

/* Where the reader stands. */
struct reader {
    const char *html;
    size_t len;
    size_t at;
    struct buf *text;
    struct buf *links;
};

struct slice {
    const char *at;
    size_t len;
};

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_name(struct slice name, const char *word)
{
    return strlen(word) == name.len && strncasecmp(name.at, word, name.len) == 0;
}

static bool is_block(struct slice name)
{
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (is_name(name, blocks[i])) return true;
    return false;
}

static void append(struct buf *out, const void *bytes, size_t len)
{
    if (out != NULL) buf_append(out, bytes, len);
}

static void append_code(struct buf *out, uint32_t code)
{
    if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) code = 0xfffd;
    utf8proc_uint8_t utf8[4];
    append(out, utf8, (size_t)utf8proc_encode_char((utf8proc_int32_t)code, utf8));
}

/* The number behind "&#"; false if it is none. */
static bool read_number(struct slice digits, uint32_t *code)
{
    const bool hex = digits.len > 0 && (digits.at[0] == 'x' || digits.at[0] == 'X');
    size_t i = hex;
    *code = 0;
    if (i == digits.len) return false;
    for (; i < digits.len; i++) {
        static const char all[] = "0123456789abcdef";
        const char c = is_letter(digits.at[i]) ? (char)(digits.at[i] | 0x20) : digits.at[i];
        const char *digit = c == '\0' ? NULL : strchr(all, c);
        if (digit == NULL || (!hex && digit - all > 9)) return false;
        *code = *code * (hex ? 16 : 10) + (uint32_t)(digit - all);
        if (*code > 0x10ffff) *code = 0x110000; /* stays too large, does not run over */
    }
    return true;
}

static bool find_entity(struct slice name, uint32_t *code)
{
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++)
        if (strlen(entities[i].name) == name.len && memcmp(entities[i].name, name.at, name.len) == 0) {
            *code = entities[i].code;
            return true;
        }
    return false;
}

/* Appends what the reference at `piece` means and gives its length, or appends "&" and gives 1. The semicolon is
 * required: "?a=1&copy=2" in an address that nobody escaped is no copyright sign. */
static size_t append_reference(struct buf *out, struct slice piece)
{
    size_t end = 1;
    while (end < piece.len && end <= REFERENCE_MAX && piece.at[end] != ';')
        end++;
    uint32_t code = 0;
    if (end < piece.len && piece.at[end] == ';' && end > 1) {
        const struct slice name = {piece.at + 1, end - 1};
        const struct slice digits = {piece.at + 2, end - 2};
        if (name.at[0] == '#' ? read_number(digits, &code) : find_entity(name, &code)) {
            append_code(out, code);
            return end + 1;
        }
    }
    append(out, "&", 1);
    return 1;
}

static void append_decoded(struct buf *out, struct slice piece)
{
    while (piece.len > 0) {
        size_t used = 0;
        if (piece.at[0] == '&') {
            used = append_reference(out, piece);
        } else {
            const char *next = memchr(piece.at, '&', piece.len);
            used = next != NULL ? (size_t)(next - piece.at) : piece.len;
            append(out, piece.at, used);
        }
        piece.at += used;
        piece.len -= used;
    }
}

/* Two blocks in a row end one line, not two: line ends are folded where texts are compared. */
static void end_line(struct buf *text)
{
    if (text != NULL && text->len > 0 && text->data[text->len - 1] != '\n') buf_append(text, "\n", 1);
}

static void append_link(struct buf *links, struct slice href)
{
    while (href.len > 0 && is_space(href.at[0])) {
        href.at++;
        href.len--;
    }
    while (href.len > 0 && is_space(href.at[href.len - 1]))
        href.len--;
    if (links == NULL || href.len == 0 || memchr(href.at, '\0', href.len) != NULL || links->cut) return;
    const size_t start = links->len;
    append_decoded(links, href);
    if (!buf_append(links, "", 1)) { /* half an address is another address */
        links->len = start;
        links->data[start] = '\0';
    }
}

static void skip_spaces(struct reader *reader)
{
    while (reader->at < reader->len && is_space(reader->html[reader->at]))
        reader->at++;
}

/* Reads up to white space or one of `stops`. */
static struct slice read_until(struct reader *reader, const char *stops)
{
    const size_t start = reader->at;
    while (reader->at < reader->len && !is_space(reader->html[reader->at]) &&
           (reader->html[reader->at] == '\0' || strchr(stops, reader->html[reader->at]) == NULL))
        reader->at++;
    return (struct slice){reader->html + start, reader->at - start};
}

static struct slice read_value(struct reader *reader)
{
    const char quote = reader->at < reader->len ? reader->html[reader->at] : '\0';
    if (quote != '"' && quote != '\'') return read_until(reader, ">");
    const char *start = reader->html + reader->at + 1;
    const char *end = memchr(start, quote, reader->len - reader->at - 1);
    const size_t len = end != NULL ? (size_t)(end - start) : reader->len - reader->at - 1;
    reader->at += len + 1 + (end != NULL);
    return (struct slice){start, len};
}

/* Reads the attributes up to and including ">"; gives the value of the first href. */
static struct slice read_attributes(struct reader *reader)
{
    struct slice href = {NULL, 0};
    for (;;) {
        skip_spaces(reader);
        if (reader->at >= reader->len) return (struct slice){NULL, 0}; /* the tag never ended */
        const char c = reader->html[reader->at];
        if (c == '>' || c == '/' || c == '=') {
            reader->at++;
            if (c == '>') return href;
            continue;
        }
        const struct slice name = read_until(reader, "=>/");
        skip_spaces(reader);
        if (reader->at >= reader->len || reader->html[reader->at] != '=') continue;
        reader->at++;
        skip_spaces(reader);
        const struct slice value = read_value(reader);
        if (href.at == NULL && is_name(name, "href")) href = value;
    }
}

/* Skips to behind the next `end`, or to the end of all. */
static void skip_to(struct reader *reader, const char *end)
{
    const char *found = memmem(reader->html + reader->at, reader->len - reader->at, end, strlen(end));
    reader->at = found != NULL ? (size_t)(found - reader->html) + strlen(end) : reader->len;
}

/* Skips the content of an element that holds no text, up to its end tag. */
static void skip_raw(struct reader *reader, struct slice name)
{
    while (reader->at < reader->len) {
        skip_to(reader, "</");
        if (reader->len - reader->at >= name.len && strncasecmp(reader->html + reader->at, name.at, name.len) == 0) {
            skip_to(reader, ">");
            return;
        }
    }
}

static void read_declaration(struct reader *reader)
{
    static const char cdata[] = "<![CDATA[";
    const char *here = reader->html + reader->at;
    const size_t left = reader->len - reader->at;
    if (left >= 4 && memcmp(here, "<!--", 4) == 0) {
        reader->at += 2; /* "<!-->" is a whole comment */
        skip_to(reader, "-->");
    } else if (left >= strlen(cdata) && memcmp(here, cdata, strlen(cdata)) == 0) {
        reader->at += strlen(cdata);
        const size_t start = reader->at;
        skip_to(reader, "]]>");
        const size_t closed = reader->at - start >= 3 && memcmp(reader->html + reader->at - 3, "]]>", 3) == 0 ? 3 : 0;
        append(reader->text, reader->html + start, reader->at - start - closed);
    } else {
        skip_to(reader, ">");
    }
}

static void read_tag(struct reader *reader)
{
    const bool closing = reader->html[reader->at + 1] == '/';
    reader->at += closing ? 2 : 1;
    const struct slice name = read_until(reader, ">/");
    const struct slice href = read_attributes(reader);
    if (is_block(name)) end_line(reader->text);
    if (closing) return;
    if (href.at != NULL && (is_name(name, "a") || is_name(name, "area"))) append_link(reader->links, href);
    if (is_name(name, "script") || is_name(name, "style")) skip_raw(reader, name);
}

/* What the "<" at the reader's place begins. One that begins no tag ("a < b", "<3") is text. */
static void read_markup(struct reader *reader)
{
    const char *here = reader->html + reader->at;
    const size_t left = reader->len - reader->at;
    if (left >= 2 && (here[1] == '!' || here[1] == '?')) {
        read_declaration(reader);
    } else if ((left >= 2 && is_letter(here[1])) || (left >= 3 && here[1] == '/' && is_letter(here[2]))) {
        read_tag(reader);
    } else {
        append(reader->text, "<", 1);
        reader->at++;
    }
}

void html_read(const char *html, size_t len, struct buf *text, struct buf *links)
{
    struct reader reader = {html, len, 0, text, links};
    while (reader.at < len) {
        if (html[reader.at] == '<') {
            read_markup(&reader);
            continue;
        }
        const char *next = memchr(html + reader.at, '<', len - reader.at);
        const size_t piece = next != NULL ? (size_t)(next - html) - reader.at : len - reader.at;
        append_decoded(text, (struct slice){html + reader.at, piece});
        reader.at += piece;
    }
}

const char *html_next_link(const struct buf *links, const char *previous)
{
    const char *next = previous != NULL ? previous + strlen(previous) + 1 : links->data;
    return next != NULL && next < links->data + links->len ? next : NULL;
}
