/* SPDX-License-Identifier: MIT */
/*
 * Another number of partitions. Looks whether the fleet is at rest, lets no process start, copies, waits, looks again,
 * and only then takes away what was copied: ledger/partitions.h has the steps. It may be killed at any point.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/out.h"
#include "cli/person.h"
#include "ledger/partitions.h"
#include "runtime/crash.h"

/* Between the copy and the end of the original: an append-only file that is written every second has the copy then, and
 * a process that had looked at the epoch before it was marked has shown its heartbeat. */
#define SETTLE_MS 2000

static const char *const crash_points[] = {"after_partitions_mark",
                                           "after_partitions_copy_batch",
                                           "after_partitions_copy",
                                           "after_partitions_drop_batch",
                                           "after_partitions_drop",
                                           "after_partitions_finish",
                                           NULL};

struct change {
    struct cli *cli;
    struct person person;
    struct partitions all;
    struct errbuf not_at_rest; /* "": it is */
    bool acted;
};

/* ---- telling */

static bool tell(const struct change *c)
{
    const struct partitions *all = &c->all;
    if (c->cli->json) {
        json_t *document = json_object();
        out_set(document, "acted", json_boolean(c->acted));
        out_set(document, "from", json_integer(all->from));
        out_set(document, "to", json_integer(all->to));
        out_set(document, "deliveries", json_integer(all->rows));
        out_set(document, "keys", json_integer(all->keys));
        out_set(document, "not_at_rest", c->not_at_rest.text[0] ? out_string(c->not_at_rest.text) : json_null());
        return out_json(document);
    }
    if (c->not_at_rest.text[0]) {
        out_line(stdout, "nothing was moved: the fleet is not at rest: %s", c->not_at_rest.text);
        return true;
    }
    out_line(stdout,
             "%" PRId64 " deliveries (%" PRId64 " keys) %s to another partition: %" PRId64
             " partitions become %" PRId64,
             all->rows, all->keys, c->acted ? "went" : "go", all->from, all->to);
    if (c->acted)
        out_line(stdout,
                 "set partitions to %" PRId64 " in every configuration, then start a worker and a reconciler for each",
                 all->to);
    return true;
}

/* ---- doing */

/* False with cli->err filled: Redis is away. */
static bool act(struct change *c)
{
    struct partitions *all = &c->all;
    struct errbuf *err = &c->cli->err;
    const bool fresh = all->stage == PARTITIONS_UNTOUCHED;
    bool rest = false;
    if (all->stage == PARTITIONS_FINISHING) {
        c->acted = true;
        return partitions_finish(all, err);
    }
    if (!partitions_mark(all, err)) return false;
    if (!partitions_at_rest(all, &rest, &c->not_at_rest, err)) return false;
    if (!rest) return !fresh || partitions_unmark(all, err);
    if (!partitions_audit(all, c->person.user, c->person.host, c->person.why, err)) return false;
    if (!partitions_copy(all, err)) return false;
    poll(NULL, 0, SETTLE_MS);
    if (!partitions_at_rest(all, &rest, &c->not_at_rest, err)) return false;
    if (!rest) return true;
    c->acted = true;
    return partitions_drop(all, err) && partitions_finish(all, err);
}

static bool look(struct change *c)
{
    bool rest;
    return partitions_at_rest(&c->all, &rest, &c->not_at_rest, &c->cli->err);
}

static bool read_arguments(struct change *c, int64_t *to)
{
    struct cli *cli = c->cli;
    const struct options *options = &cli->options;
    char *end;
    const char *number = options->operand[0];
    *to = strtoll(number, &end, 10);
    if (*end != '\0' || number[0] < '1' || number[0] > '9' || *to > PARTITIONS_MAX)
        return errbuf_set(&cli->err, "%.40s: the number of partitions is 1 to %d", number, PARTITIONS_MAX);
    if (options_has(options, FLAG_YES_ID) && options_has(options, FLAG_DRY_RUN_ID))
        return errbuf_set(&cli->err, "--dry-run or --yes, one of the two");
    return !options_has(options, FLAG_YES_ID) || person_read(options, &c->person, &cli->err);
}

static enum cli_exit run(struct change *c)
{
    struct cli *cli = c->cli;
    const bool wanted = options_has(&cli->options, FLAG_YES_ID);
    if (c->all.stage != PARTITIONS_DONE && !(wanted ? act(c) : look(c))) return cli_fail(cli, EXIT_AWAY);
    if (!tell(c)) return EXIT_USAGE;
    if (c->not_at_rest.text[0]) return EXIT_OPEN;
    if (wanted || c->all.stage == PARTITIONS_DONE || options_has(&cli->options, FLAG_DRY_RUN_ID)) return EXIT_FINE;
    if (!cli->json) out_line(stdout, "nothing was done: say --yes to do it");
    return EXIT_USAGE;
}

enum cli_exit verb_partitions(struct cli *cli)
{
    struct change c = {.cli = cli};
    int64_t to;
    bool mixed;
    if (!read_arguments(&c, &to)) return cli_fail(cli, EXIT_USAGE);
    if (!cli_load(cli)) return EXIT_USAGE;
    if (!crash_configure(cli->config->environment, crash_points, &cli->err)) return cli_fail(cli, EXIT_USAGE);
    if (to == cli->config->partitions || cli->config->partitions > PARTITIONS_MAX) {
        errbuf_set(&cli->err,
                   "the configuration says %" PRId64 " partitions: run it with the number that the fleet has "
                   "now, which is to be another one, and %d at most",
                   cli->config->partitions, PARTITIONS_MAX);
        return cli_fail(cli, EXIT_USAGE);
    }
    enum cli_exit code;
    if (partitions_open(&c.all, cli->config, &cli->ledger, cli->name, to, &mixed, &cli->err))
        code = run(&c);
    else
        code = cli_fail(cli, mixed ? EXIT_USAGE : EXIT_AWAY);
    partitions_close(&c.all);
    return code;
}
