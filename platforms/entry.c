/* SPDX-License-Identifier: MIT */
#include "platforms/entry.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "platforms/html.h"
#include "platforms/text.h"
#include "platforms/url.h"

#define AT_MS_MAX       INT64_C(253402300799999) /* the end of the year 9999 */
#define LINKS_MAX_BYTES ((size_t)ENTRY_LINKS_MAX * 1024)

const char *entry_text(const json_t *value, char digits[24])
{
    if (json_is_string(value)) return json_string_value(value);
    if (!json_is_integer(value)) return NULL;
    snprintf(digits, 24, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    return digits;
}

static int64_t read_time(const json_t *value)
{
    const double ms = json_number_value(value); /* 0 for what is no number */
    return ms > 0 && ms <= (double)AT_MS_MAX ? (int64_t)ms : 0;
}

bool entry_head(const json_t *json, struct entry_head *out)
{
    memset(out, 0, sizeof *out);
    char digits[24];
    const char *id = entry_text(json_object_get(json, "id"), digits);
    out->at_ms = read_time(json_object_get(json, "at_ms"));
    out->skip = json_is_true(json_object_get(json, "skip"));
    if (id == NULL || id[0] == '\0' || strlen(id) > DELIVERY_EXT_ID_MAX) return false;
    memcpy(out->id, id, strlen(id) + 1);
    return true;
}

/* A member that may be absent or null and else has this type. */
static bool read_member(const json_t *json, const char *name, json_type type, const json_t **out)
{
    const json_t *value = json_object_get(json, name);
    *out = value == NULL || json_is_null(value) ? NULL : value;
    return *out == NULL || json_typeof(*out) == type;
}

static size_t bounded(const char *text)
{
    return strnlen(text, ENTRY_TEXT_MAX_BYTES);
}

/* Takes over an address in its normal form. What is no web address is left out. */
static void add_link(struct entry *entry, size_t *count, const char *url, size_t len)
{
    if (*count >= ENTRY_LINKS_MAX || !url_normalize(url, len, &entry->links)) return;
    buf_append(&entry->links, "", 1);
    ++*count;
}

static void add_text_links(struct entry *entry, size_t *count, const char *text, size_t len)
{
    struct text_span link;
    for (size_t from = 0; *count < ENTRY_LINKS_MAX && text_next_link(text, len, from, &link); from = link.end)
        add_link(entry, count, text + link.start, link.end - link.start);
}

static void read_texts(struct entry *entry, const json_t *urls, const char *html, const char *text)
{
    size_t count = 0;
    struct buf hrefs;
    buf_init(&hrefs, LINKS_MAX_BYTES);
    for (size_t i = 0; i < json_array_size(urls); i++) {
        const char *url = json_string_value(json_array_get(urls, i));
        if (url != NULL) add_link(entry, &count, url, strlen(url));
    }
    if (html != NULL) html_read(html, bounded(html), text == NULL ? &entry->text : NULL, &hrefs);
    if (text != NULL) buf_append(&entry->text, text, bounded(text));
    for (const char *href = html_next_link(&hrefs, NULL); href != NULL; href = html_next_link(&hrefs, href))
        add_link(entry, &count, href, strlen(href));
    add_text_links(entry, &count, buf_text(&entry->text), entry->text.len);
    text_normalize(buf_text(&entry->text), entry->text.len, &entry->normal);
    buf_fini(&hrefs);
}

bool entry_read(const json_t *json, struct entry *out)
{
    memset(out, 0, sizeof *out);
    const json_t *url, *urls, *html, *text;
    if (!entry_head(json, &out->head) || !read_member(json, "url", JSON_STRING, &url) ||
        !read_member(json, "urls", JSON_ARRAY, &urls) || !read_member(json, "keys", JSON_ARRAY, &out->keys) ||
        !read_member(json, "html", JSON_STRING, &html) || !read_member(json, "text", JSON_STRING, &text))
        return false;
    out->url = url != NULL ? json_string_value(url) : "";
    buf_init(&out->links, LINKS_MAX_BYTES + URL_NORMAL_MAX_BYTES);
    buf_init(&out->text, ENTRY_TEXT_MAX_BYTES);
    buf_init(&out->normal, 3 * ENTRY_TEXT_MAX_BYTES);
    read_texts(out, urls, json_string_value(html), json_string_value(text));
    return true;
}

bool entry_stored_text(const json_t *json, struct buf *normal)
{
    const char *html = json_string_value(json_object_get(json, "html"));
    const char *text = json_string_value(json_object_get(json, "text"));
    struct buf shown, hrefs;
    buf_init(&shown, ENTRY_TEXT_MAX_BYTES);
    buf_init(&hrefs, LINKS_MAX_BYTES);
    if (text != NULL)
        buf_append(&shown, text, bounded(text));
    else if (html != NULL)
        html_read(html, bounded(html), &shown, &hrefs);
    text_normalize(buf_text(&shown), shown.len, normal);
    buf_fini(&shown);
    buf_fini(&hrefs);
    return normal->len > 0;
}

void entry_fini(struct entry *entry)
{
    buf_fini(&entry->links);
    buf_fini(&entry->text);
    buf_fini(&entry->normal);
}
