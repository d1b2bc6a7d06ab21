/* SPDX-License-Identifier: MIT */
/*
 * options: the command line, read by the table of verbs.h. Pure; keeps pointers into argv.
 *
 * `--flag value` and `--flag=value`; `--` ends the flags; flags may stand before the verb. A verb's --help wins over
 * whatever else is wrong. `drain` takes everything as it stands: it belongs to the program that it starts.
 */
#ifndef LANDFALL_CLI_OPTIONS_H
#define LANDFALL_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/verbs.h"
#include "cli/when.h"
#include "runtime/errbuf.h"

#define OPTIONS_OPERANDS_MAX 64
#define OPTIONS_CHANNELS_MAX 256

struct options {
    enum verb_id verb; /* VERB_COUNT: none was given */
    const char *group; /* the first word of a verb of two words */
    bool help, version;
    const char *value[FLAG_COUNT];        /* as given; "" for a switch; NULL: not given */
    int64_t number[FLAG_COUNT];           /* FLAG_NUMBER */
    struct when when[FLAG_COUNT];         /* FLAG_WHEN */
    const char *to[OPTIONS_CHANNELS_MAX]; /* --to, each once */
    int to_count;
    const char *operand[OPTIONS_OPERANDS_MAX];
    int operand_count;
};

/* err says what is wrong and which --help to read. options->verb holds what was understood also then. */
MUSTCHECK bool options_parse(int argc, char *const argv[], struct options *options, struct errbuf *err);

/* True if the flag was given: options_has(&options, FLAG_JSON_ID). */
bool options_has(const struct options *options, enum flag_id flag);

#endif
