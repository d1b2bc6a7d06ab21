/* SPDX-License-Identifier: MIT */
#include "platforms/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <utf8proc.h>

#include "runtime/die.h"

#define REPLACEMENT 0xfffd

/* The character at `from` and its length in bytes; a byte that is no UTF-8 is U+FFFD and one byte long. */
static utf8proc_int32_t character(const char *text, size_t len, size_t from, size_t *bytes)
{
    utf8proc_int32_t code = 0;
    const utf8proc_ssize_t n =
        utf8proc_iterate((const utf8proc_uint8_t *)text + from, (utf8proc_ssize_t)(len - from), &code);
    *bytes = n > 0 ? (size_t)n : 1;
    return n > 0 ? code : REPLACEMENT;
}

/* The character that ends before `at`. */
static utf8proc_int32_t character_before(const char *text, size_t at, size_t *bytes)
{
    size_t start = at - 1;
    while (start > 0 && at - start < 4 && ((unsigned char)text[start] & 0xc0) == 0x80)
        start--;
    const utf8proc_int32_t code = character(text, at, start, bytes);
    if (*bytes == at - start) return code;
    *bytes = 1;
    return REPLACEMENT;
}

static bool is_white(utf8proc_int32_t code)
{
    if (code < 0x80) return code == ' ' || (code >= '\t' && code <= '\r');
    const utf8proc_category_t category = utf8proc_category(code);
    return code == 0x85 || category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
           category == UTF8PROC_CATEGORY_ZP;
}

/* Letters, digits, marks: what a word is made of, in any script. */
static bool is_word(utf8proc_int32_t code)
{
    if (code == '_') return true;
    const utf8proc_category_t category = utf8proc_category(code);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO;
}

static bool is_punctuation(utf8proc_int32_t code)
{
    const utf8proc_category_t category = utf8proc_category(code);
    return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

/* What cannot stand inside a link of a running text. Non-ASCII punctuation ends it: "https://ex.test/a。" */
static bool ends_link(utf8proc_int32_t code)
{
    if (code < 0x80) return code <= ' ' || code == 0x7f || strchr("<>\"\\^`{}|", (int)code) != NULL;
    const utf8proc_category_t category = utf8proc_category(code);
    return code == REPLACEMENT || is_white(code) || is_punctuation(code) || category == UTF8PROC_CATEGORY_CC ||
           category == UTF8PROC_CATEGORY_SO;
}

static size_t scheme_length(const char *text, size_t len)
{
    if (len > 7 && strncasecmp(text, "http://", 7) == 0) return 7;
    return len > 8 && strncasecmp(text, "https://", 8) == 0 ? 8 : 0;
}

static size_t count_byte(const char *text, size_t start, size_t end, char byte)
{
    size_t count = 0;
    for (size_t i = start; i < end; i++)
        count += text[i] == byte;
    return count;
}

/* Takes off what belongs to the sentence and not to the link: its full stop, its closing bracket. A bracket that was
 * opened inside the link stays. */
static size_t trim_link(const char *text, size_t start, size_t end)
{
    const size_t open_round = count_byte(text, start, end, '(');
    const size_t open_square = count_byte(text, start, end, '[');
    size_t close_round = count_byte(text, start, end, ')');
    size_t close_square = count_byte(text, start, end, ']');
    while (end > start) {
        const char last = text[end - 1];
        if (last == ')' && close_round > open_round)
            close_round--;
        else if (last == ']' && close_square > open_square)
            close_square--;
        else if (strchr(".,;:!?'*", last) == NULL)
            break;
        end--;
    }
    return end;
}

bool text_next_link(const char *text, size_t len, size_t from, struct text_span *link)
{
    for (size_t at = from; at + 7 < len; at++) {
        if (text[at] != 'h' && text[at] != 'H') continue;
        const size_t scheme = scheme_length(text + at, len - at);
        size_t bytes = 0;
        if (scheme == 0 || (at > 0 && is_word(character_before(text, at, &bytes)))) continue;
        size_t end = at + scheme;
        while (end < len && !ends_link(character(text, len, end, &bytes)))
            end += bytes;
        end = trim_link(text, at, end);
        if (end <= at + scheme) continue;
        *link = (struct text_span){at, end};
        return true;
    }
    return false;
}

/* The end of the tag whose "#" stands at `at`, or `at` if there is none. */
static size_t tag_end(const char *text, size_t len, size_t at)
{
    size_t bytes = 0;
    if (at > 0) {
        const utf8proc_int32_t before = character_before(text, at, &bytes);
        if (is_word(before) || before == '&' || before == '/' || before == '#') return at;
    }
    bool named = false;
    size_t end = at + 1;
    while (end < len) {
        const utf8proc_int32_t code = character(text, len, end, &bytes);
        if (!is_word(code)) break;
        named = named || (code != '_' && utf8proc_category(code) != UTF8PROC_CATEGORY_ND);
        end += bytes;
    }
    return named ? end : at;
}

bool text_next_tag(const char *text, size_t len, size_t from, struct text_span *tag)
{
    struct text_span link = {0, 0};
    bool linked = text_next_link(text, len, from, &link);
    for (size_t at = from; at < len; at++) {
        if (linked && at >= link.start) {
            at = link.end;
            linked = text_next_link(text, len, at, &link);
            if (at >= len) return false;
        }
        const size_t end = text[at] == '#' ? tag_end(text, len, at) : at;
        if (end == at) continue;
        *tag = (struct text_span){at, end};
        return true;
    }
    return false;
}

static size_t count_graphemes(const char *text, size_t len)
{
    size_t count = 0;
    utf8proc_int32_t previous = 0;
    utf8proc_int32_t state = 0;
    for (size_t at = 0, bytes = 0; at < len; at += bytes) {
        const utf8proc_int32_t code = character(text, len, at, &bytes);
        if (at == 0 || utf8proc_grapheme_break_stateful(previous, code, &state)) count++;
        previous = code;
    }
    return count;
}

/* ---- characters that weigh one or two ---- */

/* twitter-text, config/v3.json: `ranges`; everything else has the default weight of two. */
static bool weighs_one(utf8proc_int32_t code)
{
    static const struct {
        utf8proc_int32_t first, last;
    } light[] = {{0, 0x10ff}, {0x2000, 0x200d}, {0x2010, 0x201f}, {0x2032, 0x2037}};
    for (size_t i = 0; i < sizeof light / sizeof *light; i++)
        if (code >= light[i].first && code <= light[i].last) return true;
    return false;
}

/* Flags, keycaps, and what is a picture by itself. Signs such as (c), which may be shown as one, are characters. */
static bool begins_emoji(utf8proc_int32_t code)
{
    const int class = (int)utf8proc_get_property(code)->boundclass;
    return class == UTF8PROC_BOUNDCLASS_REGIONAL_INDICATOR ||
           (class == UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC && code > 0xff);
}

/* Of one text that is in NFC. */
static size_t count_weights(const char *text, size_t len)
{
    const utf8proc_int32_t keycap = 0x20e3;
    size_t count = 0, cluster = 0; /* what the cluster has weighed so far */
    bool emoji = false;
    utf8proc_int32_t previous = 0, state = 0;
    for (size_t at = 0, bytes = 0; at < len; at += bytes) {
        const utf8proc_int32_t code = character(text, len, at, &bytes);
        if (at == 0 || utf8proc_grapheme_break_stateful(previous, code, &state)) {
            count += emoji ? 2 : cluster;
            cluster = 0;
            emoji = begins_emoji(code);
        }
        emoji = emoji || code == keycap;
        cluster += weighs_one(code) ? 1 : 2;
        previous = code;
    }
    return count + (emoji ? 2 : cluster);
}

/* A text that is not UTF-8 has no NFC: it is weighed as it is. */
static size_t count_weighted(const char *text, size_t len)
{
    utf8proc_uint8_t *composed = NULL;
    const utf8proc_ssize_t n = utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)len, &composed,
                                            UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    const size_t count = n >= 0 ? count_weights((const char *)composed, (size_t)n) : count_weights(text, len);
    free(composed);
    return count;
}

