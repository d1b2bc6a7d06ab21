/* SPDX-License-Identifier: MIT */
#include "cli/operate.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "cli/batches.h"
#include "cli/next.h"
#include "cli/notes.h"
#include "cli/out.h"
#include "cli/person.h"
#include "cli/reread.h"
#include "runtime/die.h"

#define STALE_MAX 8 /* a row that changes so often under our hands is not ours to decide about now */

/* One delivery on its way. */
struct job {
    const char *name; /* borrowed from the pick */
    char channel[IDENTITY_CHANNEL_BYTES];
    bool done, asked;
    int stale;
    struct reads_delivery read;
    struct act_plan plan;
    struct decide_request request;
};

struct run {
    struct cli *cli;
    const struct operation *operation;
    const struct act *act; /* the operation's, with what --yes says */
    const char *word;      /* in the audit stream */
    struct person person;
    struct reread reread;
    struct pick pick;
    struct ledger_round *round;
    struct job *jobs;
    size_t job_count;
    int64_t count[ACT_ANSWER_COUNT];
    json_t *deliveries, *notes;
};

/* ---- telling */

static void add_next(const struct run *run, const struct job *job, json_t *one)
{
    struct reads_channel *channels = NULL;
    struct cli *cli = run->cli;
    struct errbuf err;
    size_t count = 0;
    if (!reads_channels(&cli->ledger, cli->link, job->channel, &channels, &count, cli_limit_ms(cli), &err)) return;
    const struct channel *configured = channel_find(cli->fleet.channels, job->channel);
    const struct next_facts facts = {.delivery = &job->read,
                                     .policy = configured ? &configured->policy : NULL,
                                     .channel = count > 0 ? &channels[0] : NULL,
                                     .epoch = &cli->overview.epoch,
                                     .now_ms = cli_now_ms(cli)};
    out_set(one, "next", next_explain(&facts));
    reads_channels_free(&channels);
}

static json_t *place_json(enum delivery_state state, enum delivery_reason reason)
{
    json_t *place = json_object();
    out_set(place, "state", out_string(delivery_state_name(state)));
    out_set(place, "reason", out_string(delivery_reason_name(reason)));
    return place;
}

static json_t *job_json(const struct run *run, const struct job *job)
{
    const struct act_plan *plan = &job->plan;
    const struct delivery_row *r = &job->read.row.core;
    bool done = plan->answer == ACT_DONE;
    json_t *one = json_object();
    out_set(one, "delivery", out_string(job->name));
    out_set(one, "answer", out_string(act_answer_name(plan->answer)));
    out_set(one, "from", r->state != DS_NONE ? place_json(r->state, r->reason) : json_null());
    out_set(one, "to", done ? place_json(plan->decision.state, plan->decision.reason) : json_null());
    out_set(one, "text", plan->text.text[0] ? out_string(plan->text.text) : json_null());
    out_set(one, "risk", plan->risk.text[0] ? out_string(plan->risk.text) : json_null());
    out_set(one, "until_ms", out_time(plan->until_ms));
    if (plan->answer == ACT_OPEN) add_next(run, job, one);
    return one;
}

static void print_job(const struct run *run, const struct job *job, const json_t *one)
{
    const struct act_plan *plan = &job->plan;
    const struct delivery_row *r = &job->read.row.core;
    char until[WHEN_TEXT_BYTES];
    if (plan->answer == ACT_DONE)
        out_line(stdout, "done: %s: %s %s -> %s %s%s%s", job->name, delivery_state_name(r->state),
                 delivery_reason_name(r->reason), delivery_state_name(plan->decision.state),
                 delivery_reason_name(plan->decision.reason), plan->text.text[0] ? ": " : "", plan->text.text);
    else
        out_line(stdout, "%s: %s: %s%s%s", act_answer_name(plan->answer), job->name, plan->text.text,
                 plan->until_ms ? ", until " : "",
                 plan->until_ms ? when_text(plan->until_ms, cli_now_ms(run->cli), until) : "");
    if (plan->risk.text[0]) out_line(stdout, "  risk: %s", plan->risk.text);
    const json_t *next = json_object_get(one, "next");
    for (size_t i = 0; i < json_array_size(next); i++)
        out_line(stdout, "  next: %s", json_string_value(json_array_get(next, i)));
}

static void tell(struct run *run, struct job *job)
{
    json_t *one = job_json(run, job);
    run->count[job->plan.answer]++;
    if (!run->cli->json) print_job(run, job, one);
    out_add(run->deliveries, one);
}

