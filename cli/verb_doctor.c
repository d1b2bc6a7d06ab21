/* SPDX-License-Identifier: MIT */
/*
 * What is in force, what is wrong with it, and with --repair what can be put right without asking anybody. Without
 * --repair nothing is written.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/config_json.h"
#include "cli/doctor_facts.h"
#include "cli/out.h"
#include "ledger/mend.h"
#include "ledger/setup.h"
#include "runtime/die.h"

struct doctor {
    struct cli *cli;
    struct checks_facts facts;
    struct finding *findings; /* one for each check; those that were not made have no text */
    bool repair;
    struct errbuf not_repaired; /* why --repair did nothing; "" */
    struct mended mended;
};

static void look(struct doctor *d)
{
    d->findings = xcalloc(checks_count, sizeof(*d->findings));
    for (size_t i = 0; i < checks_count; i++)
        if (checks_may_look(&checks_table[i], &d->facts)) checks_table[i].look(&d->facts, &d->findings[i]);
}

static bool was_made(const struct finding *finding)
{
    return finding->what.text[0] != '\0';
}

static enum cli_exit code_of(const struct doctor *d)
{
    static const enum cli_exit codes[] = {[SEVERITY_OK] = EXIT_FINE,
                                          [SEVERITY_NOTE] = EXIT_FINE,
                                          [SEVERITY_RISK] = EXIT_OPEN,
                                          [SEVERITY_UNSAFE] = EXIT_REJECTED};
    enum severity worst = SEVERITY_OK;
    for (size_t i = 0; i < checks_count; i++)
        if (d->findings[i].severity > worst) worst = d->findings[i].severity;
    return d->facts.has_ledger ? codes[worst] : EXIT_AWAY;
}

/* ---- repair */

/* Another environment's ledger is not ours to touch. */
static bool may_repair(struct doctor *d)
{
    if (!d->facts.has_ledger) return errbuf_set(&d->not_repaired, "the ledger could not be read");
    return setup_environment(&d->cli->ledger, d->facts.overview.epoch.environment, &d->not_repaired);
}

/* Counts first: what was counted is true only until the rest is mended. */
static bool repair(struct doctor *d)
{
    struct cli *cli = d->cli;
    const int64_t limit_ms = cli_limit_ms(cli);
    return mend_counts(&cli->ledger, cli->link, &d->facts.survey, &d->mended, limit_ms, &cli->err) &&
           (!d->facts.health.has_queue || d->facts.health.has_group ||
            mend_group(&cli->ledger, cli->link, &d->mended, limit_ms, &cli->err)) &&
           mend_places(&cli->ledger, cli->link, &d->facts.survey, d->facts.overview.now_ms, &d->mended, limit_ms,
                       &cli->err);
}

static json_t *repaired_json(const struct doctor *d)
{
    const struct mended *m = &d->mended;
    json_t *all = json_object();
    if (!d->repair) {
        json_decref(all);
        return json_null();
    }
    out_set(all, "group", json_boolean(m->group));
    out_set(all, "placed", json_integer(m->placed));
    out_set(all, "removed", json_integer(m->removed));
    out_set(all, "channels", json_integer(m->channels));
    out_set(all, "counts", json_integer(m->counts));
    out_set(all, "counts_left_alone", json_boolean(m->counts_left));
    out_set(all, "changed_meanwhile", json_integer(m->left));
    out_set(all, "refused", d->not_repaired.text[0] ? out_string(d->not_repaired.text) : json_null());
    return all;
}

static void print_repaired(const struct doctor *d)
{
    const struct mended *m = &d->mended;
    if (!d->repair) return;
    if (d->not_repaired.text[0]) {
        out_line(stdout, "nothing was repaired: %s", d->not_repaired.text);
        return;
    }
    out_line(stdout, "repaired; states, leases and doubts were not touched:");
    out_line(stdout, "  the queue's group: %s", m->group ? "made" : "nothing to do");
    out_line(stdout, "  deliveries put back on a list, due now: %" PRId64, m->placed);
    out_line(stdout, "  members taken off the agenda: %" PRId64, m->removed);
    out_line(stdout, "  channels put on the agenda: %" PRId64, m->channels);
    out_line(stdout, "  counts set to what was counted: %" PRId64 "%s", m->counts,
             m->counts_left ? " (not compared or changed meanwhile; left alone, try again when it is quieter)" : "");
    if (m->left > 0)
        out_line(stdout, "  left alone, because they changed or are fine by now: %" PRId64 "; run it again", m->left);
}

