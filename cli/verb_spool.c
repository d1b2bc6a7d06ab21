/* SPDX-License-Identifier: MIT */
/*
 * What workers have written down because Redis did not take it: which files there are, whose, what is in them; and with
 * --replay, settle those whose owners are gone, exactly as a worker would. Without --replay Redis is not asked.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/out.h"
#include "ledger/spool_replay.h"

struct spool_view {
    struct cli *cli;
    const char *folder;
    json_t *files, *deliveries;
    enum cli_exit code;
    bool away; /* Redis has gone */
};

static const char *const end_names[] = {
    [SPOOL_END_REMOVED] = "removed", [SPOOL_END_ASIDE] = "put_aside", [SPOOL_END_LEFT] = "left",
    [SPOOL_END_ALIVE] = "alive",     [SPOOL_END_GONE] = "gone",       [SPOOL_END_OTHERS] = "other_ledger",
    [SPOOL_END_FAILED] = "failed",
};

static const char *const result_names[] = {
    [SPOOL_SETTLED] = "settled", [SPOOL_ALREADY] = "already", [SPOOL_NOTHING] = "nothing", [SPOOL_LEFT] = "left"};

static void note(struct spool_view *v, enum cli_exit code)
{
    v->code = cli_worse(v->code, code);
}

/* ---- what is there */

static bool is_alive(const char *folder, const char *name, struct errbuf *err)
{
    struct spool_file *file = NULL;
    enum spool_file_taken taken = spool_file_take(folder, name, &file, err);
    if (taken == SPOOL_FILE_TAKEN) spool_file_leave(&file);
    return taken == SPOOL_FILE_ALIVE;
}

static int64_t oldest(const struct spool_content *content)
{
    int64_t oldest_ms = 0;
    for (size_t i = 0; i < content->count; i++) {
        int64_t ms = content->reports[i]->kept_at_ms;
        if (oldest_ms == 0 || (ms > 0 && ms < oldest_ms)) oldest_ms = ms;
    }
    return oldest_ms;
}

static void print_file(const struct spool_view *v, const char *name, bool alive, const struct spool_content *content)
{
    char text[WHEN_TEXT_BYTES] = "-";
    const char *whose = content->stamp != NULL ? content->stamp->stamp.environment : "-";
    if (v->cli->json) return;
    if (content->count > 0) when_text(oldest(content), clock_wall_ms(), text);
    out_line(stdout, "%-40s %-10s %-12s %8zu   %s", name,
             spool_name_is_aside(name) ? "put aside"
             : alive                   ? "alive"
                                       : "gone",
             whose, content->count, text);
    if (content->unreadable > 0)
        out_line(stdout, "    %zu lines cannot be read; the first is line %zu: %s", content->unreadable,
                 content->first_bad_line, content->why.text);
    if (content->torn_bytes > 0 && !alive)
        out_line(stdout, "    the last %zu bytes were not written whole and count for nothing", content->torn_bytes);
}

static void list_file(struct spool_view *v, const char *name)
{
    struct spool_content content;
    struct errbuf *err = &v->cli->err;
    bool aside = spool_name_is_aside(name);
    bool alive = !aside && is_alive(v->folder, name, err);
    if (!spool_file_read(v->folder, name, &content, err)) {
        note(v, cli_fail(v->cli, EXIT_USAGE));
        return;
    }
    json_t *one = json_object();
    out_set(one, "file", out_string(name));
    out_set(one, "alive", json_boolean(alive));
    out_set(one, "put_aside", json_boolean(aside));
    out_set(one, "environment", content.stamp != NULL ? out_string(content.stamp->stamp.environment) : json_null());
    out_set(one, "worker", content.stamp != NULL ? out_string(content.stamp->stamp.worker) : json_null());
    out_set(one, "outcomes", json_integer((json_int_t)content.count));
    out_set(one, "oldest_kept_at_ms", out_time(oldest(&content)));
    out_set(one, "lines", json_integer((json_int_t)content.lines));
    out_set(one, "unreadable", json_integer((json_int_t)content.unreadable));
    out_set(one, "first_unreadable_line", json_integer((json_int_t)content.first_bad_line));
    out_set(one, "why", content.unreadable > 0 ? out_string(content.why.text) : json_null());
    out_set(one, "torn_bytes", json_integer((json_int_t)content.torn_bytes));
    out_add(v->files, one);
    print_file(v, name, alive, &content);
    if (aside || content.count > 0 || content.unreadable > 0) note(v, EXIT_OPEN);
    spool_content_fini(&content);
}

/* ---- settling it */

static const struct delivery_policy *policy_of(void *context, const char *channel)
{
    const struct spool_view *v = context;
    const struct channel *found = channel_find(v->cli->fleet.channels, channel);
    return found != NULL ? &found->policy : NULL;
}

static void note_state(struct spool_view *v, enum delivery_state state)
{
    if (state == DS_REJECTED)
        note(v, EXIT_REJECTED);
    else if (state != DS_PUBLISHED)
        note(v, EXIT_OPEN);
}

