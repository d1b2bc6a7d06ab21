/* SPDX-License-Identifier: MIT */
/*
 * program: the jq programs of a descriptor, in a cage. With program_value.c and
 * program_input.c the only file that includes jq.h.
 *
 * Several texts ("parts", each with the JSON path it stands at) are joined into one jq program and compiled once;
 * input `.part` selects the one that runs. A part sees its input and nothing else of this process: no environment, no
 * files, no modules, no clock. It gives exactly one result; none, two, or an error of jq is an error of the
 * descriptor, and the text names file, path and jq's message.
 *
 * A part that only picks values is run without jq, with the same result (pick.h).
 *
 * libjq 1.6 knows doubles only: an integer that a double does not hold exactly goes in as a string of its digits. A
 * running program cannot be interrupted and memory is not limited, so descriptors are trusted code and inputs are
 * bounded. Main thread only: compiling takes HOME out of the environment for a moment, because libjq would read ~/.jq.
 */
#ifndef LANDFALL_PLATFORMS_PROGRAM_H
#define LANDFALL_PLATFORMS_PROGRAM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "keys/canonical.h"
#include "platforms/program_input.h"
#include "runtime/errbuf.h"

#define PROGRAM_INPUT_MAX_BYTES  ((size_t)8 << 20) /* strings and names, and 16 for every value */
#define PROGRAM_RESULT_MAX_BYTES ((size_t)8 << 20)
#define PROGRAM_INPUT_DEPTH_MAX  128
#define PROGRAM_RESULT_DEPTH_MAX CANONICAL_DEPTH_MAX /* what is printed must fit */

struct program;

struct program_part {
    const char *path; /* "write.request.url": names the part and says where its text stands */
    const char *text;
};

/* Compile. file is for error texts. Everything is copied. If a part does not compile, err names it. */
MUSTCHECK bool program_new(const char *file, const struct program_part *parts, size_t count, struct program **out,
                           struct errbuf *err);
void program_free(struct program **program);

/* Run one part over an input object, which is not changed (its member "part" is ours). *result is the caller's. */
MUSTCHECK bool program_run(struct program *program, const char *part, const json_t *input, json_t **result,
                           struct errbuf *err);

/* False if the part certainly gives the same whether its input has this member or not. */
bool program_sees(const struct program *program, const char *part, const char *member);

/* The same over an input that several parts of any program see. */
MUSTCHECK bool program_run_over(struct program *program, const char *part, struct program_input *input, json_t **result,
                                struct errbuf *err);

/* The same, and the result's canonical JSON is put to out. */
MUSTCHECK bool program_print_over(struct program *program, const char *part, struct program_input *input,
                                  struct canonical_text *out, struct errbuf *err);

#endif
