/* SPDX-License-Identifier: MIT */
#include "cli/check_words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "cli/next.h"
#include "cli/out.h"
#include "platforms/rehearse.h"
#include "runtime/buf.h"
#include "runtime/clock.h"

#define WORDS_MAX 2000
#define DAY_MS    INT64_C(86400000)

/* ---- decisions */

static const char *state_words(const struct delivery_decision *d)
{
    switch (d->state) {
    case DS_APPROVED: return "it is to be sent again";
    case DS_PUBLISHED: return "it is published";
    case DS_REJECTED: return "it is given up";
    case DS_UNCERTAIN: return "it is in doubt";
    case DS_HELD: return "it waits for a person";
    case DS_NONE:
    case DS_CLAIMED:
    case DS_COUNT: break;
    }
    return "nothing changes";
}

static void say_when(struct buf *out, const struct delivery_decision *d, int64_t now_ms)
{
    char span[CLOCK_DURATION_SIZE];
    const bool look = d->state == DS_UNCERTAIN && d->place == PLACE_WALK;
    if (!look && d->place != PLACE_AGENDA) return;
    buf_append_text(out, look ? ", the next look " : " ");
    if (d->due_ms > now_ms)
        buf_append_format(out, "in %s", clock_duration(d->due_ms - now_ms, span));
    else
        buf_append_text(out, "at once");
}

static void say_change(struct buf *out, const struct delivery_decision *d, int64_t now_ms)
{
    char span[CLOCK_DURATION_SIZE];
    buf_append_text(out, state_words(d));
    say_when(out, d, now_ms);
    if (d->pause_channel) buf_append_text(out, "; the channel is paused, with an alert");
    if (d->block_until_ms > now_ms)
        buf_append_format(out, "; the channel waits %s", clock_duration(d->block_until_ms - now_ms, span));
    if (d->new_generation) buf_append_text(out, "; under a new key");
    if (d->misses > 0) buf_append_text(out, "; this search counts as one that did not find it");
    if (d->duplicate) buf_append_text(out, "; a duplicate is reported");
    if (d->state != DS_PUBLISHED && next_why(d->reason)[0])
        buf_append_format(out, " (%s: %s)", delivery_reason_name(d->reason), next_why(d->reason));
}

json_t *check_words_decision(const char *before, const struct delivery_decision *d, int64_t now_ms)
{
    struct buf out;
    buf_init(&out, WORDS_MAX);
    buf_append_text(&out, before);
    if (d->verdict == VERDICT_CHANGE)
        say_change(&out, d, now_ms);
    else
        buf_append_text(&out, "nothing changes");
    json_t *text = out_bytes(buf_text(&out), out.len);
    buf_fini(&out);
    return text;
}

/* ---- facts */

