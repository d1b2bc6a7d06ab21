/* SPDX-License-Identifier: MIT */
#include "reconciler/drain.h"

#include <stdlib.h>
#include <string.h>

#include "platforms/channel.h"
#include "reconciler/drain_say.h"
#include "runtime/clock.h"
#include "runtime/log.h"
#include "runtime/plain.h"

#define DRAIN_BUSY_MS 60000 /* without --wait: so long for an account that somebody else walks */

struct drain {
    struct process *process;
    const struct drain_options *options;
    struct drain_list list;
    struct drain_voice voice;
    int64_t started_boot_ms;
    bool out_of_reach; /* Redis, or a platform whose deliveries stay uncertain because of it */
    bool timed_out;
};

static bool is_selected(const struct drain_options *options, const char *channel)
{
    for (size_t i = 0; i < options->channel_count; i++)
        if (strcmp(options->channels[i], channel) == 0) return true;
    return options->channel_count == 0;
}

static bool check_channels(struct reconciler *r, const struct drain_options *options)
{
    for (size_t i = 0; i < options->channel_count; i++) {
        if (lane_of(r, options->channels[i]) != NULL) continue;
        plain_line(stderr, "landfall-reconciler: channel %s is not configured here: name it in the configuration",
                   options->channels[i]);
        return false;
    }
    return true;
}

/* ---- what there is ---- */

static bool list_channel(struct drain *d, const struct reads_channel *channel, struct errbuf *err)
{
    struct reconciler *r = &d->process->reconciler;
    struct lane *lane = lane_of(r, channel->channel);
    if (lane == NULL) {
        drain_list_stranger(&d->list, channel->channel, channel->uncertain);
        return true;
    }
    lane->wanted = !drain_list_is_filtered(&d->list);
    return drain_list_read(&d->list, r, channel->channel, err);
}

static struct drain_filter make_filter(const struct drain_options *o, int64_t now_ms)
{
    return (struct drain_filter){
        .since_ms = o->since.span ? now_ms - o->since.ms : o->since.ms,
        .until_ms = o->older_than_ms > 0 ? now_ms - o->older_than_ms : 0,
        .limit = o->limit,
    };
}

static bool list_all(struct drain *d, struct errbuf *err)
{
    struct reconciler *r = &d->process->reconciler;
    struct reads_channel *channels = NULL;
    struct reads_overview overview;
    size_t count = 0;
    bool ok = link_open(r->link, err) && reconciler_read_time(r, &overview, err);
    if (ok) d->list.filter = make_filter(d->options, overview.now_ms);
    ok = ok && reads_channels(&r->ledger, r->link, NULL, &channels, &count, r->config->redis_round_limit_ms, err);
    for (size_t i = 0; ok && i < count; i++)
        if (channels[i].uncertain > 0 && is_selected(d->options, channels[i].channel))
            ok = list_channel(d, &channels[i], err);
    reads_channels_free(&channels);
    ok = ok && drain_list_complete(&d->list, r, overview.epoch.no_absence_before_ms, err);
    for (size_t i = 0; ok && i < d->list.count; i++)
        lane_of(r, d->list.items[i].channel)->wanted = true;
    return ok;
}

/* ---- what happens ---- */

static bool picks(void *context, const char *delivery)
{
    const struct drain *d = context;
    return drain_list_picks(&d->list, delivery);
}

static void on_resolved(void *context, const struct resolved *resolved)
{
    struct drain *d = context;
    char why[DRAIN_WHY_BYTES];
    const char *words = drain_why(resolved, why);
    const bool again = resolved->state == DS_UNCERTAIN && d->options->wait;
    drain_list_note(&d->list, resolved, words, !again);
    if (!again) drain_say_delivery(&d->voice, resolved, words, reconciler_now_ms(&d->process->reconciler));
}

static void on_walk(void *context, const struct walk *walk, int64_t next_look_ms)
{
    struct drain *d = context;
    const struct reconciler *r = &d->process->reconciler;
    const int64_t now = clock_boottime_ms();
    const int64_t wait_ms = next_look_ms - reconciler_now_ms(r);
    struct lane *lane = walk->lane;
    drain_list_reach(&d->list, lane->channel->name, walk->out_of_reach);
    lane->wanted = !r->stopping && (walk->more || (d->options->wait && walk->left > 0));
    lane->wanted_boot_ms = walk->more || wait_ms < 0 ? now : now + wait_ms;
    if (lane->wanted && !walk->more) drain_say_waits(&d->voice, walk, wait_ms);
}

