/* SPDX-License-Identifier: MIT */
#include "reconciler/drain_say.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platforms/channel.h"
#include "runtime/clock.h"
#include "runtime/die.h"
#include "runtime/plain.h"

#define LATER_WINDOW   "their last attempt may still commit or become visible"
#define LATER_SET_BACK "the ledger was set back or its clock leapt, and until then no absence counts"

static void print_json(struct drain_voice *voice, json_t *own_line)
{
    drain_bar_clear(&voice->bar);
    plain_json_line(stdout, own_line);
}

static void end_line(void)
{
    puts("");
    fflush(stdout);
}

static const char *plural(size_t count)
{
    return count == 1 ? "y" : "ies";
}

/* ---- the plan ---- */

struct plan {
    size_t now, later, set_back; /* set_back: of the later ones, those that a ledger that was set back makes wait */
    int64_t last_ms;             /* when the last of them can be settled */
    json_t *channels;            /* channel -> number */
};

static struct plan make_plan(const struct drain_list *list, int64_t now_ms)
{
    struct plan plan = {.channels = json_object()};
    for (size_t i = 0; i < list->count; i++) {
        const struct drain_item *item = &list->items[i];
        const json_t *known = json_object_get(plan.channels, item->channel);
        json_object_set_new(plan.channels, item->channel, json_integer(json_integer_value(known) + 1));
        const bool later = item->ready_ms > now_ms;
        plan.now += !later;
        plan.later += later;
        plan.set_back += later && item->set_back;
        if (item->ready_ms > plan.last_ms) plan.last_ms = item->ready_ms;
    }
    return plan;
}

static const char *later_why(const struct plan *plan)
{
    if (plan->later == 0) return "";
    if (plan->set_back == 0) return LATER_WINDOW;
    return plan->set_back == plan->later ? LATER_SET_BACK : LATER_WINDOW "; or " LATER_SET_BACK;
}

static void print_plan(const struct drain_voice *voice, const struct drain_list *list, const struct plan *plan,
                       int64_t now_ms)
{
    char span[CLOCK_DURATION_SIZE];
    const char *name, *separator = ": ";
    json_t *number;
    const size_t all = list->count + list->strangers;
    plain_print(stdout, "%zu uncertain deliver%s", all, plural(all));
    json_object_foreach(plan->channels, name, number)
    {
        plain_print(stdout, "%s%s %" PRId64, separator, name, (int64_t)json_integer_value(number));
        separator = ", ";
    }
    json_object_foreach(list->stranger_channels, name, number)
    {
        plain_print(stdout, "%s%s %" PRId64 " (not configured here, left alone)", separator, name,
                    (int64_t)json_integer_value(number));
        separator = ", ";
    }
    plain_print(stdout, ". %zu can be settled now", plan->now);
    if (plan->later > 0)
        plain_print(stdout, ", %zu within %s: %s", plan->later, clock_duration(plan->last_ms - now_ms, span),
                    later_why(plan));
    if (list->passed_over > 0) plain_print(stdout, ". %zu more were not asked for", list->passed_over);
    if (voice->dry_run) plain_print(stdout, ". Dry run: nothing is changed");
    end_line();
}

void drain_say_plan(struct drain_voice *voice, const struct drain_list *list, int64_t now_ms)
{
    const struct plan plan = make_plan(list, now_ms);
    if (voice->json)
        print_json(voice,
                   json_pack("{s:s,s:b,s:I,s:O,s:O,s:I,s:I,s:I,s:I,s:s}", "line", "plan", "dry_run", voice->dry_run,
                             "uncertain", (json_int_t)list->count + (json_int_t)list->strangers, "channels",
                             plan.channels, "not_configured", list->stranger_channels, "passed_over",
                             (json_int_t)list->passed_over, "now", (json_int_t)plan.now, "later",
                             (json_int_t)plan.later, "later_within_ms",
                             (json_int_t)(plan.later > 0 ? plan.last_ms - now_ms : 0), "later_why", later_why(&plan)));
    else
        print_plan(voice, list, &plan, now_ms);
    json_decref(plan.channels);
}