static void add(json_t *facts, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void add(json_t *facts, const char *name, const char *format, ...)
{
    char text[WORDS_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    json_t *one = json_object();
    out_set(one, "name", out_string(name));
    out_set(one, "text", out_string(text));
    out_add(facts, one);
}

static const char *tier_words(enum descriptor_tier tier)
{
    switch (tier) {
    case TIER_KEY: return "the platform keeps our key for a while and answers a repeat under it with the first post";
    case TIER_UPSERT: return "we choose the post's id, so a repeat writes the same post";
    case TIER_READ: return "the platform knows no key, but what it holds can be read back";
    case TIER_BLIND: return "the platform knows no key, and what it holds cannot be read back";
    case TIER_PING: break;
    }
    return "a repeat does no harm";
}

static void add_key(json_t *facts, const struct channel *channel)
{
    const struct descriptor *d = channel->descriptor;
    const int64_t window_ms = channel->policy.key_window_ms;
    char span[CLOCK_DURATION_SIZE];
    if (!d->has_key) {
        add(facts, "window", "there is no key");
    } else if (window_ms == DELIVERY_FOREVER) {
        add(facts, "window", "the key (%s) holds for ever", key_format_name(d->key_format));
    } else if (window_ms > 0) {
        add(facts, "window", "the key (%s) is kept for %s; it is relied on for %" PRId64 " s less",
            key_format_name(d->key_format), clock_duration(window_ms, span), channel->policy.margin_ms / 1000);
    } else {
        add(facts, "window", "the key (%s) is a name only: nobody promises to drop a repeat under it%s%s%s",
            key_format_name(d->key_format), d->key_window_setting ? ", unless the channel says so in its setting " : "",
            d->key_window_setting ? d->key_window_setting : "", d->key_window_setting ? " (seconds)" : "");
    }
}

/* The proof stands in the descriptor; its author says there what it rests on. */
static void add_listing(json_t *facts, const struct descriptor *d)
{
    const json_t *listing = json_object_get(json_object_get(d->document, "reads"), "listing");
    const char *comment = json_string_value(json_object_get(listing, "$comment"));
    const char *end = json_string_value(json_object_get(listing, "end"));
    if (!d->listing.given) return;
    add(facts, "end proof", "%s%s$.reads.listing.end: %s", comment ? comment : "", comment ? " " : "",
        end ? end : "none");
    add(facts, "pages", "at most %" PRId64 "%s; without the proof of the end nothing is called absent",
        d->listing.pages_max, d->listing.drift ? ", numbered, so a longer walk is made twice" : "");
    add(facts, "floor", "%s",
        d->listing.floor == FLOOR_SERVER_TIME
            ? "newest first by the server's own time: a walk may end behind the first attempt"
            : "none: a walk must reach the end");
}

static void add_reading(json_t *facts, const struct channel *channel)
{
    const struct descriptor *d = channel->descriptor;
    const struct delivery_policy *p = &channel->policy;
    char span[CLOCK_DURATION_SIZE];
    const bool any = d->by_id.given || d->by_key.given || d->listing.given;
    add(facts, "read back", "%s%s%s%s", any ? "" : "not at all", d->by_id.given ? "by id; " : "",
        d->by_key.given ? "by key; " : "", d->listing.given ? "by the listing of the account" : "");
    add_listing(facts, d);
    if (!p->can_read) return;
    add(facts, "lag", "a post may be unseen for %s after it was made", clock_duration(p->visibility_lag_ms, span));
    add(facts, "clean misses", "%d complete search%s in a row without it prove%s that it is absent", p->clean_misses,
        p->clean_misses == 1 ? "" : "es", p->clean_misses == 1 ? "s" : "");
}

static void add_doubt(json_t *facts, const struct channel *channel)
{
    const struct delivery_policy *p = &channel->policy;
    const char *repeat = p->key_window_ms == DELIVERY_FOREVER
                             ? "the same request is sent again, and its answer tells"
                             : "while the key is kept the same request is sent again, and its answer tells";
    const char *read = p->hold_absent ? "the platform is read: found is published, absent waits for a person"
                                      : "the platform is read: found is published, absent is sent again";
    if (p->harmless)
        add(facts, "doubt ends", "it is sent again");
    else if (p->key_window_ms == 0 && !p->can_read)
        add(facts, "doubt ends", "by a person: nobody else can find out");
    else
        add(facts, "doubt ends", "%s%s%s", p->can_read ? read : "", p->can_read && p->key_window_ms ? "; or " : "",
            p->key_window_ms ? repeat : "");
}

json_t *check_words_facts(const struct channel *channel)
{
    const struct descriptor *d = channel->descriptor;
    const struct delivery_policy *p = &channel->policy;
    char lease[CLOCK_DURATION_SIZE], late[CLOCK_DURATION_SIZE], limit[CLOCK_DURATION_SIZE];
    json_t *facts = json_array();
    add(facts, "tier", "%s: %s", descriptor_tier_name(channel->tier), tier_words(channel->tier));
    add(facts, "verified", "%s", d->unverified ? "no: not all of it was seen on a real server" : "yes");
    add_key(facts, channel);
    add_reading(facts, channel);
    add_doubt(facts, channel);
    add(facts, "times", "a write may take %s, its worker has %s, and what was cut off may still be executed %s later",
        clock_duration(channel->write_limit_ms, limit), clock_duration(p->lease_ms, lease),
        clock_duration(p->late_commit_ms, late));
    if (!p->gives_id) add(facts, "id", "a success names no post");
    if (p->verify) add(facts, "verify", "a success is read back by its id before it is believed");
    if (p->stores_failures) add(facts, "failures", "a failure is kept under its key: what is absent gets a new key");
    return facts;
}

/* ---- nobody knows, and reading back says */

struct look {
    const char *seen;
    struct rehearse_look look;
};

static json_t *look_words(const struct channel *channel, const struct look *look)
{
    const struct delivery_decision d = rehearse_look(&channel->policy, &look->look);
    json_t *one = json_object();
    out_set(one, "seen", out_string(look->seen));
    out_set(one, "then", check_words_decision("", &d, look->look.now_ms));
    return one;
}

json_t *check_words_doubt(const struct channel *channel)
{
    const struct delivery_policy *p = &channel->policy;
    const int64_t commit_ms = REHEARSE_SEND_MS + p->lease_ms + p->late_commit_ms;
    const int64_t settled_ms = commit_ms + p->visibility_lag_ms;
    const int64_t over_ms = p->key_window_ms > 0 ? REHEARSE_SEND_MS + p->key_window_ms : settled_ms + 1;
    const struct look looks[] = {
        {"nothing seen, while it may still be executed", {EV_UNSEEN, REHEARSE_NOW_MS, false, false, false}},
        {"nothing seen, and it has come to an end", {EV_UNSEEN, commit_ms, false, false, false}},
        {"nothing seen, and the key is no longer kept", {EV_UNSEEN, over_ms, false, false, false}},
        {"nothing seen for a week", {EV_UNSEEN, REHEARSE_SEND_MS + 8 * DAY_MS, false, false, false}},
        {"absent, while it may still be executed", {EV_ABSENT, REHEARSE_NOW_MS, false, false, false}},
        {"absent, all settled, for the first time", {EV_ABSENT, settled_ms, false, false, false}},
        {"absent, all settled, often enough", {EV_ABSENT, settled_ms + 1, false, false, true}},
        {"found", {EV_FOUND, REHEARSE_NOW_MS, false, false, false}},
        {"found, and another one", {EV_FOUND, REHEARSE_NOW_MS, true, false, false}},
        {"its id was known, and is gone", {EV_GONE, settled_ms + 1, false, true, true}},
    };
    json_t *all = json_array();
    for (size_t i = 0; i < sizeof(looks) / sizeof(*looks); i++) {
        if (looks[i].look.event != EV_UNSEEN && !p->can_read && !looks[i].look.known_id) continue;
        if (looks[i].look.known_id && !channel->descriptor->by_id.given) continue;
        out_add(all, look_words(channel, &looks[i]));
    }
    return all;
}
