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
    "       landfall-reconciler drain [--channel CHANNEL]... [--wait] [--timeout SECONDS] [--json] [--config FILE]\n"
    "\n"
    "Reads platforms back where the outcome of a delivery is unknown, and settles it. It never publishes.\n"
    "\n"
    "  run                 works the journal until it is stopped\n"
    "  drain               settles what can be settled now, says what became of each delivery, ends\n"
    "  --channel CHANNEL   drain: only this one; may be given several times\n"
    "  --wait              drain: goes on until nothing is uncertain any more\n"
    "  --timeout SECONDS   drain: ends after so long, whatever is left\n"
    "  --json              drain: one JSON object a line (plan, delivery, wait, busy, summary)\n"
    "  --config FILE       the configuration (else $LANDFALL_CONFIG, ./landfall.json, /etc/landfall/landfall.json)\n"
    "  --check             reads configuration, channels and credentials, asks Redis, says what is wrong, ends\n"
    "  --version           this program's version\n"
    "\n"
    "Signals: TERM and INT end it after the current step, a second one at once; HUP reads credentials again.\n"
    "Exit: 0 all is settled or back with the workers, 1 usage or configuration, 2 Redis or a platform out of reach,\n"
    "3 something is uncertain or held, 4 something was rejected. Example:\n"
    "  landfall-reconciler drain --channel news/brand --wait --timeout 300\n";

#define TIMEOUT_MAX_S 604800

struct options {
    const char *config_path;
    bool run, check;
    struct drain_options drain;
    const char **channels; /* owned */
};

static int usage(const char *what)
{
    fprintf(stderr, "landfall-reconciler: %s; landfall-reconciler --help says what it takes\n", what);
    return 1;
}

static bool read_seconds(const char *text, int64_t *out_ms)
{
    char *rest = NULL;
    const long seconds = strtol(text, &rest, 10);
    if (rest == text || *rest != '\0' || seconds < 1 || seconds > TIMEOUT_MAX_S) return false;
    *out_ms = seconds * 1000;
    return true;
}

static void add_channel(struct options *o, const char *name)
{
    o->channels = xrealloc_array(o->channels, o->drain.channel_count + 1, sizeof *o->channels);
    o->channels[o->drain.channel_count++] = name;
    o->drain.channels = o->channels;
}

/* -1: go on; else the exit code. */
static int read_command(int argc, char **argv, struct options *o)
{
    const bool for_drain = o->drain.channel_count > 0 || o->drain.wait || o->drain.json || o->drain.timeout_ms > 0;
    if (optind + 1 < argc) return usage("one command: run or drain");
    if (optind == argc) return o->check ? -1 : usage("the command is missing: run or drain");
    o->run = strcmp(argv[optind], "run") == 0;
    if (!o->run && strcmp(argv[optind], "drain") != 0) return usage("unknown command");
    return o->run && for_drain ? usage("--channel, --wait, --timeout and --json belong to drain") : -1;
}

static int read_options(int argc, char **argv, struct options *o)
{
    static const struct option table[] = {
        {"config", required_argument, NULL, 'c'},
        {"channel", required_argument, NULL, 'n'},
        {"wait", no_argument, NULL, 'w'},
        {"timeout", required_argument, NULL, 't'},
        {"json", no_argument, NULL, 'j'},
        {"check", no_argument, NULL, 'k'},
        {"version", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;
    while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
        switch (option) {
        case 'c': o->config_path = optarg; break;
        case 'n': add_channel(o, optarg); break;
        case 'w': o->drain.wait = true; break;
        case 't':
            if (!read_seconds(optarg, &o->drain.timeout_ms)) return usage("--timeout takes whole seconds, 1 to 604800");
            break;
        case 'j': o->drain.json = true; break;
        case 'k': o->check = true; break;
        case 'v': printf("landfall-reconciler %s\n", LANDFALL_VERSION); return 0;
        case 'h': fputs(help, stdout); return 0;
        default: return usage("unknown option");
        }
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
