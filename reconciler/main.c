/* SPDX-License-Identifier: MIT */
/*
 * landfall-reconciler: the program. What it is told, and the loop.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reconciler/drain.h"
#include "reconciler/process.h"
#include "runtime/die.h"
#include "runtime/log.h"

static const char help[] =
    "Usage: landfall-reconciler run [--config FILE]\n"
    "       landfall-reconciler drain [--channel CHANNEL]... [--since TIME|DURATION] [--older-than DURATION]\n"
    "                                 [--limit N] [--dry-run | --wait] [--timeout SECONDS] [--json] [--config FILE]\n"
    "\n"
    "Reads platforms back where the outcome of a delivery is unknown, and settles it. It never publishes.\n"
    "\n"
    "  run                    works the journal until it is stopped\n"
    "  drain                  settles what can be settled now, says what became of each delivery, ends\n"
    "  --channel CHANNEL      drain: only this one; may be given several times\n"
    "  --since TIME|DURATION  drain: only what became uncertain since (2026-09-01T09:00:00Z) or in the last 2h30m\n"
    "  --older-than DURATION  drain: only what has been uncertain for so long (15m)\n"
    "  --limit N              drain: at most so many deliveries, those that are uncertain for longest\n"
    "  --dry-run              drain: reads, says what would become of each delivery and why, changes nothing\n"
    "  --wait                 drain: goes on until nothing is uncertain any more\n"
    "  --timeout SECONDS      drain: ends after so long, whatever is left\n"
    "  --json                 drain: one JSON object a line (plan, delivery, progress, wait, busy, summary)\n"
    "  --config FILE          the configuration (else $LANDFALL_CONFIG, ./landfall.json, /etc/landfall/landfall.json)\n"
    "  --check                reads configuration, channels and credentials, asks Redis, says what is wrong, ends\n"
    "  --check=live           asks the reconciler that runs here whether its loop moves; for health checks\n"
    "  --check=ready          asks it whether it can work: channels, a Redis that takes writes\n"
    "  --version              this program's version\n"
    "\n"
    "Signals: TERM and INT end it after the current step, a second one at once; HUP reads credentials again.\n"
    "Exit: 0 all is settled or back with the workers, 1 usage or configuration, 2 Redis or a platform out of reach,\n"
    "3 something is uncertain or held, 4 something was rejected; a dry run ends as the drain would. Example:\n"
    "  landfall-reconciler drain --channel news/brand --dry-run\n"
    "  landfall-reconciler drain --channel news/brand --wait --timeout 300\n";

#define TIMEOUT_MAX_S 604800
#define LIMIT_MAX     1000000000

struct options {
    const char *config_path;
    bool run, check;
    const char *ask; /* "live", "ready": the reconciler that runs here */
    bool for_drain;  /* some option that only drain takes */
    struct drain_options drain;
    const char **channels; /* owned */
};

static int usage(const char *what)
{
    fprintf(stderr, "landfall-reconciler: %s; landfall-reconciler --help says what it takes\n", what);
    return 1;
}

static bool read_number(const char *text, long max, long *out)
{
    char *rest = NULL;
    *out = strtol(text, &rest, 10);
    return rest != text && *rest == '\0' && *out >= 1 && *out <= max;
}

static void add_channel(struct options *o, const char *name)
{
    o->channels = xrealloc_array(o->channels, o->drain.channel_count + 1, sizeof *o->channels);
    o->channels[o->drain.channel_count++] = name;
    o->drain.channels = o->channels;
}

