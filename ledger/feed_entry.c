/* SPDX-License-Identifier: MIT */
#include "ledger/feed_entry.h"

#include <stdlib.h>
#include <string.h>

#include "ledger/answer.h"
#include "runtime/die.h"

void feed_batch_fini(struct feed_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        free(batch->entries[i].fields);
    free(batch->entries);
    batch->entries = NULL;
    batch->count = 0;
}

const char *feed_value(const struct feed_entry *entry, const char *name, size_t *len)
{
    const size_t name_len = strlen(name);
    for (size_t i = 0; i < entry->field_count; i++) {
        const struct feed_field *field = &entry->fields[i];
        if (field->name.len != name_len || memcmp(field->name.bytes, name, field->name.len) != 0) continue;
        if (len) *len = field->value.len;
        return field->value.bytes;
    }
    return NULL;
}

bool feed_id(const char *text, int64_t *ms)
{
    size_t first = strspn(text, "0123456789");
    size_t second = text[first] == '-' ? strspn(text + first + 1, "0123456789") : 0;
    if (first == 0 || first > 20 || second == 0 || second > 20 || text[first + 1 + second] != '\0') return false;
    *ms = first > 18 ? INT64_MAX : strtoll(text, NULL, 10);
    return true;
}

static void make_room(struct feed_batch *batch, size_t more)
{
    if (more > 0) batch->entries = xrealloc_array(batch->entries, batch->count + more, sizeof *batch->entries);
}

/* There is room. NULL: it is no id. */
static struct feed_entry *append(struct feed_batch *batch, const struct redisReply *id)
{
    struct feed_entry *entry = &batch->entries[batch->count];
    *entry = (struct feed_entry){.fields = NULL};
    if (!answer_copy(id, entry->id, sizeof entry->id) || !feed_id(entry->id, &entry->ms)) return NULL;
    batch->count++;
    return entry;
}

static size_t bytes_of(const struct redisReply *text)
{
    size_t len;
    answer_text(text, &len);
    return len + 1;
}

/* Copies a string to *at and moves on behind its NUL; false for what is none. */
static bool put(char **at, const struct redisReply *text, struct request_text *out)
{
    const char *bytes = answer_text(text, &out->len);
    if (!answer_is_string(text)) return false;
    out->bytes = *at;
    memcpy(*at, bytes, out->len);
    (*at)[out->len] = '\0';
    *at += out->len + 1;
    return true;
}

/* The fields, and behind them their bytes, are one piece of memory. */
static void read_fields(struct feed_entry *entry, const struct redisReply *fields)
{
    size_t count = answer_count(fields) / 2;
    if (count > FEED_FIELDS_MAX) count = FEED_FIELDS_MAX; /* one more than we know is refused, many more are not read */
    size_t bytes = count * sizeof *entry->fields;
    for (size_t i = 0; i < 2 * count; i++)
        bytes += bytes_of(answer_at(fields, i));
    entry->fields = xmalloc(bytes);
    char *at = (char *)(entry->fields + count);
    for (size_t i = 0; i < count; i++) {
        struct feed_field *field = &entry->fields[entry->field_count];
        if (put(&at, answer_at(fields, 2 * i), &field->name) && put(&at, answer_at(fields, 2 * i + 1), &field->value))
            entry->field_count++;
    }
}

size_t feed_entries(struct feed_batch *batch, const struct redisReply *list, bool again)
{
    size_t senseless = 0;
    make_room(batch, answer_count(list));
    for (size_t i = 0; i < answer_count(list); i++) {
        const struct redisReply *element = answer_at(list, i);
        if (answer_is_nil(element)) continue; /* before Redis 7: deleted, and its id is not told */
        struct feed_entry *entry = append(batch, answer_at(element, 0));
        if (!entry) {
            senseless++;
            continue;
        }
        entry->again = again;
        entry->deleted = !answer_is_array(answer_at(element, 1));
        if (!entry->deleted) read_fields(entry, answer_at(element, 1));
    }
    if (batch->count == 0) feed_batch_fini(batch);
    return senseless;
}

void feed_deleted(struct feed_batch *batch, const struct redisReply *ids)
{
    make_room(batch, answer_count(ids));
    for (size_t i = 0; i < answer_count(ids); i++) {
        struct feed_entry *entry = append(batch, answer_at(ids, i));
        if (entry) entry->again = entry->deleted = true;
    }
    if (batch->count == 0) feed_batch_fini(batch);
}

const struct redisReply *feed_stream_list(const struct redisReply *reply)
{
    const struct redisReply *list = answer_at(answer_at(reply, 0), 1);
    return answer_is_array(list) ? list : NULL;
}