/* ---- why ---- */

static const char *why_absent(const struct resolved *resolved, char out[DRAIN_WHY_BYTES])
{
    const struct walk *w = resolved->walk;
    const struct delivery_row *row = &resolved->subject->row;
    const struct delivery_policy *policy = &w->lane->channel->policy;
    if (resolved->reason == RS_REPLAY) return "it is not there, and its key makes a repetition harmless";
    if (resolved->state != DS_UNCERTAIN) return "a complete history without it, read when nothing could still arrive";
    if (w->searched_from_ms < w->no_absence_before_ms) return "it is not there; " LATER_SET_BACK;
    if (w->searched_from_ms < resolve_settled_at_ms(row, policy, w->no_absence_before_ms))
        return "it is not there, and its last attempt may still commit or become visible";
    snprintf(out, DRAIN_WHY_BYTES, "it is not there; %d clean searches a while apart must miss it",
             policy->clean_misses);
    return out;
}

static const char *why_unseen(const struct resolved *resolved, char out[DRAIN_WHY_BYTES])
{
    const struct walk *w = resolved->walk;
    const bool can_read = w->lane->channel->policy.can_read;
    if (resolved->reason == RS_REPLAY) return "nothing is proven, and its key makes a repetition harmless";
    if (!can_read) return "this platform can neither be read nor asked twice";
    if (strcmp(w->result, "complete") == 0 || strcmp(w->result, "looked_up") == 0)
        return "what was read neither is it nor excludes it";
    snprintf(out, DRAIN_WHY_BYTES, "nothing is proven: %s%s%s", w->result, w->why[0] != '\0' ? ": " : "", w->why);
    return out;
}

const char *drain_why(const struct resolved *resolved, char out[DRAIN_WHY_BYTES])
{
    const enum delivery_event event = resolved->subject->event;
    if (event == EV_FOUND) return "the platform has it";
    if (event == EV_GONE) return "the platform had it under its id and has it no more";
    return event == EV_ABSENT ? why_absent(resolved, out) : why_unseen(resolved, out);
}

/* ---- one delivery ---- */

static void print_delivery(const struct drain_voice *voice, const struct resolved *resolved, const char *why,
                           int64_t now_ms)
{
    char span[CLOCK_DURATION_SIZE];
    const struct subject *s = resolved->subject;
    const bool left = resolved->state == DS_UNCERTAIN || resolved->state == DS_HELD;
    plain_print(stdout, "%s  uncertain %s -> %s by %s%s%s -> %s%s %s", s->delivery, delivery_reason_name(s->row.reason),
                delivery_event_name(s->event), s->how, s->ext_id != NULL ? " " : "", s->ext_id != NULL ? s->ext_id : "",
                voice->dry_run ? "would be " : "", delivery_state_name(resolved->state),
                delivery_reason_name(resolved->reason));
    if (s->duplicate_id != NULL) plain_print(stdout, ", DUPLICATE %s", s->duplicate_id);
    if (resolved->state == DS_UNCERTAIN && !voice->dry_run)
        plain_print(stdout, ", looked at again in %s", clock_duration(resolved->due_ms - now_ms, span));
    if (left || voice->dry_run) plain_print(stdout, ": %s", why);
    end_line();
}