/* ---- counting ---- */

static size_t count_units(const char *text, size_t len, enum text_unit unit)
{
    size_t count = 0;
    switch (unit) {
    case TEXT_BYTES: return len;
    case TEXT_GRAPHEMES: return count_graphemes(text, len);
    case TEXT_WEIGHTED: return count_weighted(text, len);
    case TEXT_CODE_POINTS:
    case TEXT_UNIT_COUNT:
        for (size_t at = 0, bytes = 0; at < len; at += bytes, count++)
            (void)character(text, len, at, &bytes);
        break;
    }
    return count;
}

/* The end of a run of words with single dots and hyphens between them, such as a name or a host; `at` if there is none.
 */
static size_t dotted_end(const char *text, size_t len, size_t at)
{
    size_t end = at, bytes = 0;
    for (size_t next = at; next < len; next += bytes) {
        const utf8proc_int32_t code = character(text, len, next, &bytes);
        if (is_word(code))
            end = next + bytes;
        else if ((code != '.' && code != '-') || next == at)
            break;
    }
    return end;
}

/* The "@host" of the next "@name@host" that begins at or after `from`. */
static bool next_host(const char *text, size_t len, size_t from, struct text_span *host)
{
    for (size_t at = from; at < len; at++) {
        size_t bytes = 0;
        if (text[at] != '@') continue;
        const utf8proc_int32_t before = at > 0 ? character_before(text, at, &bytes) : ' ';
        if (is_word(before) || before == '/' || before == '=') continue;
        const size_t name_end = dotted_end(text, len, at + 1);
        if (name_end == at + 1 || name_end >= len || text[name_end] != '@') continue;
        const size_t host_end = dotted_end(text, len, name_end + 1);
        if (host_end == name_end + 1) continue;
        *host = (struct text_span){name_end, host_end};
        return true;
    }
    return false;
}

