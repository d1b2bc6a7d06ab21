/* SPDX-License-Identifier: MIT */
/* Checks an item and merges it for a channel; see content.h. */
#include "keys/content_members.h"
#include "keys/canonical.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where in the item we are, as the start of an error text: "", or e.g. landfall.channels["blog/brand"]. */
#define WHERE_BYTES 128

/* https://www.jsonfeed.org/version/1.1/#items-a-name-items-a ; author is from version 1 and still common */
const struct content_member content_item_members[] = {
    {"id", KIND_ID, true},
    {"url", KIND_STRING, false},
    {"external_url", KIND_STRING, false},
    {"title", KIND_STRING, false},
    {"content_html", KIND_STRING, false},
    {"content_text", KIND_STRING, false},
    {"summary", KIND_STRING, false},
    {"image", KIND_STRING, false},
    {"banner_image", KIND_STRING, false},
    {"date_published", KIND_TIME, false},
    {"date_modified", KIND_TIME, false},
    {"author", KIND_OBJECT, false},
    {"authors", KIND_OBJECTS, false},
    {"tags", KIND_STRINGS, false},
    {"language", KIND_STRING, false},
    {"attachments", KIND_ATTACHMENTS, false},
    {NULL, KIND_ID, false},
};

/* What a channel may give: all but the id, which stands first. */
static const struct content_member *const channel_members = content_item_members + 1;

static const struct content_member attachment_members[] = {
    {"url", KIND_STRING, true},
    {"mime_type", KIND_STRING, true},
    {"title", KIND_STRING, false},
    {"size_in_bytes", KIND_NUMBER, false},
    {"duration_in_seconds", KIND_NUMBER, false},
    {NULL, KIND_ID, false},
};

static const struct content_member schedule_members[] = {
    {"not_before", KIND_TIME, false},
    {"not_after", KIND_TIME, false},
    {"after", KIND_ID, false},
    {NULL, KIND_ID, false},
};

static const struct content_member *find_member(const struct content_member *table, const char *name)
{
    for (; table->name; table++)
        if (strcmp(table->name, name) == 0) return table;
    return NULL;
}

bool content_is_item_member(const char *name)
{
    return name[0] == '_' || find_member(content_item_members, name);
}

/* Writes an id in normal form. JSON Feed: an id that is a number is to be read as a string. */
static bool read_id(const json_t *value, char out[IDENTITY_ID_BYTES], char err[KEYS_ERR_BYTES])
{
    char number[CANONICAL_NUMBER_BYTES];

    if (json_is_string(value))
        return identity_item_normalise(json_string_value(value), json_string_length(value), out, err);
    if (!json_is_number(value)) return keys_fail(err, "must be a string");
    return identity_item_normalise(number, canonical_number(json_number_value(value), number), out, err);
}

static bool check_table(const json_t *object, const struct content_member *table, const char *where,
                        char err[KEYS_ERR_BYTES]);

static bool all_are(const json_t *array, json_type type)
{
    if (!json_is_array(array)) return false;
    for (size_t i = 0; i < json_array_size(array); i++)
        if (json_typeof(json_array_get(array, i)) != type) return false;
    return true;
}

/* Every error about a member begins with its place. */
static bool fail_at(const char *where, const char *name, const char *words, char err[KEYS_ERR_BYTES])
{
    return keys_fail(err, "%s%s%s%s", where, where[0] ? "." : "", name, words);
}

/* Refuses members that no table knows; a producer's own begin with "_". extra, if not NULL, is one more known name. */
static bool check_names(json_t *object, const struct content_member *table, const char *extra, const char *where,
                        char err[KEYS_ERR_BYTES])
{
    char quoted[KEYS_QUOTE_BYTES];
    const char *name;
    json_t *value;

    json_object_foreach(object, name, value)
    {
        if (name[0] == '_' || (extra && strcmp(name, extra) == 0) || find_member(table, name)) continue;
        return keys_fail(err, "%s%smember %s is not known; correct it, or let your own members begin with _", where,
                         where[0] ? ": " : "", keys_quote(name, strlen(name), quoted));
    }
    return true;
}

