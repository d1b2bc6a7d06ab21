/* SPDX-License-Identifier: MIT */
/*
 * cli: what all verbs of one call share: the arguments, the configuration, the connection, how it ends.
 *
 * A verb is one file, verb_<name>.c, and one function, which returns the exit code. It opens what it needs; main.c
 * closes everything. Nothing in here sends anything to a platform but probe.c, which only reads.
 */
#ifndef LANDFALL_CLI_CLI_H
#define LANDFALL_CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"
#include "ledger/reads.h"
#include "ledger/round.h"
#include "platforms/fleet.h"
#include "runtime/config.h"
#include "runtime/errbuf.h"

/* docs/contract.md, section 10. */
enum cli_exit { EXIT_FINE = 0, EXIT_USAGE = 1, EXIT_AWAY = 2, EXIT_OPEN = 3, EXIT_REJECTED = 4, EXIT_MISSING = 5 };

struct cli {
    struct options options;
    bool json;
    struct config *config;
    struct fleet fleet;
    bool has_fleet;
    struct ledger ledger;
    struct redis_link *link;
    char name[64]; /* of this process; the ledger borrows it */
    struct reads_overview overview;
    struct errbuf err; /* what went wrong last */
};

/* The more important of two exit codes: the first of 1, 2, 4, 5, 3. */
enum cli_exit cli_worse(enum cli_exit a, enum cli_exit b);

/* Configuration and channels, without their credentials. False: it was reported, the verb ends with EXIT_USAGE. */
MUSTCHECK bool cli_load(struct cli *cli);

/* After cli_load(): connects once, reads the overview, and checks that this Redis belongs to the configuration's
 * environment. EXIT_FINE, or the code to end with, reported. */
MUSTCHECK enum cli_exit cli_connect(struct cli *cli);

/* The Redis server's time, as far as this process knows it. */
int64_t cli_now_ms(const struct cli *cli);

/* Time limit of one round trip. */
int64_t cli_limit_ms(const struct cli *cli);

/* A verb that acts asks again every CLI_PAUSE_MS while Redis is away, and gives up after cli_patience_ms(): asking
 * again is harmless. */
#define CLI_PAUSE_MS 100
int64_t cli_patience_ms(const struct cli *cli);

/* Connects again where that is due. False: there is no connection; cli->err still says what went wrong last. */
MUSTCHECK bool cli_keep(struct cli *cli);

/* False, with err filled: the channel lives in another partition than this configuration's. */
MUSTCHECK bool cli_check_partition(const struct cli *cli, const char *channel, struct errbuf *err);

/* For a channel that was named (NULL: none was), after cli_connect(): where it is neither configured here nor anything
 * of it in the ledger, it is misspelt; that is reported. EXIT_FINE, EXIT_MISSING, EXIT_AWAY. */
enum cli_exit cli_require_channel(struct cli *cli, const char *channel);

/* Reports cli->err (on stderr, and as {"error", "exit"} with --json) and returns the code. */
enum cli_exit cli_fail(const struct cli *cli, enum cli_exit code);

void cli_close(struct cli *cli);

/* One for each verb; all but help.c's and drain's are in verb_<name>.c. */
enum cli_exit verb_submit(struct cli *cli);
enum cli_exit verb_status(struct cli *cli);
enum cli_exit verb_show(struct cli *cli);
enum cli_exit verb_report(struct cli *cli);
enum cli_exit verb_retry(struct cli *cli);
enum cli_exit verb_approve(struct cli *cli);
enum cli_exit verb_confirm(struct cli *cli);
enum cli_exit verb_cancel(struct cli *cli);
enum cli_exit verb_reject(struct cli *cli);
enum cli_exit verb_pause(struct cli *cli);
enum cli_exit verb_resume(struct cli *cli);
enum cli_exit verb_leases(struct cli *cli);
enum cli_exit verb_journal(struct cli *cli);
enum cli_exit verb_audit(struct cli *cli);
enum cli_exit verb_export(struct cli *cli);
enum cli_exit verb_archive(struct cli *cli);
enum cli_exit verb_partitions(struct cli *cli);
enum cli_exit verb_key(struct cli *cli);
enum cli_exit verb_drain(struct cli *cli);
enum cli_exit verb_spool(struct cli *cli);
enum cli_exit verb_doctor(struct cli *cli);
enum cli_exit verb_config(struct cli *cli);
enum cli_exit verb_platform_list(struct cli *cli);
enum cli_exit verb_platform_check(struct cli *cli);
enum cli_exit verb_platform_try(struct cli *cli);
enum cli_exit verb_platform_probe(struct cli *cli);
enum cli_exit verb_completion(struct cli *cli);
enum cli_exit verb_man(struct cli *cli);
enum cli_exit verb_help(struct cli *cli);

#endif
