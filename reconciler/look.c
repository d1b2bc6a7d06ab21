/* SPDX-License-Identifier: MIT */
#include "reconciler/look.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platforms/channel.h"
#include "platforms/lookup.h"
#include "reconciler/drain_say.h"
#include "runtime/clock.h"
#include "runtime/die.h"
#include "runtime/log.h"
#include "runtime/plain.h"

#define LOOK_LINE_BYTES 1024 /* of standard input; a name is much shorter */

struct look {
    struct process *process;
    const struct look_options *options;
    struct reads_name *names; /* sorted, each once: those of one channel stand together */
    bool *told;               /* of each */
    size_t count;
    int64_t started_boot_ms;
    int code;
};

/* ---- which */

static bool add_name(struct look *look, const char *word, struct errbuf *err)
{
    struct delivery_id id;
    char why[KEYS_ERR_BYTES], quoted[KEYS_QUOTE_BYTES];
    if (!identity_parse(word, &id, why))
        return errbuf_set(err, "%s: a delivery is named platform/account/id: %s",
                          keys_quote(word, strlen(word), quoted), why);
    if (look->count == LOOK_MAX) return errbuf_set(err, "at most %d deliveries at once", LOOK_MAX);
    look->names = xrealloc_array(look->names, look->count + 1, sizeof *look->names);
    struct reads_name *name = &look->names[look->count++];
    memset(name, 0, sizeof *name);
    identity_name(&id, name->delivery);
    return true;
}

static bool read_standard_input(struct look *look, struct errbuf *err)
{
    char line[LOOK_LINE_BYTES];
    bool ok = true;
    while (ok && fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '\0') ok = add_name(look, line, err);
    }
    return ok;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct reads_name *)a)->delivery, ((const struct reads_name *)b)->delivery);
}

static bool read_names(struct look *look, struct errbuf *err)
{
    const struct look_options *o = look->options;
    const bool piped = o->name_count == 1 && strcmp(o->names[0], "-") == 0;
    bool ok = !piped || read_standard_input(look, err);
    for (size_t i = 0; ok && !piped && i < o->name_count; i++)
        ok = add_name(look, o->names[i], err);
    if (look->count > 0) qsort(look->names, look->count, sizeof *look->names, by_name);
    size_t kept = 0;
    for (size_t i = 0; i < look->count; i++)
        if (kept == 0 || by_name(&look->names[kept - 1], &look->names[i]) != 0) look->names[kept++] = look->names[i];
    look->count = kept;
    if (ok && o->ext_id != NULL && kept != 1) ok = errbuf_set(err, "--id is about one delivery");
    look->told = xcalloc(kept, sizeof *look->told);
    return ok;
}

/* The channel of a checked name. */
static void channel_of(const char *delivery, char channel[IDENTITY_CHANNEL_BYTES])
{
    const char *end = strchr(strchr(delivery, '/') + 1, '/');
    snprintf(channel, IDENTITY_CHANNEL_BYTES, "%.*s", (int)(end - delivery), delivery);
}

/* Every account of the names is to be walked, for those names. */
static bool ask(struct look *look, struct errbuf *err)
{
    struct reconciler *r = &look->process->reconciler;
    const char *ext_id = look->options->ext_id;
    for (size_t i = 0; i < look->count; i++) {
        char channel[IDENTITY_CHANNEL_BYTES];
        channel_of(look->names[i].delivery, channel);
        struct lane *lane = lane_of(r, channel);
        if (lane == NULL)
            return errbuf_set(err, "channel %s is not configured here: name it in the configuration", channel);
        if (ext_id != NULL && !lookup_given(lane->channel, LOOKUP_BY_ID))
            return errbuf_set(err, "%s: this platform cannot be asked for a post by its id", channel);
        if (lane->asked == NULL) lane->asked = &look->names[i];
        lane->asked_count++;
        lane->asked_id = ext_id;
        lane->wanted = true;
    }
    return true;
}

/* ---- what is said */

static bool is_proven(const struct subject *s, bool settled)
{
    return s->event == EV_FOUND || ((s->event == EV_ABSENT || s->event == EV_GONE) && settled);
}

/* A delivery that no walk has looked up: there is none, or its row cannot be read, or the time was up. */
static void say_unseen(const struct look *look, const char *delivery, const char *state, const char *why)
{
    if (look->options->json)
        plain_json_line(stdout, json_pack("{s:s,s:o,s:s,s:n,s:o}", "line", "reading", "delivery", plain_json(delivery),
                                          "state", state, "evidence", "why", plain_json(why)));
    else
        plain_line(stdout, "%s  %s: %s", delivery, state, why);
}

static void say(const struct look *look, const struct resolved *resolved, bool settled, int64_t settled_at_ms,
                const char *why)
{
    const struct subject *s = resolved->subject;
    const struct delivery_row *row = &s->row;
    const char *state = delivery_state_name(row->state), *reason = delivery_reason_name(row->reason);
    if (!look->options->json) {
        plain_line(stdout, "%s  %s %s -> %s by %s%s%s%s: %s", s->delivery, state, reason, delivery_event_name(s->event),
                   s->how, s->ext_id != NULL ? " " : "", s->ext_id != NULL ? s->ext_id : "",
                   s->duplicate_id != NULL ? " and another post" : "", why);
        return;
    }
    plain_json_line(stdout, json_pack("{s:s,s:s,s:s,s:s,s:I,s:i,s:{s:s,s:s,s:o,s:o,s:o},s:b,s:I,s:I,s:I,s:o}", "line",
                                      "reading", "delivery", s->delivery, "state", state, "reason", reason, "rev",
                                      (json_int_t)row->rev, "attempt", s->attempt, "evidence", "event",
                                      delivery_event_name(s->event), "by", s->how, "ext_id", plain_json(s->ext_id),
                                      "url", plain_json(s->url), "duplicate", plain_json(s->duplicate_id), "settled",
                                      settled, "settled_at_ms", (json_int_t)settled_at_ms, "searched_from_ms",
                                      (json_int_t)resolved->walk->searched_from_ms, "again_ms",
                                      (json_int_t)resolved->walk->outlook.not_before_ms, "why", plain_json(why)));
}

