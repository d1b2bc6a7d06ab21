/* SPDX-License-Identifier: MIT */
#include "runtime/signals.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "runtime/die.h"

static void watched(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
}

/* Writing to a closed connection, or beyond a limit on file sizes, is an error of that write and no more. */
static void ignore_write_signals(void)
{
    struct sigaction action = {.sa_handler = SIG_IGN};
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGPIPE, &action, NULL) != 0 || sigaction(SIGXFSZ, &action, NULL) != 0) {
        die("SIGPIPE and SIGXFSZ cannot be set: %s", strerror(errno));
    }
}

int signals_open(void)
{
    sigset_t set;

    watched(&set);
    ignore_write_signals();
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0) {
        die("signals cannot be blocked: %s", strerror(errno));
    }
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0) {
        die("signals cannot be read from a descriptor: %s", strerror(errno));
    }
    return fd;
}

enum signals_event signals_read(int fd)
{
    struct signalfd_siginfo info;
    ssize_t got = 0;

    do {
        got = read(fd, &info, sizeof info);
    } while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof info) {
        return SIGNALS_NONE;
    }
    return info.ssi_signo == SIGHUP ? SIGNALS_RELOAD : SIGNALS_STOP;
}

void signals_close(int fd)
{
    close(fd);
}
