/* SPDX-License-Identifier: MIT */
#include "cli/checks.h"

#include <stdarg.h>
#include <stdio.h>

const struct check checks_table[] = {
#define X(name_, need_) {#name_, need_, check_##name_},
    CHECKS(X)
#undef X
};

const size_t checks_count = sizeof(checks_table) / sizeof(checks_table[0]);

bool checks_may_look(const struct check *check, const struct checks_facts *facts)
{
    return check->need == NEED_LOCAL || (check->need == NEED_SERVER && facts->has_server) || facts->has_ledger;
}

const char *severity_name(enum severity severity)
{
    static const char *const names[] = {
        [SEVERITY_OK] = "ok", [SEVERITY_NOTE] = "note", [SEVERITY_RISK] = "risk", [SEVERITY_UNSAFE] = "unsafe"};
    return names[severity];
}

void finding_set(struct finding *finding, enum severity severity, const char *cost, const char *todo, const char *what,
                 ...)
{
    va_list values;
    finding->severity = severity;
    finding->cost = cost;
    finding->todo = todo;
    va_start(values, what);
    vsnprintf(finding->what.text, sizeof(finding->what.text), what, values);
    va_end(values);
}