static bool check_attachments(const json_t *array, const char *where, char err[KEYS_ERR_BYTES])
{
    if (!all_are(array, JSON_OBJECT)) return fail_at(where, "attachments", " must be an array of objects", err);
    for (size_t i = 0; i < json_array_size(array); i++) {
        json_t *attachment = json_array_get(array, i);
        char inner[WHERE_BYTES + 48];
        snprintf(inner, sizeof(inner), "%s%sattachments[%zu]", where, where[0] ? "." : "", i);
        if (!check_names(attachment, attachment_members, NULL, inner, err) ||
            !check_table(attachment, attachment_members, inner, err))
            return false;
    }
    return true;
}

/* Puts the place in front of an error text that another part wrote. */
static bool explain(const char *where, const char *name, const char *why, char err[KEYS_ERR_BYTES])
{
    char words[KEYS_ERR_BYTES + 2];

    snprintf(words, sizeof(words), ": %s", why);
    return fail_at(where, name, words, err);
}

static bool check_value(const json_t *value, const struct content_member *member, const char *where,
                        char err[KEYS_ERR_BYTES])
{
    const char *name = member->name;
    char why[KEYS_ERR_BYTES];
    char id[IDENTITY_ID_BYTES];
    int64_t ms;

    switch (member->kind) {
    case KIND_STRING: return json_is_string(value) || fail_at(where, name, " must be a string", err);
    case KIND_NUMBER: return json_is_number(value) || fail_at(where, name, " must be a number", err);
    case KIND_OBJECT: return json_is_object(value) || fail_at(where, name, " must be an object", err);
    case KIND_STRINGS: return all_are(value, JSON_STRING) || fail_at(where, name, " must be an array of strings", err);
    case KIND_OBJECTS: return all_are(value, JSON_OBJECT) || fail_at(where, name, " must be an array of objects", err);
    case KIND_ATTACHMENTS: return check_attachments(value, where, err);
    case KIND_ID: return read_id(value, id, why) || explain(where, name, why, err);
    case KIND_TIME:
        if (!json_is_string(value)) return fail_at(where, name, " must be a string", err);
        return content_time(json_string_value(value), &ms, why) || explain(where, name, why, err);
    }
    return false;
}

/* Checks the members of an object that a table names; others are not looked at. */
static bool check_table(const json_t *object, const struct content_member *table, const char *where,
                        char err[KEYS_ERR_BYTES])
{
    for (; table->name; table++) {
        const json_t *value = json_object_get(object, table->name);
        if (value && !json_is_null(value)) {
            if (!check_value(value, table, where, err)) return false;
        } else if (table->required) {
            return fail_at(where, table->name, " is missing; it must be given", err);
        }
    }
    return true;
}

static bool check_channel(const char *channel, json_t *own, char err[KEYS_ERR_BYTES])
{
    char where[WHERE_BYTES];
    char why[KEYS_ERR_BYTES];

    if (!identity_channel_check(channel, why)) return explain("landfall", "channels", why, err);
    snprintf(where, sizeof(where), "landfall.channels[\"%s\"]", channel);
    if (!json_is_object(own)) return keys_fail(err, "%s must be an object", where);
    if (json_object_get(own, "id") || json_object_get(own, "landfall"))
        return keys_fail(err, "%s may not have the members id and landfall; they belong to the whole item", where);
    return check_table(own, channel_members, where, err) && check_table(own, schedule_members, where, err);
}

static bool check_landfall(json_t *landfall, char err[KEYS_ERR_BYTES])
{
    json_t *channels = json_object_get(landfall, "channels");
    const char *channel;
    json_t *own;

    if (!landfall || json_is_null(landfall)) return true;
    if (!json_is_object(landfall)) return keys_fail(err, "landfall must be an object");
    if (!check_names(landfall, schedule_members, "channels", "landfall", err)) return false;
    if (!check_table(landfall, schedule_members, "landfall", err)) return false;
    if (!channels || json_is_null(channels)) return true;
    if (!json_is_object(channels)) return keys_fail(err, "landfall.channels must be an object");
    json_object_foreach(channels, channel, own)
    {
        if (!check_channel(channel, own, err)) return false;
    }
    return true;
}

static bool check_item(const json_t *item, char err[KEYS_ERR_BYTES])
{
    if (!json_is_object(item)) return keys_fail(err, "an item must be a JSON object");
    return check_names((json_t *)item, content_item_members, "landfall", "", err) &&
           check_table(item, content_item_members, "", err) && check_landfall(json_object_get(item, "landfall"), err);
}

