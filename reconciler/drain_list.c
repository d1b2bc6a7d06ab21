/* SPDX-License-Identifier: MIT */
#include "reconciler/drain_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platforms/channel.h"
#include "runtime/die.h"

void drain_list_init(struct drain_list *list, const struct drain_filter *filter)
{
    memset(list, 0, sizeof *list);
    list->filter = *filter;
    list->index = json_object();
    list->whys = json_object();
    list->unreached = json_object();
    list->stranger_channels = json_object();
}

void drain_list_fini(struct drain_list *list)
{
    free(list->items);
    json_decref(list->index);
    json_decref(list->whys);
    json_decref(list->unreached);
    json_decref(list->stranger_channels);
    memset(list, 0, sizeof *list);
}

static struct drain_item *find(const struct drain_list *list, const char *delivery)
{
    const json_t *number = json_object_get(list->index, delivery);
    return number != NULL ? &list->items[json_integer_value(number)] : NULL;
}

static struct drain_item *add(struct drain_list *list, const char *channel, const char *delivery)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity == 0 ? 64 : 2 * list->capacity;
        list->items = xrealloc_array(list->items, list->capacity, sizeof *list->items);
    }
    struct drain_item *item = &list->items[list->count];
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): there is room for it */
    memset(item, 0, sizeof *item);
    snprintf(item->channel, sizeof item->channel, "%s", channel);
    snprintf(item->delivery, sizeof item->delivery, "%s", delivery);
    item->after = DS_UNCERTAIN;
    json_object_set_new(list->index, delivery, json_integer((json_int_t)list->count));
    list->count++;
    return item;
}

static const char *intern(struct drain_list *list, const char *text)
{
    json_object_set_new(list->whys, text, json_true());
    const char *key = json_object_iter_key(json_object_iter_at(list->whys, text));
    return key != NULL ? key : ""; /* no UTF-8 */
}

/* ---- which ---- */

bool drain_list_is_filtered(const struct drain_list *list)
{
    return list->filter.since_ms > 0 || list->filter.until_ms > 0 || list->filter.limit > 0;
}

bool drain_list_picks(const struct drain_list *list, const char *delivery)
{
    return !drain_list_is_filtered(list) || find(list, delivery) != NULL;
}

static bool is_wanted(const struct drain_list *list, int64_t since_ms)
{
    return since_ms >= list->filter.since_ms && (list->filter.until_ms == 0 || since_ms <= list->filter.until_ms);
}

static void take_name(struct drain_list *list, const char *channel, const struct reads_name *name)
{
    if (!is_wanted(list, name->ms))
        list->passed_over++;
    else if (find(list, name->delivery) == NULL)
        add(list, channel, name->delivery)->since_ms = name->ms;
}

bool drain_list_read(struct drain_list *list, const struct reconciler *r, const char *channel, struct errbuf *err)
{
    size_t offset = 0, count = WALK_DELIVERIES_MAX;
    while (count == WALK_DELIVERIES_MAX && list->count < DRAIN_LIST_MAX) {
        struct reads_name *names = NULL;
        if (!reads_uncertain(&r->ledger, r->link, channel, offset, WALK_DELIVERIES_MAX, &names, &count,
                             r->config->redis_round_limit_ms, err))
            return false;
        for (size_t i = 0; i < count; i++)
            take_name(list, channel, &names[i]);
        offset += count;
        free(names);
    }
    return true;
}

void drain_list_stranger(struct drain_list *list, const char *channel, int64_t uncertain)
{
    list->strangers += (size_t)uncertain;
    json_object_set_new(list->stranger_channels, channel, json_integer(uncertain));
}

static int compare_age(const void *a, const void *b)
{
    const struct drain_item *x = a, *y = b;
    if (x->since_ms != y->since_ms) return x->since_ms < y->since_ms ? -1 : 1;
    return strcmp(x->delivery, y->delivery);
}

static void keep_oldest(struct drain_list *list)
{
    const size_t limit = list->filter.limit;
    if (limit == 0 || list->count <= limit) return;
    qsort(list->items, list->count, sizeof *list->items, compare_age);
    list->passed_over += list->count - limit;
    list->count = limit;
    json_object_clear(list->index);
    for (size_t i = 0; i < limit; i++)
        json_object_set_new(list->index, list->items[i].delivery, json_integer((json_int_t)i));
}

/* ---- what is known of them ---- */

