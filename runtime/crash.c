/* SPDX-License-Identifier: MIT */
#include "runtime/crash.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/log.h"

static char armed_point[64]; /* "": none */
static long armed_count;

bool crash_configure(const char *environment, const char *const *points, struct errbuf *err)
{
    const char *spec = getenv("LANDFALL_CRASH_AT");
    armed_point[0] = '\0';
    if (spec == NULL || spec[0] == '\0') return true;
    if (strcmp(environment, "test") != 0) {
        errbuf_set(err, "LANDFALL_CRASH_AT is set, and the environment is \"%s\": it is for \"test\" only. Unset it.",
                   environment);
        return false;
    }
    size_t len = strcspn(spec, ":");
    long count = 1;
    if (spec[len] == ':') {
        char *end = NULL;
        count = strtol(spec + len + 1, &end, 10);
        if (!isdigit((unsigned char)spec[len + 1]) || *end != '\0' || count < 1) {
            errbuf_set(err, "LANDFALL_CRASH_AT: what follows the colon is a count of 1 or more");
            return false;
        }
    }
    for (const char *const *p = points; *p != NULL; p++) {
        if (strlen(*p) == len && strncmp(*p, spec, len) == 0) {
            snprintf(armed_point, sizeof armed_point, "%s", *p);
            armed_count = count;
            return true;
        }
    }
    errbuf_set(err, "LANDFALL_CRASH_AT: this program has no such point; docs/contract.md names them");
    return false;
}

void crash_point(const char *point)
{
    if (armed_point[0] == '\0' || strcmp(armed_point, point) != 0 || --armed_count > 0) return;
    log_flush(); /* tests read what was done before */
    kill(getpid(), SIGKILL);
    for (;;) /* a pending SIGKILL may take a moment; nothing more may happen meanwhile */
        pause();
}
