/* SPDX-License-Identifier: MIT */
/*
 * shape: a JSON object read by a table into a struct, everything checked.
 *
 * A shape is the list of an object's members: name, type, bounds, where the value goes. What is not in the list is an
 * error, "$comment" excepted. Errors name the file and the JSON path and say what to do. Descriptors, channels and the
 * published schema's test use the same tables, so that what is documented, checked and read cannot drift apart.
 *
 * Strings and JSON values in the struct are borrowed from the document. Lists, and the paths of programs, belong to the
 * reader and live until shape_reader_fini().
 */
#ifndef LANDFALL_PLATFORMS_SHAPE_H
#define LANDFALL_PLATFORMS_SHAPE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "runtime/errbuf.h"

enum shape_kind {
    SHAPE_TEXT,     /* const char *, not empty */
    SHAPE_PROGRAM,  /* const char *: the program's path; its text is listed in the reader */
    SHAPE_BOOLEAN,  /* bool */
    SHAPE_INTEGER,  /* int64_t */
    SHAPE_WORD,     /* an enum: the index in `words` */
    SHAPE_OBJECT,   /* a struct that begins at the offset */
    SHAPE_LIST,     /* a pointer to structs and, at count_offset, a size_t; array of objects */
    SHAPE_MAP,      /* the same; object of objects, whose names go to the structs' first member */
    SHAPE_STATUSES, /* struct descriptor_status_list */
    SHAPE_NAMES,    /* const json_t *: array of strings, not empty */
    SHAPE_CHOICES,  /* const json_t *: array of SHAPE_NAMES */
    SHAPE_VALUE,    /* const json_t *: anything */
};

struct shape;

struct shape_member {
    const char *name;
    enum shape_kind kind;
    size_t offset;
    bool required;
    int64_t min, max;          /* SHAPE_INTEGER */
    int64_t fallback;          /* SHAPE_INTEGER, SHAPE_BOOLEAN, SHAPE_WORD: where it is not given */
    const char *const *words;  /* SHAPE_WORD: NULL at the end */
    const struct shape *shape; /* SHAPE_OBJECT, SHAPE_LIST, SHAPE_MAP */
    size_t count_offset;       /* SHAPE_LIST, SHAPE_MAP */
    size_t given_offset;       /* SHAPE_OBJECT: a bool that says whether it was there; 0: none */
    unsigned halves;           /* SHAPE_PROGRAM: where it is needed, for the caller */
    const char *todo;          /* said when it is missing; SHAPE_MAP: when an item is no object */
};

struct shape {
    size_t size; /* of one struct */
    const struct shape_member *members;
    size_t count;
};

struct shape_program {
    const char *path;
    const char *text;
    unsigned halves;
};

struct shape_reader {
    const char *file;
    struct errbuf *err;
    char path[256];
    struct shape_program *programs;
    size_t program_count;
    void **owned;
    size_t owned_count;
};

/* file is borrowed. path: where the object stands, "$" for the document. */
void shape_reader_init(struct shape_reader *reader, const char *file, const char *path, struct errbuf *err);
void shape_reader_fini(struct shape_reader *reader);

/* Read an object into the zeroed struct at `out`. */
MUSTCHECK bool shape_read(struct shape_reader *reader, const json_t *object, const struct shape *shape, void *out);

/* "<file>: $.a.b: <text>", for checks that a table cannot express. Returns false. */
bool shape_error(struct shape_reader *reader, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Memory that goes with the reader. */
void *shape_keep(struct shape_reader *reader, void *own_memory);

#endif