/* At most REQUEST_BATCH_MAX of them. */
static bool read_rows(const struct reconciler *r, struct drain_item *const *items, size_t count,
                      struct reads_delivery *out, struct errbuf *err)
{
    const char *names[REQUEST_BATCH_MAX], *channels[REQUEST_BATCH_MAX];
    for (size_t i = 0; i < count; i++) {
        names[i] = items[i]->delivery;
        channels[i] = items[i]->channel;
    }
    return reads_deliveries(&r->ledger, r->link, names, channels, count, out, r->config->redis_round_limit_ms, err);
}

/* From when on something can be concluded about it. */
static void take_facts(struct drain_item *item, const struct delivery_row *row, const struct delivery_policy *policy,
                       int64_t no_absence_ms)
{
    item->reason = item->after_reason = row->reason;
    item->ready_ms =
        policy->harmless || !policy->can_read ? row->commit_by_ms : resolve_settled_at_ms(row, policy, no_absence_ms);
    item->set_back = item->ready_ms == no_absence_ms;
}

bool drain_list_complete(struct drain_list *list, struct reconciler *r, int64_t no_absence_ms, struct errbuf *err)
{
    bool ok = true;
    keep_oldest(list);
    for (size_t at = 0; ok && at < list->count; at += REQUEST_BATCH_MAX) {
        struct drain_item *items[REQUEST_BATCH_MAX];
        const size_t count = list->count - at < REQUEST_BATCH_MAX ? list->count - at : REQUEST_BATCH_MAX;
        struct reads_delivery *rows = xcalloc(count, sizeof *rows);
        for (size_t i = 0; i < count; i++)
            items[i] = &list->items[at + i];
        ok = read_rows(r, items, count, rows, err);
        for (size_t i = 0; ok && i < count; i++) {
            take_facts(items[i], &rows[i].row.core, &lane_of(r, items[i]->channel)->channel->policy, no_absence_ms);
            reads_delivery_fini(&rows[i]);
        }
        free(rows);
    }
    return ok;
}

/* ---- what becomes of them ---- */

static void done_with(struct drain_list *list, struct drain_item *item, enum delivery_state state)
{
    if (item->told)
        list->after[item->after]--;
    else
        list->told++;
    item->told = true;
    item->after = state;
    list->after[state]++;
}

void drain_list_note(struct drain_list *list, const struct resolved *resolved, const char *why, bool done)
{
    const char *delivery = resolved->subject->delivery;
    struct drain_item *item = find(list, delivery);
    if (item == NULL) item = add(list, resolved->walk->lane->channel->name, delivery);
    item->why = intern(list, why);
    item->after_reason = resolved->reason;
    if (done) done_with(list, item, resolved->state);
}

void drain_list_reach(struct drain_list *list, const char *channel, bool out_of_reach)
{
    if (out_of_reach)
        json_object_set_new(list->unreached, channel, json_true());
    else
        json_object_del(list->unreached, channel);
}

bool drain_list_unreached(const struct drain_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].after == DS_UNCERTAIN && json_object_get(list->unreached, list->items[i].channel) != NULL)
            return true;
    return false;
}

static void take_end(struct drain_list *list, struct drain_item *item, const struct reads_delivery *read)
{
    const enum delivery_state state = read->readable ? read->row.core.state : DS_UNCERTAIN;
    if (!read->readable) {
        item->why = intern(list, read->error);
    } else if (state != DS_UNCERTAIN) {
        item->why = intern(list, "settled by somebody else");
        item->after_reason = read->row.core.reason;
    }
    done_with(list, item, state);
}

bool drain_list_finish(struct drain_list *list, const struct reconciler *r,
                       void (*say)(void *context, const struct drain_item *item), void *context, struct errbuf *err)
{
    bool ok = true;
    for (size_t at = 0; ok && at < list->count;) {
        struct drain_item *items[REQUEST_BATCH_MAX];
        size_t count = 0;
        for (; at < list->count && count < REQUEST_BATCH_MAX; at++)
            if (!list->items[at].told) items[count++] = &list->items[at];
        if (count == 0) break;
        struct reads_delivery *rows = xcalloc(count, sizeof *rows);
        ok = read_rows(r, items, count, rows, err);
        for (size_t i = 0; ok && i < count; i++) {
            take_end(list, items[i], &rows[i]);
            say(context, items[i]);
            reads_delivery_fini(&rows[i]);
        }
        free(rows);
    }
    return ok;
}