/* Puts the members of one object over the fields; null takes one away. */
static void overlay(json_t *fields, json_t *members)
{
    const char *name;
    json_t *value;

    json_object_foreach(members, name, value)
    {
        if (strcmp(name, "landfall") == 0 || find_member(schedule_members, name)) continue;
        if (json_is_null(value))
            json_object_del(fields, name);
        else if (json_object_set(fields, name, value) != 0)
            keys_out_of_memory();
    }
}

static int64_t read_time(const json_t *value)
{
    char err[KEYS_ERR_BYTES];
    int64_t ms = CONTENT_NO_TIME;

    if (json_is_string(value)) KEYS_REQUIRE(content_time(json_string_value(value), &ms, err));
    return ms;
}

/* Takes over what the checked object says; what it does not mention stays. */
static void read_schedule(const json_t *object, struct content_schedule *schedule)
{
    char err[KEYS_ERR_BYTES];
    const json_t *not_before = json_object_get(object, "not_before");
    const json_t *not_after = json_object_get(object, "not_after");
    const json_t *after = json_object_get(object, "after");

    if (not_before) schedule->not_before_ms = read_time(not_before);
    if (not_after) schedule->not_after_ms = read_time(not_after);
    if (json_is_null(after))
        schedule->after[0] = '\0';
    else if (after)
        KEYS_REQUIRE(read_id(after, schedule->after, err));
}

static bool check_schedule(const struct content *content, char err[KEYS_ERR_BYTES])
{
    const struct content_schedule *schedule = &content->schedule;

    if (schedule->not_after_ms != CONTENT_NO_TIME && schedule->not_after_ms <= schedule->not_before_ms)
        return keys_fail(err, "landfall.not_after is not later than landfall.not_before; nothing could ever be sent");
    if (strcmp(schedule->after, content->id) == 0)
        return keys_fail(err, "landfall.after names the item itself; name the item that must come before it");
    return true;
}

bool content_merge(const json_t *item, const char *channel, struct content *out, char err[KEYS_ERR_BYTES])
{
    *out = (struct content){.schedule = {CONTENT_NO_TIME, CONTENT_NO_TIME, ""}};
    if (!check_item(item, err)) return false;
    KEYS_REQUIRE(read_id(json_object_get(item, "id"), out->id, err));

    const json_t *landfall = json_object_get(item, "landfall");
    json_t *own = json_object_get(json_object_get(landfall, "channels"), channel);
    read_schedule(landfall, &out->schedule);
    read_schedule(own, &out->schedule);
    if (!check_schedule(out, err)) return false;

    out->fields = keys_must(json_object());
    overlay(out->fields, (json_t *)item);
    overlay(out->fields, own);
    if (json_object_set_new(out->fields, "id", json_string(out->id)) != 0) keys_out_of_memory();
    out->dated_ms = read_time(json_object_get(out->fields, "date_published"));
    size_t len;
    char *canonical = canonical_write(out->fields, &len);
    content_finish(out, canonical, len);
    return true;
}

void content_finish(struct content *out, char *own_canonical, size_t len)
{
    out->canonical = own_canonical;
    out->canonical_len = len;
    hash_bytes_hex(own_canonical, len, out->hash);
}

bool content_read(const char *text, size_t len, const char *channel, struct content *out, char err[KEYS_ERR_BYTES])
{
    json_t *item = NULL;
    if (content_from_text(text, len, out)) return true;
    bool ok = canonical_parse(text, len, &item, err) && content_merge(item, channel, out, err);
    json_decref(item);
    return ok;
}

json_t *content_fields(struct content *content)
{
    char err[KEYS_ERR_BYTES];
    if (!content->fields)
        KEYS_REQUIRE(canonical_parse(content->canonical, content->canonical_len, &content->fields, err));
    return content->fields;
}

int64_t content_stored_time(int64_t ms)
{
    if (ms == CONTENT_NO_TIME) return 0;
    return ms > 0 ? ms : 1;
}

void content_fini(struct content *content)
{
    json_decref(content->fields);
    free(content->canonical);
    *content = (struct content){0};
}
