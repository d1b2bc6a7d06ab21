/* SPDX-License-Identifier: MIT */
/*
 * landfall-reconciler: the program. What it is told, and the loop.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reconciler/drain.h"
#include "reconciler/look.h"
#include "reconciler/process.h"
#include "ledger/setup.h"
#include "runtime/die.h"
#include "runtime/log.h"
#include "runtime/plain.h"

static const char help[] =
    "Usage: landfall-reconciler run [--config FILE]\n"
    "       landfall-reconciler drain [--channel CHANNEL]... [--since TIME|DURATION] [--older-than DURATION]\n"
    "                                 [--limit N] [--dry-run | --wait] [--timeout SECONDS] [--json] [--config FILE]\n"
    "       landfall-reconciler read DELIVERY...|- [--id ID] [--timeout SECONDS] [--json] [--config FILE]\n"
    "\n"
    "Reads platforms back where the outcome of a delivery is unknown, and settles it. It never publishes.\n"
    "\n"
    "  run                    works the journal until it is stopped\n"
    "  drain                  settles what can be settled now, says what became of each delivery, ends\n"
    "  read                   says what the platforms have of these deliveries, whatever their state; changes nothing\n"
    "                         (-: standard input names them, one to a line)\n"
    "  --channel CHANNEL      drain: only this one; may be given several times\n"
    "  --since TIME|DURATION  drain: only what became uncertain since (2026-09-01T09:00:00Z) or in the last 2h30m\n"
    "  --older-than DURATION  drain: only what has been uncertain for so long (15m)\n"
    "  --limit N              drain: at most so many deliveries, those that are uncertain for longest\n"
    "  --dry-run              drain: reads, says what would become of each delivery and why, changes nothing\n"
    "  --wait                 drain: goes on until nothing is uncertain any more\n"
    "  --id ID                read: asks for the delivery's post by this id\n"
    "  --timeout SECONDS      drain, read: ends after so long, whatever is left\n"
    "  --json                 drain, read: one JSON object a line (plan, delivery, progress, wait, busy, summary;\n"
    "                         reading)\n"
    "  --config FILE          the configuration (else $LANDFALL_CONFIG, ./landfall.json, /etc/landfall/landfall.json)\n"
    "  --check                reads configuration, channels and credentials, asks Redis, says what is wrong, ends\n"
    "  --check=live           asks the reconciler that runs here whether its loop moves; for health checks\n"
    "  --check=ready          asks it whether it can work: channels, a Redis that takes writes\n"
    "  --version              this program's version\n"
    "\n"
    "Signals: TERM and INT end it after the current step, a second one at once; HUP reads credentials again.\n"
    "Exit: 0 all is settled or back with the workers, 1 usage or configuration, 2 Redis or a platform out of reach,\n"
    "3 something is uncertain or held, 4 something was rejected; a dry run ends as the drain would. read: 0 all is "
    "known,\n"
    "2 out of reach, 3 something is not proven, 5 there is no such delivery. Examples:\n"
    "  landfall-reconciler drain --channel news/brand --dry-run\n"
    "  landfall-reconciler drain --channel news/brand --wait --timeout 300\n"
    "  landfall-reconciler read news/brand/launch\n";

#define TIMEOUT_MAX_S 604800
#define LIMIT_MAX     1000000000

enum command { COMMAND_NONE, COMMAND_RUN, COMMAND_DRAIN, COMMAND_READ };

#define FOR(command) (1u << COMMAND_##command)

struct options {
    const char *config_path;
    enum command command;
    bool check;
    const char *ask; /* "live", "ready": the reconciler that runs here */
    unsigned takers; /* the commands that take all of the options that were given: FOR()s */
    struct drain_options drain;
    struct look_options look;
    const char **channels; /* owned */
};

