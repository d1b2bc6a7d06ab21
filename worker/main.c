/* SPDX-License-Identifier: MIT */
/*
 * landfall-worker: the program. What it is told, and the loop.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/setup.h"
#include "runtime/log.h"
#include "worker/process.h"

static const char help[] =
    "Usage: landfall-worker [--config FILE] [--until-idle]\n"
    "\n"
    "Takes deliveries from the queue and the agenda and publishes each item on each channel once.\n"
    "\n"
    "  --config FILE   the configuration (else $LANDFALL_CONFIG, ./landfall.json, /etc/landfall/landfall.json)\n"
    "  --until-idle    work until nothing is due, print the report, end\n"
    "  --check         read configuration, channels and credentials, ask Redis, say what is wrong, end\n"
    "  --check=live    ask the worker that runs here whether its loop moves; for health checks\n"
    "  --check=ready   ask it whether it can work: channels, a Redis that takes writes\n"
    "  --version       this program's version\n"
    "\n"
    "Signals: TERM and INT end it within worker.grace_ms, a second one at once; HUP reads credentials again.\n"
    "Exit: 0 done, 1 configuration or refused input, 2 Redis out of reach, 3 something waits, is uncertain or held,\n"
    "4 something was rejected. Example:\n"
    "  landfall-worker --config landfall.json --until-idle\n";

struct options {
    const char *config_path;
    bool until_idle, check;
    const char *ask; /* "live", "ready": the worker that runs here */
};

/* -1: go on; else the exit code. */
static int read_options(int argc, char **argv, struct options *o)
{
    static const struct option table[] = {
        {"config", required_argument, NULL, 'c'}, {"until-idle", no_argument, NULL, 'u'},
        {"check", optional_argument, NULL, 'k'},  {"version", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
    };
    int option;
    while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
        switch (option) {
        case 'c': o->config_path = optarg; break;
        case 'u': o->until_idle = true; break;
        case 'k': o->check = true, o->ask = optarg; break;
        case 'v': printf("landfall-worker %s, %s\n", LANDFALL_VERSION, setup_built_in()); return 0;
        case 'h': fputs(help, stdout); return 0;
        default: fputs("landfall-worker --help says what it takes\n", stderr); return 1;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "landfall-worker takes no further words; landfall-worker --help says what it takes\n");
        return 1;
    }
    return -1;
}

int main(int argc, char **argv)
{
    struct options options = {0};
    struct process process;
    struct errbuf err = {{0}};
    int code = read_options(argc, argv, &options);
    if (code >= 0) return code;
    if (options.ask) return service_check(&process_program, options.config_path, options.ask);
    if (!process_open(&process, options.config_path, options.until_idle, !options.check, &err)) {
        log_event(LOG_LEVEL_FATAL, "worker.refused", LOG_S("why", err.text));
        return process.exit_code;
    }
    if (options.check)
        code = process_check(&process);
    else {
        while (!process_over(&process))
            process_turn(&process);
        code = process_report(&process);
    }
    process_close(&process);
    return code;
}