/* ---- for programs, for people */

static json_t *document(const struct doctor *d, enum cli_exit code)
{
    const struct survey *s = &d->facts.survey;
    json_t *findings = json_array(), *looked = json_object(), *all = json_object();
    for (size_t i = 0; i < checks_count; i++) {
        const struct finding *finding = &d->findings[i];
        json_t *one = json_object();
        if (!was_made(finding)) {
            json_decref(one);
            continue;
        }
        out_set(one, "check", out_string(checks_table[i].name));
        out_set(one, "severity", out_string(severity_name(finding->severity)));
        out_set(one, "what", out_string(finding->what.text));
        out_set(one, "cost", out_string(finding->cost));
        out_set(one, "todo", out_string(finding->todo));
        out_add(findings, one);
    }
    out_set(looked, "keys", json_integer(s->keys));
    out_set(looked, "rows", json_integer(s->rows));
    out_set(looked, "agenda", json_integer(s->agenda));
    out_set(looked, "complete", json_boolean(s->complete && s->agenda_complete));
    out_set(all, "configuration", config_json(d->cli->config, &d->cli->fleet));
    out_set(all, "redis", d->facts.has_ledger ? json_null() : out_string(d->cli->err.text));
    out_set(all, "findings", findings);
    out_set(all, "looked_at", looked);
    out_set(all, "repaired", repaired_json(d));
    out_set(all, "exit", json_integer(code));
    return all;
}

static void print(const struct doctor *d)
{
    config_print(d->cli->config, stdout);
    out_line(stdout, "%s", "");
    if (!d->facts.has_ledger) out_line(stdout, "nothing is concluded about the ledger: %s", d->cli->err.text);
    for (size_t i = 0; i < checks_count; i++) {
        const struct finding *finding = &d->findings[i];
        if (!was_made(finding)) continue;
        out_line(stdout, "%-6s %s: %s", severity_name(finding->severity), checks_table[i].name, finding->what.text);
        if (finding->cost[0]) out_line(stdout, "         what it can cost: %s", finding->cost);
        if (finding->todo[0]) out_line(stdout, "         what to do: %s", finding->todo);
    }
    if (d->facts.has_ledger)
        out_line(stdout, "looked at %" PRId64 " keys, %" PRId64 " rows and %" PRId64 " members of the agenda%s",
                 d->facts.survey.keys, d->facts.survey.rows, d->facts.survey.agenda,
                 d->facts.survey.complete && d->facts.survey.agenda_complete ? "" : ", which are not all");
    print_repaired(d);
}

/* Without cli_connect(): another environment, or a Redis that is away, is a finding here. */
static void connect_and_read(struct doctor *d)
{
    struct cli *cli = d->cli;
    cli->link = setup_link(cli->config, &cli->ledger, cli->name);
    if (link_open(cli->link, &cli->err) && doctor_facts_redis(cli, d->repair, &d->facts)) return;
    errbuf_prefix(&cli->err, "Redis (redis.url, now %s)", cli->config->redis_url);
}

/* What is found is found after the repair. */
static void repair_and_read(struct doctor *d)
{
    const struct checks_facts before = d->facts;
    struct survey survey = before.survey;
    if (!may_repair(d)) return;
    bool ok = repair(d);
    if (!ok) errbuf_prefix(&d->cli->err, "while repairing (what was done stays; run it again)");
    d->facts = (struct checks_facts){.config = before.config, .local = before.local};
    if (ok && !doctor_facts_redis(d->cli, false, &d->facts)) errbuf_prefix(&d->cli->err, "repaired; looking again");
    survey_fini(&survey);
}

enum cli_exit verb_doctor(struct cli *cli)
{
    struct doctor d = {.cli = cli, .repair = options_has(&cli->options, FLAG_REPAIR_ID)};
    if (!cli_load(cli)) return EXIT_USAGE;
    d.facts.config = cli->config;
    doctor_facts_local(cli, &d.facts.local);
    connect_and_read(&d);
    if (d.repair) repair_and_read(&d);
    look(&d);
    enum cli_exit code = code_of(&d);
    if (cli->json) {
        if (!out_json(document(&d, code))) code = EXIT_USAGE;
    } else {
        print(&d);
    }
    if (code == EXIT_AWAY) out_line(stderr, "landfall doctor: %s", cli->err.text);
    survey_fini(&d.facts.survey);
    free(d.findings);
    return code;
}
