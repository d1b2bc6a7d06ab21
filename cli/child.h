/* SPDX-License-Identifier: MIT */
/*
 * child: work that may never end, or eat all memory, done in a process of its own: a descriptor's programs.
 *
 * A running jq program cannot be interrupted. The child has CHILD_CPU_S of processor time and CHILD_MEMORY_BYTES of
 * address space (but not under an address sanitizer, whose shadow is larger), writes its result as JSON to a pipe and
 * ends. What it prints is thrown away. The caller has no threads.
 */
#ifndef LANDFALL_CLI_CHILD_H
#define LANDFALL_CLI_CHILD_H

#include <jansson.h>

#include "runtime/errbuf.h"

#define CHILD_CPU_S            2
#define CHILD_LIMIT_MS         20000 /* of waiting for it, whatever it does */
#define CHILD_MEMORY_BYTES     ((size_t)768 << 20)
#define CHILD_RESULT_MAX_BYTES ((size_t)16 << 20)

/* Gives a new reference, in the child. */
typedef json_t *child_work(void *context);

/* Runs it and waits. *result is the caller's. False: it did not come to an end; err says what ended it. */
MUSTCHECK bool child_run(child_work *work, void *context, json_t **result, struct errbuf *err);

#endif