static int usage(const char *what)
{
    plain_line(stderr, "landfall-reconciler: %s; landfall-reconciler --help says what it takes", what);
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

static unsigned takers_of(int option)
{
    if (option == 'i') return FOR(READ);
    return option == 't' || option == 'j' ? FOR(DRAIN) | FOR(READ) : FOR(DRAIN);
}

/* What only some commands take. NULL: good; else what is wrong. */
static const char *read_command_option(int option, const char *value, struct options *o)
{
    struct drain_options *d = &o->drain;
    struct when span = {0};
    long number = 0;
    o->takers &= takers_of(option);
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
        d->timeout_ms = o->look.timeout_ms = number * 1000;
        break;
    case 'i':
        if (value[0] == '\0' || strlen(value) > DELIVERY_EXT_ID_MAX) return "--id takes a platform's id of a post";
        o->look.ext_id = value;
        break;
    case 'd': d->dry_run = true; break;
    case 'w': d->wait = true; break;
    case 'j': d->json = o->look.json = true; break;
    default: return "unknown option";
    }
    return d->dry_run && d->wait ? "--dry-run looks once and cannot --wait" : NULL;
}

/* -1: go on; else the exit code. */
static int read_command(int argc, char **argv, struct options *o)
{
    static const char *const names[] = {[COMMAND_RUN] = "run", [COMMAND_DRAIN] = "drain", [COMMAND_READ] = "read"};
    if (optind == argc) return o->check ? -1 : usage("the command is missing: run, drain or read");
    for (enum command c = COMMAND_RUN; c <= COMMAND_READ; c++)
        if (strcmp(argv[optind], names[c]) == 0) o->command = c;
    if (o->command == COMMAND_NONE) return usage("unknown command");
    o->look.names = argv + optind + 1;
    o->look.name_count = (size_t)(argc - optind - 1);
    if (o->command == COMMAND_READ && o->look.name_count == 0)
        return usage("read: name deliveries, or - to read names");
    if (o->command != COMMAND_READ && o->look.name_count > 0) return usage("one command: run, drain or read");
    return o->takers & (1u << o->command) ? -1 : usage("an option does not belong to this command");
}

static int read_options(int argc, char **argv, struct options *o)
{
    static const struct option table[] = {
        {"config", required_argument, NULL, 'c'},  {"channel", required_argument, NULL, 'n'},
        {"since", required_argument, NULL, 's'},   {"older-than", required_argument, NULL, 'o'},
        {"limit", required_argument, NULL, 'l'},   {"dry-run", no_argument, NULL, 'd'},
        {"wait", no_argument, NULL, 'w'},          {"id", required_argument, NULL, 'i'},
        {"timeout", required_argument, NULL, 't'}, {"json", no_argument, NULL, 'j'},
        {"check", optional_argument, NULL, 'k'},   {"version", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0},
    };
    int option;
    while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
        const char *wrong = NULL;
        switch (option) {
        case 'c': o->config_path = optarg; break;
        case 'k': o->check = true, o->ask = optarg; break;
        case 'v': printf("landfall-reconciler %s, %s\n", LANDFALL_VERSION, setup_built_in()); return 0;
        case 'h': fputs(help, stdout); return 0;
        default: wrong = read_command_option(option, optarg, o); break;
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
    if (r->lane_count == 0) setup_say_no_channels(p->config);
    while (!process_over(p))
        process_turn(p);
    log_event(LOG_LEVEL_INFO, "reconciler.stopped", LOG_I("exit", r->exit_code));
    return r->exit_code;
}

static int check(struct process *p)
{
    struct errbuf err = {{0}};
    if (!process_check(p, &err)) {
        plain_line(stderr, "not ready: %s", err.text);
        return p->reconciler.exit_code != 0 ? p->reconciler.exit_code : 2;
    }
    printf("ready: %zu channels, Redis answers\n", p->reconciler.lane_count);
    return 0;
}

static int work(struct process *p, const struct options *o)
{
    if (o->command == COMMAND_RUN) return run(p);
    return o->command == COMMAND_READ ? look_run(p, &o->look) : drain_run(p, &o->drain);
}

int main(int argc, char **argv)
{
    struct options options = {.takers = ~0u};
    struct process process;
    struct errbuf err = {{0}};
    int code = read_options(argc, argv, &options);
    if (code >= 0) goto out;
    if (options.ask) {
        code = service_check(&process_program, options.config_path, options.ask);
        goto out;
    }
    if (!process_open(&process, options.config_path, options.command == COMMAND_RUN && !options.check, &err)) {
        log_event(LOG_LEVEL_FATAL, "reconciler.refused", LOG_S("why", err.text));
        code = process.exit_code;
        goto out;
    }
    code = options.check ? check(&process) : work(&process, &options);
    process_close(&process);
out:
    free(options.channels);
    return code;
}