/* The next part of the text that counts otherwise than by its length; *counts is what it counts. */
static bool next_special(const char *text, size_t len, size_t from, const struct text_measure *measure,
                         struct text_span *span, size_t *counts)
{
    struct text_span host;
    const bool linked = measure->url_counts > 0 && text_next_link(text, len, from, span);
    *counts = measure->url_counts;
    if (!measure->short_mentions || !next_host(text, linked ? span->start : len, from, &host)) return linked;
    *span = host;
    *counts = 0;
    return true;
}

size_t text_count(const char *text, size_t len, const struct text_measure *measure)
{
    size_t count = 0, from = 0, counts = 0;
    struct text_span span;
    while (next_special(text, len, from, measure, &span, &counts)) {
        count += count_units(text + from, span.start - from, measure->unit) + counts;
        from = span.end;
    }
    return count + count_units(text + from, len - from, measure->unit);
}

typedef bool next_span(const char *text, size_t len, size_t from, struct text_span *span);

/* The spans that `next` finds, as objects; the first `sigil` bytes of a span are not part of its name. */
static json_t *spans_json(const char *text, next_span *next, const char *name, size_t sigil)
{
    const size_t len = strlen(text);
    json_t *list = json_array();
    struct text_span span;
    for (size_t from = 0, n = 0; n < TEXT_SPANS_MAX && next(text, len, from, &span); n++) {
        json_t *value = json_stringn(text + span.start + sigil, span.end - span.start - sigil);
        if (value != NULL)
            json_array_append_new(list, json_pack("{s:o, s:I, s:I}", name, value, "start", (json_int_t)span.start,
                                                  "end", (json_int_t)span.end));
        from = span.end;
    }
    return list;
}

json_t *text_facts_json(const char *text)
{
    const size_t len = strlen(text);
    json_t *facts =
        json_pack("{s:I, s:I, s:I, s:o, s:o}", "graphemes", (json_int_t)count_graphemes(text, len), "code_points",
                  (json_int_t)count_units(text, len, TEXT_CODE_POINTS), "bytes", (json_int_t)len, "links",
                  spans_json(text, text_next_link, "url", 0), "tags", spans_json(text, text_next_tag, "tag", 1));
    if (facts == NULL) die("out of memory");
    return facts;
}

/* Characters that nobody sees and that platforms add or drop: soft hyphen, zero-width space, word joiner, byte order
 * mark. Joiners (U+200C, U+200D) change what is shown and stay. */
static bool is_invisible(utf8proc_int32_t code)
{
    return code == 0xad || code == 0x200b || code == 0x2060 || code == 0xfeff;
}

/* The plain form of what platforms set in type by themselves ("smart" quotes, dashes, dots); NULL for all else. */
static const char *plain_form(utf8proc_int32_t code)
{
    if (code >= 0x2018 && code <= 0x201b) return "'";
    if (code >= 0x201c && code <= 0x201f) return "\"";
    if (code == '-' || (code >= 0x2010 && code <= 0x2015)) return "-";
    return code == 0x2026 ? "..." : NULL;
}

/* Folds white space and typography; every character that stays is written as UTF-8. A row of dashes is one. */
static void fold(const char *text, size_t len, struct buf *out)
{
    bool space = false;
    for (size_t at = 0, bytes = 0; at < len; at += bytes) {
        const utf8proc_int32_t code = character(text, len, at, &bytes);
        const char *plain = plain_form(code);
        if (is_white(code)) {
            space = true;
        } else if (!is_invisible(code)) {
            if (space && out->len > 0) buf_append(out, " ", 1);
            space = false;
            utf8proc_uint8_t utf8[4];
            if (plain == NULL)
                buf_append(out, utf8, (size_t)utf8proc_encode_char(code, utf8));
            else if (plain[0] != '-' || out->len == 0 || out->data[out->len - 1] != '-')
                buf_append_text(out, plain);
        }
    }
}

void text_normalize(const char *text, size_t len, struct buf *out)
{
    struct buf folded;
    buf_init(&folded, 3 * len + 1); /* a byte that is not UTF-8 becomes three */
    fold(text, len, &folded);
    utf8proc_uint8_t *nfc = NULL;
    const utf8proc_ssize_t n = utf8proc_map((const utf8proc_uint8_t *)buf_text(&folded), (utf8proc_ssize_t)folded.len,
                                            &nfc, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    if (n == UTF8PROC_ERROR_NOMEM) die("out of memory");
    if (n >= 0)
        buf_append(out, nfc, (size_t)n);
    else /* text with more marks on one letter than utf8proc composes: compared as it is */
        buf_append(out, buf_text(&folded), folded.len);
    free(nfc);
    buf_fini(&folded);
}

char *text_normal(const char *text)
{
    const size_t len = strlen(text);
    struct buf out;
    buf_init(&out, 9 * len + 1); /* three bytes of folding each, and a composition exclusion may triple */
    text_normalize(text, len, &out);
    char *normal = buf_take(&out, NULL);
    buf_fini(&out);
    return normal != NULL ? normal : xstrdup("");
}
