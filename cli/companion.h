/* SPDX-License-Identifier: MIT */
/*
 * companion: the program landfall-reconciler, which reads platforms for this one.
 *
 * It is started before anything is read here: reading a credential removes it from the environment, and the other
 * program needs it whole. companion_exec() becomes it. A reader is a process that waits to become it: it is told names
 * of deliveries and says what the platforms have of them; told nothing, it ends without having read anything.
 */
#ifndef LANDFALL_CLI_COMPANION_H
#define LANDFALL_CLI_COMPANION_H

#include <jansson.h>
#include <stddef.h>
#include <sys/types.h>

#include "runtime/errbuf.h"

/* argv[0] is its name's place and is filled in. Returns only where it cannot be started: the one that stands beside
 * this program, else the one in $PATH; errno says why. */
void companion_exec(const char *argv[]);

struct reader {
    pid_t pid; /* 0: none */
    int fd;    /* its standard input and output */
};

/* config, ext_id: its --config and --id, or NULL; they live as long as the reader. */
MUSTCHECK bool reader_open(const char *config, const char *ext_id, struct reader *reader, struct errbuf *err);

/* Asks about these checked names and waits for what it says: *readings is an object, name -> its line (contract,
 * section 12), the caller's. What went wrong there stands on standard error, too. Once only. False: it said nothing. */
MUSTCHECK bool reader_ask(struct reader *reader, const char *const *names, size_t count, json_t **readings,
                          struct errbuf *err);
/* Ends it, whatever it was doing. */
void reader_close(struct reader *reader);

#endif