static bool is_done(struct drain *d)
{
    const struct reconciler *r = &d->process->reconciler;
    const int64_t now = clock_boottime_ms();
    bool wanted = false;
    for (size_t i = 0; i < r->lane_count; i++) {
        struct lane *lane = &r->lanes[i];
        const bool busy = lane->wanted && !lane->walking && lane->ask_boot_ms > now;
        if (busy && !d->options->wait && now - d->started_boot_ms > DRAIN_BUSY_MS) {
            lane->wanted = false;
            drain_say_busy(&d->voice, lane->channel->name);
        }
        wanted = wanted || lane->wanted || lane->walking;
    }
    return !wanted;
}

static void say_progress(struct drain *d)
{
    const struct reconciler *r = &d->process->reconciler;
    struct drain_progress progress = {.done = d->list.told, .total = d->list.count};
    for (size_t i = 0; i < RECONCILER_WALKS_MAX && progress.channel == NULL; i++) {
        const struct walk *w = &r->walks[i];
        if (w->phase == WALK_FREE || w->search == NULL) continue;
        progress.channel = w->lane->channel->name;
        progress.pages = search_result(w->search)->pages;
    }
    drain_say_progress(&d->voice, &progress, clock_boottime_ms());
}

static bool goes_on(void *context)
{
    struct drain *d = context;
    const int64_t timeout_ms = d->options->timeout_ms;
    say_progress(d);
    d->timed_out = timeout_ms > 0 && clock_boottime_ms() - d->started_boot_ms >= timeout_ms;
    return !d->timed_out && !is_done(d);
}

/* ---- the end ---- */

static int exit_code(const struct drain *d)
{
    const struct reconciler *r = &d->process->reconciler;
    const struct drain_list *list = &d->list;
    if (r->exit_code != 0) return r->exit_code;
    if (d->out_of_reach || drain_list_unreached(list)) return 2;
    if (list->after[DS_REJECTED] > 0) return 4;
    return list->after[DS_UNCERTAIN] + list->after[DS_HELD] + list->strangers > 0 ? 3 : 0;
}

static void say_other(void *context, const struct drain_item *item)
{
    struct drain *d = context;
    drain_say_other(&d->voice, item);
}

int drain_run(struct process *p, const struct drain_options *options)
{
    struct errbuf err = {{0}};
    struct reconciler *r = &p->reconciler;
    struct drain d = {.process = p, .options = options, .started_boot_ms = clock_boottime_ms()};
    int code = 1;
    /* It says itself what happens; the log is for what goes wrong, unless somebody looks for more. */
    if (p->config->log_level == LOG_LEVEL_INFO) log_configure(LOG_LEVEL_WARN, (enum log_format)p->config->log_format);
    drain_list_init(&d.list, &(struct drain_filter){0});
    d.voice = (struct drain_voice){.json = options->json, .dry_run = options->dry_run};
    drain_bar_init(&d.voice.bar, d.started_boot_ms);
    if (!check_channels(r, options)) goto out;
    if (!list_all(&d, &err)) {
        plain_line(stderr, "landfall-reconciler: nothing was done: %s", err.text);
        code = r->exit_code != 0 ? r->exit_code : 2;
        goto out;
    }
    drain_say_plan(&d.voice, &d.list, reconciler_now_ms(r));
    r->draining = true;
    r->dry_run = r->keepers.read_only = options->dry_run;
    r->picks = picks;
    r->tell_resolved = on_resolved;
    r->tell_walk = on_walk;
    r->tell_context = &d;
    d.out_of_reach = !process_work(p, goes_on, &d);
    if (!link_is_open(r->link) || !drain_list_finish(&d.list, r, say_other, &d, &err)) d.out_of_reach = true;
    code = exit_code(&d);
    drain_say_summary(&d.voice, &d.list, d.timed_out, clock_boottime_ms() - d.started_boot_ms, code);
out:
    drain_list_fini(&d.list);
    return code;
}
