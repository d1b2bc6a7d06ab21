/* SPDX-License-Identifier: MIT */
#include "platforms/marks.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "keys/hash.h"
#include "platforms/entry.h"
#include "platforms/html.h"
#include "platforms/prefix.h"
#include "platforms/text.h"
#include "platforms/url.h"
#include "runtime/buf.h"
#include "runtime/die.h"

#define NEAR_MIN_BYTES 16 /* a shorter beginning of a text is nothing to be recognised by */
#define NONE           UINT32_MAX

static const char ellipsis[] = "\xe2\x80\xa6";

/* One mark of one delivery, in a chain of its hash. */
struct link {
    unsigned char digest[HASH_BYTES];
    uint32_t slot;
    uint32_t next; /* index + 1; 0: end of the chain */
};

/* An entry that was taken for a delivery. */
struct match {
    char *id; /* NULL: none */
    char *url;
    int64_t at_ms;
};

struct delivery {
    int64_t from_ms;
    int64_t by_ms;
    bool marked;
    bool ambiguous;
    bool near;
    bool changed;
    char *text; /* normal form, or NULL */
    enum mark_kind kind;
    struct match found;
    struct match duplicate;
    uint64_t candidate_of; /* number of the entry that it was last a candidate for */
};

struct mark_index {
    bool server_times;
    bool sorted;
    struct delivery *deliveries;
    size_t count, capacity;
    struct link *links;
    size_t link_count, link_capacity;
    uint32_t *chains;   /* index + 1 into links; 0: empty */
    size_t chain_count; /* a power of two, never fewer than links */
    struct prefix_table texts;
    struct prefix_table urls; /* normal forms without their scheme */
    uint32_t *candidates;     /* of the entry being shown; room for every delivery */
    size_t candidate_count;
    uint64_t shown;
};

struct mark_index *mark_index_new(bool server_times)
{
    struct mark_index *index = xcalloc(1, sizeof *index);
    index->server_times = server_times;
    prefix_init(&index->texts);
    prefix_init(&index->urls);
    return index;
}

void mark_index_free(struct mark_index **index)
{
    if (*index == NULL) return;
    for (size_t i = 0; i < (*index)->count; i++) {
        struct delivery *delivery = &(*index)->deliveries[i];
        free(delivery->text);
        free(delivery->found.id);
        free(delivery->found.url);
        free(delivery->duplicate.id);
        free(delivery->duplicate.url);
    }
    prefix_fini(&(*index)->texts);
    prefix_fini(&(*index)->urls);
    free((*index)->deliveries);
    free((*index)->links);
    free((*index)->chains);
    free((*index)->candidates);
    free(*index);
    *index = NULL;
}

int64_t mark_index_from_ms(const struct mark_index *index, size_t slot)
{
    return index->deliveries[slot].from_ms;
}

/* ---- the table of marks ---- */

static void digest_of(enum mark_kind kind, const char *text, unsigned char out[HASH_BYTES])
{
    const unsigned char tag = (unsigned char)kind;
    const struct hash_field fields[] = {{&tag, 1}, {text, strlen(text)}};
    hash_fields(fields, 2, out);
}

static uint32_t *chain_of(struct mark_index *index, const unsigned char digest[HASH_BYTES])
{
    uint64_t number = 0;
    memcpy(&number, digest, sizeof number);
    return &index->chains[number & (index->chain_count - 1)];
}

static void grow_chains(struct mark_index *index)
{
    index->chain_count = index->chain_count == 0 ? 256 : 2 * index->chain_count;
    free(index->chains);
    index->chains = xcalloc(index->chain_count, sizeof *index->chains);
    for (size_t i = 0; i < index->link_count; i++) {
        uint32_t *chain = chain_of(index, index->links[i].digest);
        index->links[i].next = *chain;
        *chain = (uint32_t)i + 1;
    }
}

static void add_link(struct mark_index *index, enum mark_kind kind, const char *text, uint32_t slot)
{
    if (index->link_count == index->link_capacity) {
        index->link_capacity = index->link_capacity == 0 ? 256 : 2 * index->link_capacity;
        index->links = xrealloc_array(index->links, index->link_capacity, sizeof *index->links);
    }
    if (index->link_count == index->chain_count) grow_chains(index);
    struct link *link = &index->links[index->link_count++];
    digest_of(kind, text, link->digest);
    link->slot = slot;
    uint32_t *chain = chain_of(index, link->digest);
    link->next = *chain;
    *chain = (uint32_t)index->link_count;
}

