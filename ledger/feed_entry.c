/* SPDX-License-Identifier: MIT */
#include "ledger/feed_entry.h"

#include <stdlib.h>
#include <string.h>

#include "ledger/answer.h"
#include "runtime/die.h"

void feed_batch_fini(struct feed_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        for (size_t f = 0; f < batch->entries[i].field_count; f++) {
            answer_drop(&batch->entries[i].fields[f].name);
            answer_drop(&batch->entries[i].fields[f].value);
        }
        free(batch->entries[i].fields);
    }
    free(batch->entries);
    batch->entries = NULL;
    batch->count = 0;
}

const char *feed_value(const struct feed_entry *entry, const char *name, size_t *len)
{
    for (size_t i = 0; i < entry->field_count; i++) {
        const struct feed_field *field = &entry->fields[i];
        if (field->name.len != strlen(name) || memcmp(field->name.bytes, name, field->name.len) != 0) continue;
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

static struct feed_entry *append(struct feed_batch *batch, const struct redisReply *id)
{
    struct feed_entry entry = {0};
    if (!answer_copy(id, entry.id, sizeof entry.id) || !feed_id(entry.id, &entry.ms)) return NULL;
    batch->entries = xrealloc_array(batch->entries, batch->count + 1, sizeof entry);
    batch->entries[batch->count] = entry;
    return &batch->entries[batch->count++];
}

static void read_fields(struct feed_entry *entry, const struct redisReply *fields)
{
    size_t count = answer_count(fields) / 2;
    if (count > FEED_FIELDS_MAX) count = FEED_FIELDS_MAX; /* one more than we know is refused, many more are not read */
    entry->fields = xcalloc(count ? count : 1, sizeof *entry->fields);
    for (size_t i = 0; i < count; i++) {
        struct feed_field *field = &entry->fields[entry->field_count];
        answer_keep(answer_at(fields, 2 * i), &field->name);
        answer_keep(answer_at(fields, 2 * i + 1), &field->value);
        if (field->name.bytes && field->value.bytes) {
            entry->field_count++;
            continue;
        }
        answer_drop(&field->name);
        answer_drop(&field->value);
    }
}

size_t feed_entries(struct feed_batch *batch, const struct redisReply *list, bool again)
{
    size_t senseless = 0;
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
    return senseless;
}

void feed_deleted(struct feed_batch *batch, const struct redisReply *ids)
{
    for (size_t i = 0; i < answer_count(ids); i++) {
        struct feed_entry *entry = append(batch, answer_at(ids, i));
        if (entry) entry->again = entry->deleted = true;
    }
}

const struct redisReply *feed_stream_list(const struct redisReply *reply)
{
    const struct redisReply *list = answer_at(answer_at(reply, 0), 1);
    return answer_is_array(list) ? list : NULL;
}