/* ---- deciding and writing */

static void finish_job(struct job *job, enum act_answer answer, const char *text)
{
    job->done = true;
    job->plan.answer = answer;
    errbuf_set(&job->plan.text, "%s", text);
}

static void plan_job(const struct run *run, struct job *job)
{
    const struct cli *cli = run->cli;
    struct act_reading reading;
    struct act_facts facts = reread_facts(cli, job->channel, &job->read);
    facts.unread = run->reread.off;
    facts.reading = reread_find(&run->reread, job->name, &reading) ? &reading : NULL;
    if (!job->read.readable) {
        finish_job(job, ACT_REFUSED, job->read.error);
        errbuf_prefix(&job->plan.text, "its row cannot be read");
    } else if (!pick_fits(&run->pick, facts.row)) {
        finish_job(job, ACT_ALREADY, "it has changed meanwhile and was not picked any more");
    } else {
        act_plan(run->act, &facts, &job->plan);
        job->done = job->plan.answer != ACT_DONE;
    }
}

static void ask(struct run *run, struct job *job)
{
    const struct operation *operation = run->operation;
    job->asked = true;
    job->request = (struct decide_request){.base = {.channel = job->channel, .delivery = job->name},
                                           .row = &job->read.row.core,
                                           .decision = &job->plan.decision,
                                           .ext_id = job->plan.ext_id,
                                           .url = job->plan.url,
                                           .duplicate_id = job->plan.duplicate_id,
                                           .detail = operation->detail,
                                           .detail_len = operation->detail ? strlen(operation->detail) : 0,
                                           .act = run->word,
                                           .user = run->person.user,
                                           .host = run->person.host,
                                           .why = run->person.why};
    round_operate(run->round, &job->request);
}

static void take_answer(struct job *job)
{
    const struct decide_request *r = &job->request;
    char text[IDENTITY_NAME_BYTES + 64];
    switch (r->answer) {
    case DECIDE_OK: job->done = true; break;
    case DECIDE_STALE:
        if (++job->stale == STALE_MAX) finish_job(job, ACT_BUSY, "it changes all the time; ask again");
        break;
    case DECIDE_FOREIGN:
        snprintf(text, sizeof(text), "that id belongs to %s", r->other);
        finish_job(job, ACT_REFUSED, text);
        break;
    case DECIDE_NO_CONTENT:
        finish_job(job, ACT_REFUSED, "its content is not kept any more; submit it under another id");
        break;
    case DECIDE_EARLY:
    case DECIDE_ENVIRONMENT:
    case DECIDE_ERROR:
    case DECIDE_ANSWER_COUNT: finish_job(job, ACT_REFUSED, r->base.error); break;
    }
}

static bool read_jobs(struct run *run, struct job *const *open, size_t count)
{
    struct cli *cli = run->cli;
    const char *names[REQUEST_BATCH_MAX], *channels[REQUEST_BATCH_MAX];
    struct reads_delivery *read = xcalloc(count, sizeof(*read));
    for (size_t i = 0; i < count; i++) {
        names[i] = open[i]->name;
        channels[i] = open[i]->channel;
    }
    bool ok = reads_deliveries(&cli->ledger, cli->link, names, channels, count, read, cli_limit_ms(cli), &cli->err);
    for (size_t i = 0; ok && i < count; i++) {
        reads_delivery_fini(&open[i]->read);
        open[i]->read = read[i];
        plan_job(run, open[i]);
    }
    free(read);
    return ok;
}

/* Reads, decides, writes what is open. False: Redis did not answer. An answer that was lost is seen in the row that is
 * read next. */
static bool round_trip(struct run *run, struct job *const *open, size_t count)
{
    struct cli *cli = run->cli;
    if (!cli_keep(cli) || !read_jobs(run, open, count)) return false;
    for (size_t i = 0; i < count; i++)
        if (!open[i]->done) ask(run, open[i]);
    bool ok = round_pending(run->round) == 0 || round_run(run->round, cli->link, cli_limit_ms(cli), &cli->err);
    for (size_t i = 0; i < count; i++) {
        struct job *job = open[i];
        if (!job->asked) continue;
        job->asked = false;
        round_forget(run->round, &job->request.base);
        if (job->request.base.result == REQUEST_ANSWERED)
            take_answer(job);
        else if (job->request.base.result == REQUEST_REFUSED)
            ok =
                errbuf_set(&cli->err, "Redis: %s: %s", job->request.base.error, errors_advice(job->request.base.error));
    }
    return ok;
}