static void told(void *context, const struct spool_told *t)
{
    struct spool_view *v = context;
    const struct attempt_report *r = t->report;
    bool stands = t->result == SPOOL_SETTLED || t->result == SPOOL_ALREADY;
    json_t *one = json_object();
    out_set(one, "delivery", out_string(r->delivery));
    out_set(one, "attempt", json_integer(r->input.attempt));
    out_set(one, "event", out_string(delivery_event_name(r->input.event)));
    out_set(one, "result", out_string(result_names[t->result]));
    out_set(one, "state", stands ? out_string(delivery_state_name(t->state)) : json_null());
    out_set(one, "reason", stands ? out_string(delivery_reason_name(t->reason)) : json_null());
    out_set(one, "why", out_string(t->why));
    out_set(one, "file", out_string(t->file));
    out_add(v->deliveries, one);
    if (stands)
        note_state(v, t->state);
    else if (t->result == SPOOL_LEFT)
        note(v, EXIT_OPEN);
    if (!v->cli->json)
        out_line(stdout, "%s: attempt %d %s; %s%s%s", r->delivery, r->input.attempt,
                 delivery_event_name(r->input.event), result_names[t->result], stands ? ", it is " : "",
                 stands                    ? delivery_state_name(t->state)
                 : t->result == SPOOL_LEFT ? t->why
                                           : "");
}

static void replay_file(struct spool_view *v, struct spool_replay *replay, const char *name)
{
    struct spool_replayed out;
    enum spool_end end = spool_replay_file(replay, name, &out, &v->cli->err);
    json_t *one = json_object();
    out_set(one, "file", out_string(name));
    out_set(one, "end", out_string(end_names[end]));
    out_set(one, "settled", json_integer((json_int_t)out.settled));
    out_set(one, "left", json_integer((json_int_t)out.left));
    out_set(one, "unreadable", json_integer((json_int_t)out.unreadable));
    out_set(one, "first_unreadable_line", json_integer((json_int_t)out.first_bad_line));
    out_set(one, "why",
            end == SPOOL_END_FAILED ? out_string(v->cli->err.text)
            : out.unreadable > 0    ? out_string(out.why.text)
                                    : json_null());
    out_add(v->files, one);
    v->away = !link_is_open(v->cli->link);
    if (end == SPOOL_END_FAILED) note(v, v->away ? EXIT_AWAY : EXIT_USAGE);
    if (end == SPOOL_END_ASIDE || end == SPOOL_END_LEFT) note(v, EXIT_OPEN);
    if (v->cli->json) return;
    out_line(stdout, "%s: %s, %zu settled, %zu left%s%s", name, end_names[end], out.settled, out.left,
             end == SPOOL_END_FAILED ? ": " : "", end == SPOOL_END_FAILED ? v->cli->err.text : "");
    if (out.unreadable > 0)
        out_line(stdout, "    %zu lines cannot be read; the first is line %zu: %s", out.unreadable, out.first_bad_line,
                 out.why.text);
}

static void replay_all(struct spool_view *v, const struct spool_names *names)
{
    struct cli *cli = v->cli;
    struct spool_replay replay = {
        .ledger = &cli->ledger,
        .link = cli->link,
        .limit_ms = cli_limit_ms(cli),
        .folder = v->folder,
        .prefix = cli->config->redis_prefix,
        .partition = cli->config->partition,
        .policy_of = policy_of,
        .told = told,
        .context = v,
    };
    for (size_t i = 0; i < names->count && !v->away; i++)
        if (!spool_name_is_aside(names->name[i])) replay_file(v, &replay, names->name[i]);
}

/* ---- the verb */

static enum cli_exit finish(struct spool_view *v)
{
    if (!v->cli->json) {
        if (json_array_size(v->files) == 0) out_line(stdout, "nothing in %s", v->folder);
        return v->code;
    }
    json_t *all = json_object();
    out_set(all, "folder", out_string(v->folder));
    out_set(all, "files", json_incref(v->files));
    out_set(all, "deliveries", json_incref(v->deliveries));
    return out_json(all) ? v->code : EXIT_USAGE;
}

static enum cli_exit look(struct spool_view *v, bool replays)
{
    struct spool_names names;
    if (v->folder[0] == '\0') {
        v->folder = "no folder: worker.spool_dir is empty, outcomes are kept in memory only";
        return finish(v);
    }
    if (!spool_names(v->folder, &names, &v->cli->err)) return cli_fail(v->cli, EXIT_USAGE);
    if (replays)
        replay_all(v, &names);
    else if (names.count > 0 && !v->cli->json)
        out_line(stdout, "%-40s %-10s %-12s %8s   %s", "file", "owner", "environment", "outcomes", "oldest");
    for (size_t i = 0; i < names.count && !replays; i++)
        list_file(v, names.name[i]);
    spool_names_fini(&names);
    return finish(v);
}

enum cli_exit verb_spool(struct cli *cli)
{
    struct spool_view v = {.cli = cli, .code = EXIT_FINE};
    bool replays = options_has(&cli->options, FLAG_REPLAY_ID);
    if (!cli_load(cli)) return EXIT_USAGE;
    v.folder = cli->config->worker_spool_dir;
    enum cli_exit code = replays ? cli_connect(cli) : EXIT_FINE;
    if (code != EXIT_FINE) return code;
    v.files = json_array();
    v.deliveries = json_array();
    code = look(&v, replays);
    json_decref(v.files);
    json_decref(v.deliveries);
    return code;
}