/* The next link with this digest behind `link` (NULL: the first), or NULL. */
static const struct link *find_link(struct mark_index *index, const unsigned char digest[HASH_BYTES],
                                    const struct link *link)
{
    if (index->chain_count == 0) return NULL;
    for (uint32_t at = link != NULL ? link->next : *chain_of(index, digest); at != 0; at = link->next) {
        link = &index->links[at - 1];
        if (memcmp(link->digest, digest, HASH_BYTES) == 0) return link;
    }
    return NULL;
}

/* ---- deliveries ---- */

static bool check_marks(const json_t *marks, struct errbuf *err)
{
    static const char *const lists[] = {"keys", "urls"};
    if (marks != NULL && !json_is_null(marks) && !json_is_object(marks))
        return errbuf_set(err, "marks: an object {keys, urls, text} or null is needed");
    char digits[24];
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const json_t *list = json_object_get(marks, lists[i]);
        if (list != NULL && !json_is_null(list) && !json_is_array(list))
            return errbuf_set(err, "marks.%s: a list of strings is needed", lists[i]);
        if (json_array_size(list) > MARKS_PER_DELIVERY_MAX)
            return errbuf_set(err, "marks.%s: more than %d of them", lists[i], MARKS_PER_DELIVERY_MAX);
        for (size_t k = 0; k < json_array_size(list); k++)
            if (entry_text(json_array_get(list, k), digits) == NULL)
                return errbuf_set(err, "marks.%s[%zu]: a string is needed", lists[i], k);
    }
    const json_t *text = json_object_get(marks, "text");
    if (text != NULL && !json_is_null(text) && !json_is_string(text))
        return errbuf_set(err, "marks.text: a string or null is needed");
    return true;
}

static const char *without_scheme(const char *normal_url)
{
    return strstr(normal_url, "://") + 3;
}

static void add_marks(struct mark_index *index, const json_t *marks, uint32_t slot)
{
    struct delivery *delivery = &index->deliveries[slot];
    char digits[24];
    const json_t *keys = json_object_get(marks, "keys");
    for (size_t i = 0; i < json_array_size(keys); i++) {
        const char *key = entry_text(json_array_get(keys, i), digits);
        if (key[0] == '\0') continue;
        add_link(index, MARK_KEY, key, slot);
        delivery->marked = true;
    }
    const json_t *urls = json_object_get(marks, "urls");
    for (size_t i = 0; i < json_array_size(urls); i++) {
        char *normal = url_normal(entry_text(json_array_get(urls, i), digits));
        if (normal == NULL) continue;
        add_link(index, MARK_URL, normal, slot);
        prefix_add(&index->urls, without_scheme(normal), strlen(without_scheme(normal)), slot);
        free(normal);
        delivery->marked = true;
    }
    const char *text = json_string_value(json_object_get(marks, "text"));
    if (text == NULL) return;
    delivery->text = text_normal(text);
    if (delivery->text[0] == '\0') return;
    add_link(index, MARK_TEXT, delivery->text, slot);
    prefix_add(&index->texts, delivery->text, strlen(delivery->text), slot);
    delivery->marked = true;
}

bool mark_index_add(struct mark_index *index, const struct mark_wanted *wanted, size_t *slot, struct errbuf *err)
{
    if (!check_marks(wanted->marks, err)) return false;
    if (index->count == index->capacity) {
        index->capacity = index->capacity == 0 ? 64 : 2 * index->capacity;
        index->deliveries = xrealloc_array(index->deliveries, index->capacity, sizeof *index->deliveries);
        index->candidates = xrealloc_array(index->candidates, index->capacity, sizeof *index->candidates);
    }
    *slot = index->count++;
    index->sorted = false;
    struct delivery *delivery = &index->deliveries[*slot];
    memset(delivery, 0, sizeof *delivery);
    delivery->from_ms = wanted->attempt_from_ms;
    delivery->by_ms = wanted->commit_by_ms;
    if (wanted->ext_id != NULL && wanted->ext_id[0] != '\0') {
        add_link(index, MARK_ID, wanted->ext_id, (uint32_t)*slot);
        delivery->marked = true;
    }
    add_marks(index, wanted->marks, (uint32_t)*slot);
    return true;
}

/* ---- entries ---- */

/* Whether the entry's time lies where this delivery's attempts can have committed. */
static bool in_window(const struct delivery *delivery, int64_t at_ms)
{
    return at_ms >= delivery->from_ms - MARKS_WINDOW_MS && at_ms <= delivery->by_ms + MARKS_WINDOW_MS;
}

/* Whether a match of this kind is believed. The end of the window is no bound for an address: an entry that comes later
 * than it should is still looked at. */