void drain_say_delivery(struct drain_voice *voice, const struct resolved *resolved, const char *why, int64_t now_ms)
{
    const struct subject *s = resolved->subject;
    drain_bar_clear(&voice->bar);
    if (!voice->json) {
        print_delivery(voice, resolved, why, now_ms);
        return;
    }
    print_json(voice,
               json_pack("{s:s,s:o,s:{s:s,s:s},s:{s:s,s:s,s:o,s:o,s:o},s:{s:s,s:s,s:I},s:o}", "line", "delivery",
                         "delivery", plain_json(s->delivery), "before", "state", delivery_state_name(DS_UNCERTAIN),
                         "reason", delivery_reason_name(s->row.reason), "evidence", "event",
                         delivery_event_name(s->event), "by", s->how, "ext_id", plain_json(s->ext_id), "url",
                         plain_json(s->url), "duplicate", plain_json(s->duplicate_id), "after", "state",
                         delivery_state_name(resolved->state), "reason", delivery_reason_name(resolved->reason),
                         "due_ms", (json_int_t)resolved->due_ms, "why", plain_json(why)));
}

static const char *item_why(const struct drain_item *item)
{
    return item->why != NULL ? item->why : "not looked at to the end";
}

void drain_say_other(struct drain_voice *voice, const struct drain_item *item)
{
    drain_bar_clear(&voice->bar);
    if (voice->json)
        print_json(voice, json_pack("{s:s,s:o,s:{s:s,s:s},s:n,s:{s:s,s:s},s:o}", "line", "delivery", "delivery",
                                    plain_json(item->delivery), "before", "state", delivery_state_name(DS_UNCERTAIN),
                                    "reason", delivery_reason_name(item->reason), "evidence", "after", "state",
                                    delivery_state_name(item->after), "reason",
                                    delivery_reason_name(item->after_reason), "why", plain_json(item_why(item))));
    else
        plain_line(stdout, "%s  uncertain %s -> %s -> %s %s", item->delivery, delivery_reason_name(item->reason),
                   item_why(item), delivery_state_name(item->after), delivery_reason_name(item->after_reason));
}

/* ---- meanwhile ---- */

void drain_say_waits(struct drain_voice *voice, const struct walk *walk, int64_t wait_ms)
{
    char span[CLOCK_DURATION_SIZE];
    const char *channel = walk->lane->channel->name;
    drain_bar_clear(&voice->bar);
    if (voice->json) {
        print_json(voice, json_pack("{s:s,s:s,s:I,s:I,s:s,s:o}", "line", "wait", "channel", channel, "uncertain",
                                    (json_int_t)walk->left, "wait_ms", (json_int_t)wait_ms, "result", walk->result,
                                    "why", plain_json(walk->why)));
        return;
    }
    plain_line(stdout, "%s: %zu stay uncertain (%s%s%s), looked at again in %s", channel, walk->left, walk->result,
               walk->why[0] != '\0' ? ": " : "", walk->why, clock_duration(wait_ms, span));
    fflush(stdout);
}

void drain_say_busy(struct drain_voice *voice, const char *channel)
{
    drain_bar_clear(&voice->bar);
    if (voice->json)
        print_json(voice, json_pack("{s:s,s:s}", "line", "busy", "channel", channel));
    else
        plain_line(stdout, "%s: another reconciler walks this account", channel);
}

void drain_say_progress(struct drain_voice *voice, const struct drain_progress *progress, int64_t now)
{
    char text[DRAIN_BAR_TEXT_BYTES];
    if (!drain_bar_is_due(&voice->bar, now)) return;
    if (voice->bar.terminal)
        drain_bar_draw(&voice->bar, progress, now);
    else if (voice->json)
        print_json(voice, json_pack("{s:s,s:I,s:I,s:f,s:s?,s:i}", "line", "progress", "done",
                                    (json_int_t)progress->done, "total", (json_int_t)progress->total, "per_second",
                                    drain_bar_rate(&voice->bar, progress->done, now), "channel", progress->channel,
                                    "pages", progress->pages));
    else {
        plain_line(stdout, "%s", drain_bar_text(&voice->bar, progress, now, text));
        fflush(stdout);
    }
}

/* ---- the end ---- */

static bool is_left(const struct drain_item *item)
{
    return item->told && (item->after == DS_UNCERTAIN || item->after == DS_HELD);
}

