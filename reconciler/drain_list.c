/* SPDX-License-Identifier: MIT */
#include "reconciler/drain_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platforms/channel.h"
#include "runtime/clock.h"
#include "runtime/die.h"

void drain_list_init(struct drain_list *list, bool json)
{
    memset(list, 0, sizeof *list);
    list->json = json;
    list->index = json_object();
    list->unreached = json_object();
    list->stranger_channels = json_object();
}

void drain_list_fini(struct drain_list *list)
{
    free(list->items);
    json_decref(list->index);
    json_decref(list->unreached);
    json_decref(list->stranger_channels);
    memset(list, 0, sizeof *list);
}

/* ---- lines ---- */

static void print_json(json_t *own_line)
{
    char *text = own_line != NULL ? json_dumps(own_line, JSON_COMPACT) : NULL;
    if (text == NULL) die("out of memory");
    puts(text);
    fflush(stdout);
    free(text);
    json_decref(own_line);
}

static const char *plural(size_t count)
{
    return count == 1 ? "y" : "ies";
}

/* ---- the list ---- */

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
    memset(item, 0, sizeof *item);
    snprintf(item->channel, sizeof item->channel, "%s", channel);
    snprintf(item->delivery, sizeof item->delivery, "%s", delivery);
    item->after = DS_UNCERTAIN;
    json_object_set_new(list->index, delivery, json_integer((json_int_t)list->count));
    list->count++;
    return item;
}

/* From when on something can be concluded about it. */
static int64_t ready_ms(const struct delivery_row *row, const struct delivery_policy *policy, int64_t no_absence_ms)
{
    return policy->harmless || !policy->can_read ? row->commit_by_ms
                                                 : resolve_settled_at_ms(row, policy, no_absence_ms);
}

/* names[i] and its row, for at most REQUEST_BATCH_MAX deliveries. */
static bool read_rows(const struct reconciler *r, const struct drain_item *const *items, size_t count,
                      struct reads_delivery *out, struct errbuf *err)
{
    const char *names[REQUEST_BATCH_MAX], *channels[REQUEST_BATCH_MAX];
    for (size_t i = 0; i < count; i++) {
        names[i] = items[i]->delivery;
        channels[i] = items[i]->channel;
    }
    return reads_deliveries(&r->ledger, r->link, names, channels, count, out, r->config->redis_round_limit_ms, err);
}

static bool read_names(struct drain_list *list, const struct reconciler *r, const char *channel, struct errbuf *err)
{
    const size_t first = list->count;
    size_t count = WALK_DELIVERIES_MAX;
    while (count == WALK_DELIVERIES_MAX && list->count < DRAIN_LIST_MAX) {
        struct reads_name *names = NULL;
        if (!reads_uncertain(&r->ledger, r->link, channel, list->count - first, WALK_DELIVERIES_MAX, &names, &count,
                             r->config->redis_round_limit_ms, err))
            return false;
        for (size_t i = 0; i < count; i++)
            if (find(list, names[i].delivery) == NULL) (void)add(list, channel, names[i].delivery);
        free(names);
    }
    return true;
}

/* Why each is uncertain, and when it can be settled: `batch` items from `at` on. */
static bool read_facts(struct drain_list *list, size_t at, size_t batch, const struct reconciler *r,
                       const struct delivery_policy *policy, int64_t no_absence_ms, struct errbuf *err)
{
    const struct drain_item *items[REQUEST_BATCH_MAX];
    struct reads_delivery *rows = xcalloc(batch, sizeof *rows);
    for (size_t i = 0; i < batch; i++)
        items[i] = &list->items[at + i];
    const bool ok = read_rows(r, items, batch, rows, err);
    for (size_t i = 0; ok && i < batch; i++) {
        const struct delivery_row *row = &rows[i].row.core;
        list->items[at + i].reason = row->reason;
        list->items[at + i].ready_ms = ready_ms(row, policy, no_absence_ms);
        reads_delivery_fini(&rows[i]);
    }
    free(rows);
    return ok;
}

bool drain_list_read(struct drain_list *list, const struct reconciler *r, const struct channel *channel,
                     const struct reads_overview *overview, struct errbuf *err)
{
    const size_t first = list->count;
    if (!read_names(list, r, channel->name, err)) return false;
    for (size_t at = first; at < list->count; at += REQUEST_BATCH_MAX) {
        const size_t batch = list->count - at < REQUEST_BATCH_MAX ? list->count - at : REQUEST_BATCH_MAX;
        if (!read_facts(list, at, batch, r, &channel->policy, overview->epoch.no_absence_before_ms, err)) return false;
    }
    return true;
}