/* What only drain takes. NULL: good; else what is wrong. */
static const char *read_drain_option(int option, const char *value, struct options *o)
{
    struct drain_options *d = &o->drain;
    struct when span = {0};
    long number = 0;
    o->for_drain = true;
    switch (option) {
    case 'n': add_channel(o, value); break;
    case 's':
        if (!when_read(value, &d->since) || d->since.ms <= 0)
            return "--since takes a time (2026-09-01T09:00:00Z) or a duration (90s, 15m, 2h30m, 7d)";
        break;
    case 'o':
        if (!when_read(value, &span) || !span.span || span.ms == 0)
            return "--older-than takes a duration (90s, 15m, 2h30m, 7d)";
        d->older_than_ms = span.ms;
        break;
    case 'l':
        if (!read_number(value, LIMIT_MAX, &number)) return "--limit takes a whole number above 0";
        d->limit = (size_t)number;
        break;
    case 't':
        if (!read_number(value, TIMEOUT_MAX_S, &number)) return "--timeout takes whole seconds, 1 to 604800";
        d->timeout_ms = number * 1000;
        break;
    case 'd': d->dry_run = true; break;
    case 'w': d->wait = true; break;
    case 'j': d->json = true; break;
    default: return "unknown option";
    }
    return d->dry_run && d->wait ? "--dry-run looks once and cannot --wait" : NULL;
}

/* -1: go on; else the exit code. */
static int read_command(int argc, char **argv, struct options *o)
{
    if (optind + 1 < argc) return usage("one command: run or drain");
    if (optind == argc) return o->check ? -1 : usage("the command is missing: run or drain");
    o->run = strcmp(argv[optind], "run") == 0;
    if (!o->run && strcmp(argv[optind], "drain") != 0) return usage("unknown command");
    return o->run && o->for_drain ? usage("all but --config and --check belong to drain") : -1;
}

static int read_options(int argc, char **argv, struct options *o)
{
    static const struct option table[] = {
        {"config", required_argument, NULL, 'c'},
        {"channel", required_argument, NULL, 'n'},
        {"since", required_argument, NULL, 's'},
        {"older-than", required_argument, NULL, 'o'},
        {"limit", required_argument, NULL, 'l'},
        {"dry-run", no_argument, NULL, 'd'},
        {"wait", no_argument, NULL, 'w'},
        {"timeout", required_argument, NULL, 't'},
        {"json", no_argument, NULL, 'j'},
        {"check", optional_argument, NULL, 'k'},
        {"version", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;
    while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
        const char *wrong = NULL;
        switch (option) {
        case 'c': o->config_path = optarg; break;
        case 'k': o->check = true, o->ask = optarg; break;
        case 'v': printf("landfall-reconciler %s\n", LANDFALL_VERSION); return 0;
        case 'h': fputs(help, stdout); return 0;
        default: wrong = read_drain_option(option, optarg, o); break;
        }
        if (wrong != NULL) return usage(wrong);
    }
    return read_command(argc, argv, o);
}

static int run(struct process *p)
{
    const struct reconciler *r = &p->reconciler;
    log_event(LOG_LEVEL_INFO, "reconciler.started", LOG_S("name", r->name), LOG_S("version", LANDFALL_VERSION),
              LOG_S("config", p->config->path != NULL ? p->config->path : "(none)"),
              LOG_I("channels", (int64_t)r->lane_count));
    while (!process_over(p))
        process_turn(p);
    log_event(LOG_LEVEL_INFO, "reconciler.stopped", LOG_I("exit", r->exit_code));
    return r->exit_code;
}

static int check(struct process *p)
{
    struct errbuf err = {{0}};
    if (!process_check(p, &err)) {
        fprintf(stderr, "not ready: %s\n", err.text);
        return p->reconciler.exit_code != 0 ? p->reconciler.exit_code : 2;
    }
    printf("ready: %zu channels, Redis answers\n", p->reconciler.lane_count);
    return 0;
}

int main(int argc, char **argv)
{
    struct options options = {0};
    struct process process;
    struct errbuf err = {{0}};
    int code = read_options(argc, argv, &options);
    if (code >= 0) goto out;
    if (options.ask) {
        code = service_check(&process_program, options.config_path, options.ask);
        goto out;
    }
    if (!process_open(&process, options.config_path, options.run && !options.check, &err)) {
        log_event(LOG_LEVEL_FATAL, "reconciler.refused", LOG_S("why", err.text));
        code = process.exit_code;
        goto out;
    }
    code = options.check ? check(&process) : options.run ? run(&process) : drain_run(&process, &options.drain);
    process_close(&process);
out:
    free(options.channels);
    return code;
}