static size_t open_jobs(struct run *run, struct job *open[REQUEST_BATCH_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < run->job_count; i++)
        if (!run->jobs[i].done) open[count++] = &run->jobs[i];
    return count;
}

/* False: the ledger stayed away. */
static bool work_batch(struct run *run)
{
    struct job *open[REQUEST_BATCH_MAX];
    size_t count;
    const int64_t patience_ms = cli_patience_ms(run->cli);
    int64_t give_up_ms = clock_boottime_ms() + patience_ms;
    bool away = false;
    while (!away && (count = open_jobs(run, open)) > 0) {
        if (round_trip(run, open, count)) continue;
        away = link_must_stop(run->cli->link) || clock_boottime_ms() >= give_up_ms;
        if (!away) poll(NULL, 0, CLI_PAUSE_MS);
    }
    for (size_t i = 0; i < run->job_count; i++) {
        if (!run->jobs[i].done) finish_job(&run->jobs[i], ACT_NOT_KNOWN, "Redis did not answer; ask again");
        tell(run, &run->jobs[i]);
        reads_delivery_fini(&run->jobs[i].read);
    }
    return !away;
}

static bool work_all(struct run *run)
{
    bool ok = true;
    for (size_t from = 0; ok && from < run->pick.count; from += run->job_count) {
        size_t left = run->pick.count - from;
        run->job_count = left < REQUEST_BATCH_MAX ? left : REQUEST_BATCH_MAX;
        memset(run->jobs, 0, run->job_count * sizeof(*run->jobs));
        for (size_t i = 0; i < run->job_count; i++) {
            run->jobs[i].name = run->pick.names[from + i];
            batches_channel(run->jobs[i].name, run->jobs[i].channel);
        }
        ok = work_batch(run);
    }
    return ok;
}

/* ---- the end */

static enum cli_exit code_of(const struct run *run)
{
    static const enum cli_exit codes[ACT_ANSWER_COUNT] = {
        [ACT_DONE] = EXIT_FINE,   [ACT_ALREADY] = EXIT_FINE,  [ACT_BUSY] = EXIT_OPEN,
        [ACT_OPEN] = EXIT_OPEN,   [ACT_REFUSED] = EXIT_USAGE, [ACT_MISSING] = EXIT_MISSING,
        [ACT_UNREAD] = EXIT_AWAY, [ACT_NOT_KNOWN] = EXIT_AWAY};
    enum cli_exit code = EXIT_FINE;
    for (int i = 0; i < ACT_ANSWER_COUNT; i++)
        if (run->count[i] > 0) code = cli_worse(code, codes[i]);
    return code;
}

static json_t *groups_json(const struct pick *pick)
{
    const char *group;
    json_t *n, *list = json_array();
    json_object_foreach(pick->groups, group, n)
    {
        const char *state = strchr(group, ' ') + 1, *reason = strchr(state, ' ') + 1;
        json_t *one = json_object();
        out_set(one, "channel", out_bytes(group, (size_t)(state - 1 - group)));
        out_set(one, "state", out_bytes(state, (size_t)(reason - 1 - state)));
        out_set(one, "reason", out_string(reason));
        out_set(one, "n", json_incref(n));
        out_add(list, one);
    }
    return list;
}

static json_t *document(const struct run *run, bool acted)
{
    json_t *all = json_object();
    out_set(all, "act", out_string(run->operation->word));
    out_set(all, "acted", json_boolean(acted));
    out_set(all, "picked", json_integer((json_int_t)run->pick.count));
    if (run->pick.bulk) out_set(all, "groups", groups_json(&run->pick));
    for (int i = 0; i < ACT_ANSWER_COUNT; i++)
        out_set(all, i == ACT_NOT_KNOWN ? "not_known" : act_answer_name((enum act_answer)i),
                json_integer(run->count[i]));
    out_set(all, "deliveries", json_incref(run->deliveries));
    out_set(all, "notes", json_incref(run->notes));
    return all;
}

static void print_groups(const struct run *run)
{
    const char *group;
    json_t *n;
    out_line(stdout, "%zu deliver%s to %s%s", run->pick.count, run->pick.count == 1 ? "y" : "ies", run->operation->word,
             run->pick.count > 0 ? ":" : "; nothing to do");
    json_object_foreach(run->pick.groups, group, n)
    {
        out_line(stdout, "%6" JSON_INTEGER_FORMAT " %s", json_integer_value(n), group);
    }
}