void drain_list_stranger(struct drain_list *list, const char *channel, int64_t uncertain)
{
    list->strangers += (size_t)uncertain;
    json_object_set_new(list->stranger_channels, channel, json_integer(uncertain));
}

/* ---- the plan ---- */

struct plan {
    size_t now, later;
    int64_t last_ms;  /* when the last of them can be settled */
    json_t *channels; /* channel -> number */
};

static struct plan make_plan(const struct drain_list *list, int64_t now_ms)
{
    struct plan plan = {.channels = json_object()};
    for (size_t i = 0; i < list->count; i++) {
        const struct drain_item *item = &list->items[i];
        const json_t *known = json_object_get(plan.channels, item->channel);
        json_object_set_new(plan.channels, item->channel, json_integer(json_integer_value(known) + 1));
        if (item->ready_ms <= now_ms)
            plan.now++;
        else
            plan.later++;
        if (item->ready_ms > plan.last_ms) plan.last_ms = item->ready_ms;
    }
    return plan;
}

static void print_plan(const struct drain_list *list, const struct plan *plan, int64_t now_ms)
{
    char span[CLOCK_DURATION_SIZE];
    const char *name;
    json_t *number;
    const size_t all = list->count + list->strangers;
    printf("%zu uncertain deliver%s", all, plural(all));
    const char *separator = ": ";
    json_object_foreach(plan->channels, name, number)
    {
        printf("%s%s %" PRId64, separator, name, (int64_t)json_integer_value(number));
        separator = ", ";
    }
    json_object_foreach(list->stranger_channels, name, number)
    {
        printf("%s%s %" PRId64 " (not configured here, left alone)", separator, name,
               (int64_t)json_integer_value(number));
        separator = ", ";
    }
    printf(". %zu can be settled now", plan->now);
    if (plan->later > 0)
        printf(", %zu within %s: their last attempt may still commit or become visible", plan->later,
               clock_duration(plan->last_ms - now_ms, span));
    puts("");
    fflush(stdout);
}

void drain_list_plan(const struct drain_list *list, int64_t now_ms)
{
    const struct plan plan = make_plan(list, now_ms);
    if (list->json)
        print_json(json_pack("{s:s,s:I,s:O,s:O,s:I,s:I,s:I}", "line", "plan", "uncertain",
                             (json_int_t)(list->count + list->strangers), "channels", plan.channels, "not_configured",
                             list->stranger_channels, "now", (json_int_t)plan.now, "later", (json_int_t)plan.later,
                             "later_within_ms", (json_int_t)(plan.later > 0 ? plan.last_ms - now_ms : 0)));
    else
        print_plan(list, &plan, now_ms);
    json_decref(plan.channels);
}

/* ---- one delivery ---- */

static void settle_item(struct drain_list *list, struct drain_item *item, enum delivery_state state)
{
    if (item->told) list->after[item->after]--;
    item->told = true;
    item->after = state;
    list->after[state]++;
}

static void print_delivery(const struct resolved *resolved, int64_t now_ms)
{
    char span[CLOCK_DURATION_SIZE];
    const struct subject *s = resolved->subject;
    printf("%s  uncertain %s -> %s by %s%s%s -> %s %s", s->delivery, delivery_reason_name(s->row.reason),
           delivery_event_name(s->event), s->how, s->ext_id != NULL ? " " : "", s->ext_id != NULL ? s->ext_id : "",
           delivery_state_name(resolved->state), delivery_reason_name(resolved->reason));
    if (s->duplicate_id != NULL) printf(", DUPLICATE %s", s->duplicate_id);
    if (resolved->state == DS_UNCERTAIN)
        printf(", looked at again in %s", clock_duration(resolved->due_ms - now_ms, span));
    puts("");
    fflush(stdout);
}

void drain_list_tell(struct drain_list *list, const struct resolved *resolved, int64_t now_ms)
{
    const struct subject *s = resolved->subject;
    struct drain_item *item = find(list, s->delivery);
    if (item == NULL) item = add(list, resolved->walk->lane->channel->name, s->delivery);
    settle_item(list, item, resolved->state);
    if (!list->json) {
        print_delivery(resolved, now_ms);
        return;
    }
    print_json(json_pack("{s:s,s:s,s:{s:s,s:s},s:{s:s,s:s,s:s?,s:s?,s:s?},s:{s:s,s:s,s:I}}", "line", "delivery",
                         "delivery", s->delivery, "before", "state", delivery_state_name(DS_UNCERTAIN), "reason",
                         delivery_reason_name(s->row.reason), "evidence", "event", delivery_event_name(s->event), "by",
                         s->how, "ext_id", s->ext_id, "url", s->url, "duplicate", s->duplicate_id, "after", "state",
                         delivery_state_name(resolved->state), "reason", delivery_reason_name(resolved->reason),
                         "due_ms", (json_int_t)resolved->due_ms));
}

