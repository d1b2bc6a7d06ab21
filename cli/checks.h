/* SPDX-License-Identifier: MIT */
/*
 * checks: what can be wrong with a fleet, one table. Each check is a pure function: facts in, finding out.
 *
 * A finding says what is so, what it can cost, and what to do. The facts are gathered by doctor_facts.c and the
 * ledger's health.h and survey.h; nothing in here asks anybody anything.
 */
#ifndef LANDFALL_CLI_CHECKS_H
#define LANDFALL_CLI_CHECKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/health.h"
#include "ledger/reads.h"
#include "ledger/survey.h"
#include "runtime/config.h"
#include "runtime/errbuf.h"

/* note: worth knowing. risk: something is lost or stands still if more goes wrong. unsafe: posts can be lost or doubled
 * without anything else going wrong. */
enum severity { SEVERITY_OK, SEVERITY_NOTE, SEVERITY_RISK, SEVERITY_UNSAFE };

struct finding {
    enum severity severity;
    struct errbuf what;
    const char *cost; /* literals; "" where it is ok */
    const char *todo;
};

/* What is known without Redis. The texts list names, "" if there is nothing to list. */
struct checks_local {
    struct errbuf proxies;     /* variables that are set, never their values */
    struct errbuf unreadable;  /* credentials, with why */
    struct errbuf exposed;     /* files of secrets that everybody on this machine may read or change */
    struct errbuf unverified;  /* channels whose descriptor was not seen to hold on a real server */
    struct errbuf uncompiled;  /* channels with a program that is refused, with why */
    struct errbuf elsewhere;   /* channels that live in other partitions */
    struct errbuf spool_aside; /* files that nobody could read and that wait for a person */
    size_t spool_left;         /* files whose owners are gone */
    struct errbuf spool_error; /* why the folder cannot be written; "" */
    size_t channels;           /* that are configured */
};

/* What waits for another delivery, and that will not come. Names, "" if there are none. */
struct checks_chains {
    struct errbuf holes;   /* "a waits for b": there is no such delivery, and the wait is long */
    struct errbuf circles; /* "a waits for b": and b, by itself or by others, for a */
};

struct checks_facts {
    const struct config *config;
    struct checks_local local;
    bool has_server; /* health is known */
    struct health health;
    bool has_ledger; /* what follows is known */
    struct survey survey;
    struct checks_chains chains;
    struct reads_overview overview;
    const char *run_id; /* of the connection */
    int64_t workers, reconcilers;
    bool processes_complete;
};

/* What must be known for a check: nothing of Redis, what the server says, what stands in the ledger as well. */
enum checks_need { NEED_LOCAL, NEED_SERVER, NEED_LEDGER };

struct check {
    const char *name;
    enum checks_need need;
    void (*look)(const struct checks_facts *facts, struct finding *finding);
};

/* In the order in which they are printed. */
extern const struct check checks_table[];
extern const size_t checks_count;

/* What the check needs is known. */
bool checks_may_look(const struct check *check, const struct checks_facts *facts);

const char *severity_name(enum severity severity);

/* For the table: in checks_server.c, checks_ledger.c, checks_local.c. */
#define CHECKS(X)                                                                                                      \
    X(version, NEED_SERVER)                                                                                            \
    X(role, NEED_SERVER)                                                                                               \
    X(eviction, NEED_SERVER)                                                                                           \
    X(memory, NEED_SERVER)                                                                                             \
    X(persistence, NEED_SERVER)                                                                                        \
    X(reload, NEED_SERVER)                                                                                             \
    X(replication, NEED_SERVER)                                                                                        \
    X(copies, NEED_SERVER)                                                                                             \
    X(rights, NEED_SERVER)                                                                                             \
    X(clock, NEED_SERVER)                                                                                              \
    X(encoding, NEED_SERVER)                                                                                           \
    X(environment, NEED_LEDGER)                                                                                        \
    X(epoch, NEED_LEDGER)                                                                                              \
    X(group, NEED_SERVER)                                                                                              \
    X(leases, NEED_LEDGER)                                                                                             \
    X(claims, NEED_LEDGER)                                                                                             \
    X(places, NEED_LEDGER)                                                                                             \
    X(rows, NEED_LEDGER)                                                                                               \
    X(agenda, NEED_LEDGER)                                                                                             \
    X(channels, NEED_LEDGER)                                                                                           \
    X(chains, NEED_LEDGER)                                                                                             \
    X(counts, NEED_LEDGER)                                                                                             \
    X(keys, NEED_LEDGER)                                                                                               \
    X(processes, NEED_LEDGER)                                                                                          \
    X(queue, NEED_LEDGER)                                                                                              \
    X(partitions, NEED_LOCAL)                                                                                          \
    X(proxies, NEED_LOCAL)                                                                                             \
    X(descriptors, NEED_LOCAL)                                                                                         \
    X(credentials, NEED_LOCAL)                                                                                         \
    X(spool, NEED_LOCAL)

#define X(name, need) void check_##name(const struct checks_facts *facts, struct finding *finding);
CHECKS(X)
#undef X

/* Sets a finding: what is formatted, cost and todo are literals. */
void finding_set(struct finding *finding, enum severity severity, const char *cost, const char *todo, const char *what,
                 ...) __attribute__((format(printf, 5, 6)));

#endif
