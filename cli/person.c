/* SPDX-License-Identifier: MIT */
#include "cli/person.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* SUDO_USER is only believed where it can tell more than the system does: for root. */
static void read_user(char *out, size_t size)
{
    const struct passwd *entry = getpwuid(getuid());
    const char *caller = getuid() == 0 ? getenv("SUDO_USER") : NULL;
    char number[24];
    snprintf(number, sizeof(number), "uid %lu", (unsigned long)getuid());
    snprintf(out, size, "%.40s%s%.40s%s", entry ? entry->pw_name : number, caller ? " (sudo by " : "",
             caller ? caller : "", caller ? ")" : "");
}

bool person_read(const struct options *options, struct person *out, struct errbuf *err)
{
    out->why = options->value[FLAG_WHY_ID];
    if (!out->why || out->why[strspn(out->why, " \t\n")] == '\0')
        return errbuf_set(err, "missing: --why TEXT; it goes into the audit stream, with your name");
    if (strlen(out->why) > PERSON_WHY_MAX_BYTES)
        return errbuf_set(err, "--why: at most %d bytes", PERSON_WHY_MAX_BYTES);
    read_user(out->user, sizeof(out->user));
    if (gethostname(out->host, sizeof(out->host)) != 0) snprintf(out->host, sizeof(out->host), "unknown");
    out->host[sizeof(out->host) - 1] = '\0';
    return true;
}