void drain_list_waits(const struct drain_list *list, const char *channel, size_t left, int64_t wait_ms,
                      const char *result, const char *why)
{
    char span[CLOCK_DURATION_SIZE];
    if (list->json) {
        print_json(json_pack("{s:s,s:s,s:I,s:I,s:s,s:s}", "line", "wait", "channel", channel, "uncertain",
                             (json_int_t)left, "wait_ms", (json_int_t)wait_ms, "result", result, "why", why));
        return;
    }
    printf("%s: %zu stay uncertain (%s%s%s), looked at again in %s\n", channel, left, result,
           why[0] != '\0' ? ": " : "", why, clock_duration(wait_ms, span));
    fflush(stdout);
}

void drain_list_busy(const struct drain_list *list, const char *channel)
{
    if (list->json)
        print_json(json_pack("{s:s,s:s}", "line", "busy", "channel", channel));
    else
        printf("%s: another reconciler walks this account\n", channel);
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

/* ---- the end ---- */

static void print_other(const struct drain_list *list, const struct drain_item *item, const struct delivery_row *row)
{
    if (list->json)
        print_json(json_pack("{s:s,s:s,s:{s:s,s:s},s:n,s:{s:s,s:s}}", "line", "delivery", "delivery", item->delivery,
                             "before", "state", delivery_state_name(DS_UNCERTAIN), "reason",
                             delivery_reason_name(item->reason), "evidence", "after", "state",
                             delivery_state_name(row->state), "reason", delivery_reason_name(row->reason)));
    else
        printf("%s  uncertain %s -> %s -> %s %s\n", item->delivery, delivery_reason_name(item->reason),
               row->state == DS_UNCERTAIN ? "not looked at to the end" : "settled by somebody else",
               delivery_state_name(row->state), delivery_reason_name(row->reason));
}

bool drain_list_finish(struct drain_list *list, const struct reconciler *r, struct errbuf *err)
{
    size_t at = 0;
    while (at < list->count) {
        const struct drain_item *items[REQUEST_BATCH_MAX];
        size_t count = 0;
        for (; at < list->count && count < REQUEST_BATCH_MAX; at++)
            if (!list->items[at].told) items[count++] = &list->items[at];
        if (count == 0) break;
        struct reads_delivery *rows = xcalloc(count, sizeof *rows);
        const bool ok = read_rows(r, items, count, rows, err);
        for (size_t i = 0; ok && i < count; i++) {
            const struct delivery_row *row = &rows[i].row.core;
            print_other(list, items[i], row);
            settle_item(list, find(list, items[i]->delivery), rows[i].readable ? row->state : DS_UNCERTAIN);
            reads_delivery_fini(&rows[i]);
        }
        free(rows);
        if (!ok) return false;
    }
    return true;
}

void drain_list_summary(const struct drain_list *list, bool timed_out, int exit_code)
{
    const char *separator = ": ";
    if (list->json) {
        json_t *after = json_object();
        for (int s = DS_APPROVED; s < DS_COUNT; s++)
            json_object_set_new(after, delivery_state_name((enum delivery_state)s),
                                json_integer((json_int_t)list->after[s]));
        print_json(json_pack("{s:s,s:I,s:o,s:I,s:b,s:i}", "line", "summary", "deliveries", (json_int_t)list->count,
                             "after", after, "not_configured", (json_int_t)list->strangers, "timed_out", timed_out,
                             "exit", exit_code));
        return;
    }
    printf("%zu deliver%s", list->count, plural(list->count));
    for (int s = DS_APPROVED; s < DS_COUNT; s++) {
        if (list->after[s] == 0) continue;
        printf("%s%zu %s", separator, list->after[s], delivery_state_name((enum delivery_state)s));
        separator = ", ";
    }
    if (list->strangers > 0) printf("; %zu of channels that are not configured here", list->strangers);
    if (timed_out) printf("; the time was up");
    if (drain_list_unreached(list)) printf("; a platform was out of reach: nothing is concluded about what is left");
    puts(".");
    fflush(stdout);
}