/* What waits still, counted by channel, state, reason and why. A new reference. */
static json_t *make_left(const struct drain_list *list)
{
    json_t *kinds = json_object(), *left = json_array();
    for (size_t i = 0; i < list->count; i++) {
        const struct drain_item *item = &list->items[i];
        char kind[IDENTITY_CHANNEL_BYTES + DRAIN_WHY_BYTES + 64];
        if (!is_left(item)) continue;
        snprintf(kind, sizeof kind, "%s %d %d %s", item->channel, (int)item->after, (int)item->after_reason,
                 item_why(item));
        json_t *known = json_object_get(kinds, kind);
        if (known == NULL) {
            known = json_pack("{s:s,s:s,s:s,s:I,s:o}", "channel", item->channel, "state",
                              delivery_state_name(item->after), "reason", delivery_reason_name(item->after_reason),
                              "deliveries", (json_int_t)0, "why", plain_json(item_why(item)));
            if (known == NULL) die("out of memory");
            json_object_set(kinds, kind, known);
            json_array_append_new(left, known);
        }
        json_integer_set(json_object_get(known, "deliveries"),
                         json_integer_value(json_object_get(known, "deliveries")) + 1);
    }
    json_decref(kinds);
    return left;
}

static void print_left(const json_t *left)
{
    size_t i;
    json_t *kind;
    json_array_foreach(left, i, kind)
    {
        plain_line(stdout, "left: %s %" PRId64 " %s %s: %s", json_string_value(json_object_get(kind, "channel")),
                   (int64_t)json_integer_value(json_object_get(kind, "deliveries")),
                   json_string_value(json_object_get(kind, "state")),
                   json_string_value(json_object_get(kind, "reason")), json_string_value(json_object_get(kind, "why")));
    }
}

static void print_summary(const struct drain_voice *voice, const struct drain_list *list, bool timed_out)
{
    const char *separator = voice->dry_run ? " would be: " : ": ";
    plain_print(stdout, "%zu deliver%s", list->count, plural(list->count));
    for (int s = DS_APPROVED; s < DS_COUNT; s++) {
        if (list->after[s] == 0) continue;
        plain_print(stdout, "%s%zu %s", separator, list->after[s], delivery_state_name((enum delivery_state)s));
        separator = ", ";
    }
    if (list->strangers > 0) plain_print(stdout, "; %zu of channels that are not configured here", list->strangers);
    if (list->passed_over > 0) plain_print(stdout, "; %zu more were not asked for", list->passed_over);
    if (timed_out) plain_print(stdout, "; the time was up");
    if (drain_list_unreached(list))
        plain_print(stdout, "; a platform was out of reach: nothing is concluded about what is left");
    plain_print(stdout, ".");
    end_line();
}

void drain_say_summary(struct drain_voice *voice, const struct drain_list *list, bool timed_out, int64_t elapsed_ms,
                       int exit_code)
{
    json_t *left = make_left(list);
    drain_bar_clear(&voice->bar);
    if (!voice->json) {
        print_left(left);
        print_summary(voice, list, timed_out);
        json_decref(left);
        return;
    }
    json_t *after = json_object();
    for (int s = DS_APPROVED; s < DS_COUNT; s++)
        json_object_set_new(after, delivery_state_name((enum delivery_state)s),
                            json_integer((json_int_t)list->after[s]));
    print_json(voice,
               json_pack("{s:s,s:b,s:I,s:o,s:o,s:I,s:I,s:b,s:I,s:i}", "line", "summary", "dry_run", voice->dry_run,
                         "deliveries", (json_int_t)list->count, "after", after, "left", left, "not_configured",
                         (json_int_t)list->strangers, "passed_over", (json_int_t)list->passed_over, "timed_out",
                         timed_out, "elapsed_ms", (json_int_t)elapsed_ms, "exit", exit_code));
}