static bool is_eligible(const struct mark_index *index, const struct delivery *delivery, enum mark_kind kind,
                        int64_t at_ms)
{
    if (kind == MARK_TEXT) return at_ms != 0 && in_window(delivery, at_ms);
    if (kind == MARK_URL) return !index->server_times || at_ms == 0 || at_ms >= delivery->from_ms - MARKS_WINDOW_MS;
    return true;
}

/* An entry that might be a delivery's, by its time. */
static bool is_possible(const struct mark_index *index, const struct delivery *delivery, int64_t at_ms)
{
    return !index->server_times || at_ms == 0 || in_window(delivery, at_ms);
}

/* Adds the deliveries of a mark to the candidates of the entry that is being shown. */
static void collect(struct mark_index *index, enum mark_kind kind, const char *text, int64_t at_ms)
{
    unsigned char digest[HASH_BYTES];
    digest_of(kind, text, digest);
    for (const struct link *link = find_link(index, digest, NULL); link != NULL;
         link = find_link(index, digest, link)) {
        struct delivery *delivery = &index->deliveries[link->slot];
        if (!is_eligible(index, delivery, kind, at_ms)) {
            delivery->near = delivery->near || (kind == MARK_TEXT && is_possible(index, delivery, at_ms));
        } else if (delivery->candidate_of != index->shown) {
            delivery->candidate_of = index->shown;
            index->candidates[index->candidate_count++] = link->slot;
        }
    }
}

static void collect_kind(struct mark_index *index, enum mark_kind kind, const struct entry *entry)
{
    char digits[24];
    const int64_t at_ms = entry->head.at_ms;
    switch (kind) {
    case MARK_ID: collect(index, kind, entry->head.id, at_ms); break;
    case MARK_KEY:
        for (size_t i = 0; i < json_array_size(entry->keys); i++) {
            const char *key = entry_text(json_array_get(entry->keys, i), digits);
            if (key != NULL) collect(index, kind, key, at_ms);
        }
        break;
    case MARK_URL:
        for (const char *url = html_next_link(&entry->links, NULL); url != NULL;
             url = html_next_link(&entry->links, url))
            collect(index, kind, url, at_ms);
        break;
    case MARK_TEXT:
        if (entry->normal.len > 0) collect(index, kind, buf_text(&entry->normal), at_ms);
        break;
    case MARK_NONE: break;
    }
}

static void set_match(struct match *match, const struct entry *entry)
{
    free(match->id);
    free(match->url);
    *match = (struct match){xstrdup(entry->head.id), xstrdup(entry->url), entry->head.at_ms};
}

/* Takes the entry for the delivery. Of two that match by the same kind the elder one is kept as found: the younger is
 * the repeat. */
static void record(struct delivery *delivery, enum mark_kind kind, const struct entry *entry)
{
    if (kind < delivery->kind || (delivery->found.id != NULL && strcmp(delivery->found.id, entry->head.id) == 0))
        return;
    if (kind == delivery->kind) {
        if (entry->head.at_ms == 0 || entry->head.at_ms >= delivery->found.at_ms) {
            set_match(&delivery->duplicate, entry);
            return;
        }
        free(delivery->duplicate.id);
        free(delivery->duplicate.url);
        delivery->duplicate = delivery->found;
        delivery->found = (struct match){NULL, NULL, 0};
    } else {
        free(delivery->duplicate.id);
        free(delivery->duplicate.url);
        delivery->duplicate = (struct match){NULL, NULL, 0};
    }
    delivery->kind = kind;
    set_match(&delivery->found, entry);
    delivery->changed =
        delivery->text != NULL && entry->normal.len > 0 && strcmp(delivery->text, buf_text(&entry->normal)) != 0;
}

/* Two items may share an address. Where their texts differ, and the entry's text is that of one of them, it is that
 * one: leaves it as the only candidate. */
static void prefer_same_text(struct mark_index *index, const struct entry *entry)
{
    uint32_t same = NONE;
    for (size_t i = 0; i < index->candidate_count; i++) {
        const struct delivery *delivery = &index->deliveries[index->candidates[i]];
        if (delivery->text == NULL || strcmp(delivery->text, buf_text(&entry->normal)) != 0 ||
            !is_eligible(index, delivery, MARK_TEXT, entry->head.at_ms))
            continue;
        if (same != NONE) return;
        same = index->candidates[i];
    }
    if (same == NONE) return;
    index->candidates[0] = same;
    index->candidate_count = 1;
}

