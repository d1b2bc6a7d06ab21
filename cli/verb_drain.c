/* SPDX-License-Identifier: MIT */
/*
 * Becomes landfall-reconciler drain: the one that stands beside this program, else the one in $PATH. Nothing is read
 * before, so that the environment, where credentials may be, is whole.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

#define PROGRAM "landfall-reconciler"

/* The path of PROGRAM in this program's folder. */
static bool beside(char *path, size_t size)
{
    ssize_t len = readlink("/proc/self/exe", path, size);
    if (len <= 0 || (size_t)len >= size) return false;
    path[len] = '\0';
    char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash + 1 - path) : 0;
    if (folder == 0 || folder + sizeof(PROGRAM) > size) return false;
    memcpy(path + folder, PROGRAM, sizeof(PROGRAM));
    return access(path, X_OK) == 0;
}

enum cli_exit verb_drain(struct cli *cli)
{
    char path[PATH_MAX];
    const char *argv[OPTIONS_OPERANDS_MAX + 5] = {PROGRAM, "drain"};
    int argc = 2;
    if (options_has(&cli->options, FLAG_CONFIG_ID)) { /* it stood before the verb */
        argv[argc++] = "--config";
        argv[argc++] = cli->options.value[FLAG_CONFIG_ID];
    }
    for (int i = 0; i < cli->options.operand_count; i++)
        argv[argc++] = cli->options.operand[i];
    if (beside(path, sizeof(path)))
        execv(path, (char *const *)argv);
    else
        execvp(PROGRAM, (char *const *)argv);
    errbuf_set(&cli->err, PROGRAM ": %s; it belongs beside landfall or in $PATH", strerror(errno));
    return cli_fail(cli, EXIT_USAGE);
}