static void print_counts(const struct run *run)
{
    struct buf text;
    buf_init(&text, 1000);
    for (int i = 0; i < ACT_ANSWER_COUNT; i++)
        if (run->count[i] > 0)
            buf_append_format(&text, "%s%" PRId64 " %s", text.len ? ", " : "", run->count[i],
                              act_answer_name((enum act_answer)i));
    if (run->pick.count > 1) out_line(stdout, "%s", buf_text(&text));
    buf_fini(&text);
    notes_print(run->notes);
}

static enum cli_exit end(struct run *run, bool acted, enum cli_exit code)
{
    struct notes_processes processes = {0};
    if (run->operation->resends && run->count[ACT_DONE] > 0 && notes_processes(run->cli, &processes))
        notes_add_missing(run->cli, &processes, run->notes);
    notes_processes_fini(&processes);
    if (run->cli->json) return out_json(document(run, acted)) ? code : EXIT_USAGE;
    if (acted)
        print_counts(run);
    else if (run->pick.count > 0) {
        notes_print(run->notes);
        out_line(stdout, "nothing was done: say --yes to do it");
    }
    return code;
}

/* Before --yes is said: on which channels it may make a second post that nobody can exclude. */
static void warn(struct run *run)
{
    const char *group;
    json_t *n;
    json_object_foreach(run->pick.groups, group, n)
    {
        char channel[IDENTITY_CHANNEL_BYTES];
        snprintf(channel, sizeof(channel), "%.*s", (int)strcspn(group, " "), group);
        const struct channel *configured = channel_find(run->cli->fleet.channels, channel);
        if (configured && (configured->policy.can_read || configured->policy.harmless)) continue;
        out_add_format(run->notes,
                       "%s cannot be read%s: where an attempt may have been executed, a second post is possible", group,
                       configured ? "" : " from here, where it is not configured");
    }
}

static enum cli_exit act_on_picked(struct run *run)
{
    const bool yes = options_has(&run->cli->options, FLAG_YES_ID);
    if (run->pick.bulk && !run->cli->json) print_groups(run);
    if (run->pick.bulk && !yes) {
        if (run->operation->resends) warn(run);
        return end(run, false, run->pick.count > 0 ? EXIT_USAGE : EXIT_FINE);
    }
    if (!reread_read(run->cli, run->act, &run->pick, &run->reread)) return cli_fail(run->cli, EXIT_AWAY);
    run->round = round_new(&run->cli->ledger);
    run->jobs = xcalloc(REQUEST_BATCH_MAX, sizeof(*run->jobs));
    bool ok = work_all(run);
    enum cli_exit code = end(run, true, code_of(run));
    if (!ok && !run->cli->json) (void)cli_fail(run->cli, EXIT_AWAY);
    free(run->jobs);
    round_free(&run->round);
    return code;
}

static enum cli_exit operate_picked(struct cli *cli, struct run *run)
{
    const struct operation *operation = run->operation;
    if (!cli_load(cli)) return EXIT_USAGE;
    if (!pick_arguments(cli, operation->states, operation->reason, &run->pick, &cli->err))
        return cli_fail(cli, EXIT_USAGE);
    enum cli_exit code = cli_connect(cli);
    if (code == EXIT_FINE) code = pick_read(cli, &run->pick) ? act_on_picked(run) : cli_fail(cli, EXIT_AWAY);
    return code;
}

enum cli_exit operate(struct cli *cli, const struct operation *operation)
{
    const bool unread = operation->reads && options_has(&cli->options, FLAG_WITHOUT_READING_ID);
    struct act act = operation->act;
    char word[64];
    act.consents = unread || options_has(&cli->options, FLAG_YES_ID);
    snprintf(word, sizeof(word), "%s%s", operation->word, unread ? " --without-reading" : "");
    struct run run = {.cli = cli, .operation = operation, .act = &act, .word = word};
    if (!person_read(&cli->options, &run.person, &cli->err) ||
        !reread_open(cli, operation->reads && !unread, act.ext_id, &run.reread))
        return cli_fail(cli, EXIT_USAGE);
    run.deliveries = json_array();
    run.notes = json_array();
    const enum cli_exit code = operate_picked(cli, &run);
    reread_close(&run.reread);
    json_decref(run.deliveries);
    json_decref(run.notes);
    pick_fini(&run.pick);
    return code;
}
