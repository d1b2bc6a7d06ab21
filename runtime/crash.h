/* SPDX-License-Identifier: MIT */
/*
 * crash: a process that kills itself at a named point, so that tests can show what the next process finds.
 *
 * LANDFALL_CRASH_AT=<point>[:n] is taken only where the environment's name is `test`; anywhere else the process refuses
 * to start, because a production fleet that kills itself is an outage. The points stand in docs/contract.md.
 */
#ifndef RUNTIME_CRASH_H
#define RUNTIME_CRASH_H

#include <stdbool.h>
#include "runtime/errbuf.h"

/* Reads LANDFALL_CRASH_AT. points: the names that this program has, NULL at the end. False: it is set and the
 * environment is not `test`, or names a point that this program does not have. */
MUSTCHECK bool crash_configure(const char *environment, const char *const *points, struct errbuf *err);

/* The process has come to this point: SIGKILL if that is the one, for the n-th time. */
void crash_point(const char *point);

#endif