/* Lets the strongest kind that matches decide. False: none does. */
static bool match_entry(struct mark_index *index, const struct entry *entry)
{
    for (int kind = MARK_ID; kind > MARK_NONE; kind--) {
        collect_kind(index, (enum mark_kind)kind, entry);
        if (index->candidate_count == 0) continue;
        if (index->candidate_count > 1 && kind == MARK_URL) prefer_same_text(index, entry);
        if (index->candidate_count == 1) {
            record(&index->deliveries[index->candidates[0]], (enum mark_kind)kind, entry);
            return true;
        }
        for (size_t i = 0; i < index->candidate_count; i++)
            index->deliveries[index->candidates[i]].ambiguous = true;
        return true;
    }
    return false;
}

static void mark_near(struct mark_index *index, const struct prefix_table *table, const char *start, size_t len,
                      int64_t at_ms)
{
    size_t count = 0;
    const size_t first = prefix_find(table, start, len, &count);
    for (size_t i = first; i < first + count; i++) {
        struct delivery *delivery = &index->deliveries[table->items[i].slot];
        delivery->near = delivery->near || is_possible(index, delivery, at_ms);
    }
}

/* The text may be the beginning of ours, with or without dots at its end. */
static void look_for_cut_text(struct mark_index *index, const struct entry *entry)
{
    const char *text = buf_text(&entry->normal);
    size_t len = entry->normal.len;
    if (len >= 3 && memcmp(text + len - 3, "...", 3) == 0) len -= 3;
    while (len > 0 && text[len - 1] == ' ')
        len--;
    if (len >= NEAR_MIN_BYTES) mark_near(index, &index->texts, text, len, entry->head.at_ms);
}

/* Compares the cut link that ends before `end` with the addresses that begin like it, up to its query. */
static void look_for_cut_link(struct mark_index *index, const char *text, size_t end, int64_t at_ms)
{
    size_t start = end;
    while (start > 0 && (unsigned char)text[start - 1] > ' ' && end - start < URL_MAX_BYTES)
        start--;
    size_t len = 0;
    while (len < end - start && text[start + len] != '?')
        len++;
    const char *word = text + start;
    struct buf url;
    buf_init(&url, URL_NORMAL_MAX_BYTES + 16);
    if (strncasecmp(word, "http", 4) != 0) buf_append_text(&url, "https://");
    buf_append(&url, word, len);
    if (memchr(word, '.', len) != NULL && memchr(word, '/', len) != NULL) {
        char *normal = url_normal(buf_text(&url));
        if (normal != NULL)
            mark_near(index, &index->urls, without_scheme(normal), strlen(without_scheme(normal)), at_ms);
        free(normal);
    }
    buf_fini(&url);
}

static void look_for_cut_links(struct mark_index *index, const struct entry *entry)
{
    const char *text = buf_text(&entry->text);
    for (size_t i = 0, links = 0; i + 3 <= entry->text.len && links < ENTRY_LINKS_MAX; i++) {
        if (memcmp(text + i, ellipsis, 3) != 0 && memcmp(text + i, "...", 3) != 0) continue;
        look_for_cut_link(index, text, i, entry->head.at_ms);
        links++;
        i += 2;
    }
}

static void sort_once(struct mark_index *index)
{
    if (index->sorted) return;
    prefix_sort(&index->texts);
    prefix_sort(&index->urls);
    index->sorted = true;
}

bool mark_index_show(struct mark_index *index, const json_t *json)
{
    struct entry entry;
    if (!entry_read(json, &entry)) return false;
    sort_once(index);
    index->shown++;
    index->candidate_count = 0;
    if (!entry.head.skip && !match_entry(index, &entry)) {
        look_for_cut_text(index, &entry);
        look_for_cut_links(index, &entry);
    }
    entry_fini(&entry);
    return true;
}

struct mark_finding mark_index_finding(const struct mark_index *index, size_t slot)
{
    const struct delivery *delivery = &index->deliveries[slot];
    struct mark_finding finding = {MARK_UNSEEN, delivery->kind, "", "", "", false};
    if (delivery->found.id != NULL) {
        finding.result = MARK_FOUND;
        finding.id = delivery->found.id;
        finding.url = delivery->found.url;
        finding.changed = delivery->changed;
        if (delivery->duplicate.id != NULL) finding.duplicate_id = delivery->duplicate.id;
    } else if (!delivery->marked) {
        finding.result = MARK_UNMARKED;
    } else if (delivery->ambiguous) {
        finding.result = MARK_AMBIGUOUS;
    } else if (delivery->near) {
        finding.result = MARK_NEAR;
    }
    return finding;
}
