/* SPDX-License-Identifier: MIT */
/*
 * From an item's text to its canonical bytes without a value in between; see content_members.h. A member's value is
 * copied as it stands there, so nothing is taken that canonical JSON would write in another way: no white space inside
 * of lists, no escapes but the short ones.
 */
#include "keys/canonical.h"
#include "keys/canonical_read.h"
#include "keys/content_members.h"

#include <stdlib.h>
#include <string.h>

#define MEMBERS_MAX 32
#define TIME_BYTES  64

struct span {
    const char *at;
    size_t len;
};

struct text_member {
    struct span name;  /* without its quotes */
    struct span value; /* with them */
};

struct item_text {
    const char *at, *end;
    struct text_member members[MEMBERS_MAX];
    size_t count;
};

static void skip_space(struct item_text *text)
{
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\n' || *text->at == '\t' || *text->at == '\r'))
        text->at++;
}

static bool take(struct item_text *text, char c)
{
    if (text->at == text->end || *text->at != c) return false;
    text->at++;
    return true;
}

static bool take_behind_space(struct item_text *text, char c)
{
    skip_space(text);
    return take(text, c);
}

/* A string from its first quote to behind its last. */
static bool read_string(struct item_text *text)
{
    if (!take(text, '"')) return false;
    const char *start = text->at;
    for (;;) {
        text->at += canonical_plain_bytes(text->at, (size_t)(text->end - text->at));
        if (take(text, '"')) return canonical_is_utf8(start, (size_t)(text->at - 1 - start));
        if (!take(text, '\\') || text->at == text->end || !memchr("\"\\bfnrt", *text->at, 7)) return false;
        text->at++;
    }
}

static bool read_strings(struct item_text *text)
{
    if (!take(text, '[')) return false;
    if (take(text, ']')) return true;
    do {
        if (!read_string(text)) return false;
    } while (take(text, ','));
    return take(text, ']');
}

static bool read_member(struct item_text *text)
{
    if (text->count == MEMBERS_MAX) return false;
    struct text_member *member = &text->members[text->count++];
    skip_space(text);
    member->name.at = text->at + 1;
    if (!read_string(text)) return false;
    member->name.len = (size_t)(text->at - 1 - member->name.at);
    if (!take_behind_space(text, ':')) return false;
    skip_space(text);
    member->value.at = text->at;
    if (text->at == text->end || !(*text->at == '[' ? read_strings(text) : read_string(text))) return false;
    member->value.len = (size_t)(text->at - member->value.at);
    return true;
}

static bool read_members(struct item_text *text)
{
    if (!take_behind_space(text, '{')) return false;
    do {
        if (!read_member(text)) return false;
    } while (take_behind_space(text, ','));
    if (!take_behind_space(text, '}')) return false;
    skip_space(text);
    return text->at == text->end;
}

static bool is_named(const struct span *name, const char *word)
{
    return strlen(word) == name->len && memcmp(name->at, word, name->len) == 0;
}

/* What stands between the quotes of a value that has no escapes. */
static bool inner_text(const struct span *value, struct span *inner)
{
    *inner = (struct span){value->at + 1, value->len - 2};
    return value->at[0] == '"' && !memchr(inner->at, '\\', inner->len);
}

static bool check_id(const struct span *value, struct content *out)
{
    char err[KEYS_ERR_BYTES];
    struct span inner;
    return inner_text(value, &inner) && identity_item_normalise(inner.at, inner.len, out->id, err) &&
           strlen(out->id) == inner.len && memcmp(out->id, inner.at, inner.len) == 0;
}

static bool check_time(const struct text_member *member, struct content *out)
{
    char err[KEYS_ERR_BYTES], text[TIME_BYTES];
    struct span inner;
    int64_t ms;
    if (!inner_text(&member->value, &inner) || inner.len >= sizeof(text)) return false;
    memcpy(text, inner.at, inner.len);
    text[inner.len] = '\0';
    if (!content_time(text, &ms, err)) return false;
    if (is_named(&member->name, "date_published")) out->dated_ms = ms;
    return true;
}

/* A producer's own members may be anything. */
static bool check_member(const struct text_member *member, struct content *out)
{
    const struct content_member *known = content_item_members;
    if (member->name.len > 0 && member->name.at[0] == '_') return true;
    while (known->name && !is_named(&member->name, known->name))
        known++;
    if (!known->name) return false;
    bool is_string = member->value.at[0] == '"';
    return known->kind == KIND_STRING    ? is_string
           : known->kind == KIND_STRINGS ? !is_string
           : known->kind == KIND_ID      ? check_id(&member->value, out)
           : known->kind == KIND_TIME    ? check_time(member, out)
                                         : false;
}

static int by_name(const void *left, const void *right)
{
    const struct span *a = &((const struct text_member *)left)->name, *b = &((const struct text_member *)right)->name;
    int order = memcmp(a->at, b->at, a->len < b->len ? a->len : b->len);
    return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

/* In ASCII without escapes the order of bytes is the canonical order. */
static bool is_plain_name(const struct span *name)
{
    for (size_t i = 0; i < name->len; i++)
        if ((unsigned char)name->at[i] >= 0x80 || name->at[i] == '\\') return false;
    return true;
}

static bool sort_members(struct item_text *text)
{
    for (size_t i = 0; i < text->count; i++)
        if (!is_plain_name(&text->members[i].name)) return false;
    qsort(text->members, text->count, sizeof(text->members[0]), by_name);
    for (size_t i = 1; i < text->count; i++)
        if (by_name(&text->members[i - 1], &text->members[i]) == 0) return false; /* which one counts? */
    return true;
}

static void write_members(const struct item_text *text, struct canonical_text *out)
{
    canonical_put(out, "{", 1);
    for (size_t i = 0; i < text->count; i++) {
        const struct text_member *member = &text->members[i];
        if (i > 0) canonical_put(out, ",", 1);
        canonical_put(out, member->name.at - 1, member->name.len + 2); /* with its quotes */
        canonical_put(out, ":", 1);
        canonical_put(out, member->value.at, member->value.len);
    }
    canonical_put(out, "}", 1);
}

bool content_from_text(const char *bytes, size_t len, struct content *out)
{
    struct item_text text;
    text.at = bytes;
    text.end = bytes + len;
    text.count = 0;
    *out = (struct content){.schedule = {CONTENT_NO_TIME, CONTENT_NO_TIME, ""}, .dated_ms = CONTENT_NO_TIME};
    if (len > CANONICAL_INPUT_MAX_BYTES || !read_members(&text) || !sort_members(&text)) return false;
    for (size_t i = 0; i < text.count; i++)
        if (!check_member(&text.members[i], out)) return false;
    if (out->id[0] == '\0') return false;
    struct canonical_text canonical = {keys_alloc(len + 1), 0, len + 1};
    write_members(&text, &canonical);
    out->strings_only = true;
    content_finish(out, canonical.bytes, canonical.len);
    return true;
}