static bool *told_of(struct look *look, const char *delivery)
{
    struct reads_name key = {.delivery = ""};
    snprintf(key.delivery, sizeof key.delivery, "%s", delivery);
    const struct reads_name *found = bsearch(&key, look->names, look->count, sizeof *look->names, by_name);
    return found != NULL ? &look->told[found - look->names] : NULL;
}

static void worse(struct look *look, int code)
{
    static const int rank[] = {[0] = 0, [3] = 1, [5] = 2, [2] = 3, [1] = 4};
    if (rank[code] > rank[look->code]) look->code = code;
}

static void on_resolved(void *context, const struct resolved *resolved)
{
    struct look *look = context;
    const struct walk *w = resolved->walk;
    const struct subject *s = resolved->subject;
    const int64_t settled_at_ms = resolve_settled_at_ms(&s->row, &w->lane->channel->policy, w->no_absence_before_ms);
    const bool settled = w->searched_from_ms >= settled_at_ms;
    /* What it would mean for an uncertain delivery is said in the same words for one in any state. */
    struct resolved as_uncertain = *resolved;
    char why[DRAIN_WHY_BYTES];
    as_uncertain.state = is_proven(s, settled) ? DS_HELD : DS_UNCERTAIN;
    as_uncertain.reason = RS_NONE;
    bool *told = told_of(look, s->delivery);
    if (told != NULL) *told = true;
    if (!is_proven(s, settled)) worse(look, w->out_of_reach ? 2 : 3);
    say(look, resolved, settled, settled_at_ms, drain_why(&as_uncertain, why));
}

static void on_walk(void *context, const struct walk *walk, int64_t next_look_ms)
{
    (void)context;
    (void)next_look_ms;
    walk->lane->wanted = false;
}

/* ---- the end */

static bool goes_on(void *context)
{
    const struct look *look = context;
    const struct reconciler *r = &look->process->reconciler;
    const int64_t timeout_ms = look->options->timeout_ms, now = clock_boottime_ms();
    bool wanted = false;
    if (timeout_ms > 0 && now - look->started_boot_ms >= timeout_ms) return false;
    for (size_t i = 0; i < r->lane_count; i++) {
        struct lane *lane = &r->lanes[i];
        if (lane->ask_boot_ms > now) lane->wanted = false; /* its keys could not be read */
        wanted = wanted || lane->wanted || lane->walking;
    }
    return wanted;
}

/* Those that no walk has told of. */
static bool finish(struct look *look, struct errbuf *err)
{
    const struct reconciler *r = &look->process->reconciler;
    for (size_t i = 0; i < look->count; i++) {
        if (look->told[i]) continue;
        const char *delivery = look->names[i].delivery, *name = delivery;
        char channel[IDENTITY_CHANNEL_BYTES];
        const char *channels = channel;
        struct reads_delivery read;
        channel_of(delivery, channel);
        if (!reads_deliveries(&r->ledger, r->link, &name, &channels, 1, &read, r->config->redis_round_limit_ms, err))
            return false;
        const bool missing = read.readable && read.row.core.state == DS_NONE;
        worse(look, missing ? 5 : read.readable ? 2 : 3);
        say_unseen(look, delivery, read.readable ? delivery_state_name(read.row.core.state) : "unreadable",
                   missing         ? "there is no such delivery"
                   : read.readable ? "not looked up to the end"
                                   : read.error);
        reads_delivery_fini(&read);
    }
    return true;
}

static bool look_all(struct look *look, struct errbuf *err)
{
    struct reads_overview overview;
    struct reconciler *r = &look->process->reconciler;
    look->code = 1;
    if (!read_names(look, err) || !ask(look, err)) return false;
    look->code = 2;
    if (!link_open(r->link, err) || !reconciler_read_time(r, &overview, err)) return false;
    look->code = 0;
    r->draining = r->dry_run = r->keepers.read_only = true;
    r->tell_resolved = on_resolved;
    r->tell_walk = on_walk;
    r->tell_context = look;
    if (process_work(look->process, goes_on, look) && finish(look, err)) return true;
    worse(look, 2);
    if (err->text[0] == '\0') errbuf_set(err, "Redis went away");
    return false;
}

int look_run(struct process *p, const struct look_options *options)
{
    struct errbuf err = {{0}};
    struct look look = {.process = p, .options = options, .started_boot_ms = clock_boottime_ms()};
    if (p->config->log_level == LOG_LEVEL_INFO) log_configure(LOG_LEVEL_WARN, (enum log_format)p->config->log_format);
    if (!look_all(&look, &err)) plain_line(stderr, "landfall-reconciler: %s", err.text);
    if (p->reconciler.exit_code != 0) look.code = p->reconciler.exit_code;
    free(look.names);
    free(look.told);
    return look.code;
}
