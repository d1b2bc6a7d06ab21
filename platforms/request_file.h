/* SPDX-License-Identifier: MIT */
/*
 * request_file: bytes that a step before the write fetched, and the body of a later step that sends them.
 *
 * Pictures do not fit into what programs see. A step with `keep_bytes` has the body of its answer kept here, under its
 * name and its element of `each`; a later step with a body of kind `file` says which of them it sends, raw or as
 * multipart/form-data (RFC 7578). They live as long as the attempt, are never frozen and never reach the ledger.
 */
#ifndef LANDFALL_PLATFORMS_REQUEST_FILE_H
#define LANDFALL_PLATFORMS_REQUEST_FILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "runtime/errbuf.h"

struct channel;       /* platforms/channel.h */
struct form;          /* platforms/form.h */
struct answer;        /* platforms/answer.h */
struct program_input; /* platforms/program_input.h */

struct request_file {
    char *step;
    size_t at;
    char *bytes;
    size_t len;
};

/* All zero: none. */
struct request_files {
    struct request_file *file;
    size_t count;
};

void request_files_fini(struct request_files *files);

/* Keeps the answer's body, in place of what was kept under that name before. */
void request_files_keep(struct request_files *files, const char *step, size_t at, const struct answer *answer);

/*
 * The body of a `file` program, which gives {from: name of the step, type: content type}, raw; with {name: name of the
 * part, filename, fields: object of strings} as multipart. at: the element that is sent. False: err says why.
 */
MUSTCHECK bool request_file_body(struct channel *channel, const char *part, struct program_input *input, size_t at,
                                 const struct request_files *files, struct form *form, struct errbuf *err);

#endif
