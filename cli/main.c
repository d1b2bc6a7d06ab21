/* SPDX-License-Identifier: MIT */
/*
 * landfall: the command for people and for producers. Reads the command line, runs one verb, ends with its code.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/out.h"
#include "ledger/setup.h"
#include "runtime/secret.h"

typedef enum cli_exit verb_function(struct cli *cli);

static verb_function *const functions[VERB_COUNT] = {
    [VERB_SUBMIT] = verb_submit,
    [VERB_STATUS] = verb_status,
    [VERB_SHOW] = verb_show,
    [VERB_REPORT] = verb_report,
    [VERB_RETRY] = verb_retry,
    [VERB_APPROVE] = verb_approve,
    [VERB_CONFIRM] = verb_confirm,
    [VERB_CANCEL] = verb_cancel,
    [VERB_REJECT] = verb_reject,
    [VERB_PAUSE] = verb_pause,
    [VERB_RESUME] = verb_resume,
    [VERB_LEASES] = verb_leases,
    [VERB_JOURNAL] = verb_journal,
    [VERB_AUDIT] = verb_audit,
    [VERB_EXPORT] = verb_export,
    [VERB_ARCHIVE] = verb_archive,
    [VERB_PARTITIONS] = verb_partitions,
    [VERB_KEY] = verb_key,
    [VERB_DRAIN] = verb_drain,
    [VERB_SPOOL] = verb_spool,
    [VERB_DOCTOR] = verb_doctor,
    [VERB_CONFIG] = verb_config,
    [VERB_COMPLETION] = verb_completion,
    [VERB_MAN] = verb_man,
    [VERB_HELP] = verb_help,
    [VERB_PLATFORM_LIST] = verb_platform_list,
    [VERB_PLATFORM_CHECK] = verb_platform_check,
    [VERB_PLATFORM_TRY] = verb_platform_try,
    [VERB_PLATFORM_PROBE] = verb_platform_probe,
};

int main(int argc, char *argv[])
{
    struct cli cli = {.options = {.verb = VERB_COUNT}};
    secret_protect_process();
    (void)signal(SIGPIPE, SIG_IGN); /* a Redis that goes away is told with the exit code, and so is standard output */
    if (!options_parse(argc, argv, &cli.options, &cli.err)) return (int)cli_fail(&cli, EXIT_USAGE);
    if (cli.options.version) {
        printf("landfall %s, %s\n", LANDFALL_VERSION, setup_built_in());
        return EXIT_FINE;
    }
    cli.json = options_has(&cli.options, FLAG_JSON_ID);
    enum cli_exit code = cli.options.help ? verb_help(&cli) : functions[cli.options.verb](&cli);
    cli_close(&cli);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        errbuf_set(&cli.err, "standard output: %s", strerror(errno));
        return (int)cli_worse(code, cli_fail(&cli, EXIT_USAGE));
    }
    return (int)code;
}
