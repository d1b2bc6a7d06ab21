/* SPDX-License-Identifier: MIT */
/*
 * spool_file: files of outcomes that Redis has not taken yet (docs/contract.md, section 11).
 *
 * A file belongs to one process and is locked by it (flock) for as long as that lives, so a lock that is free means:
 * its owner is gone, whoever takes the lock may settle what is in the file and remove it. The lock is the kernel's: a
 * process that is killed in whatever way gives it back. The folder must be on a disk of this machine.
 *
 * Appending is all or nothing: a line that did not fit is cut off again, and counts only after spool_file_sync(). Once
 * that fails nobody knows what is on the disk, and the file is not to be appended to any more (spool_file_broken()).
 * Nothing here is ever deleted that was not read whole.
 */
#ifndef LANDFALL_LEDGER_SPOOL_FILE_H
#define LANDFALL_LEDGER_SPOOL_FILE_H

#include "ledger/spool_line.h"

#define SPOOL_FILE_NAME_BYTES 128
#define SPOOL_FILE_SUFFIX     ".spool"
#define SPOOL_ASIDE_SUFFIX    ".unreadable"

struct spool_file;

/* A new, locked file with its first line on the disk: `<worker>.spool`, or `<worker>-<8 hex digits>.spool` where that
 * name is taken. err names the folder and what to do. */
MUSTCHECK bool spool_file_create(const char *folder, const struct spool_stamp *stamp, struct spool_file **out,
                                 struct errbuf *err);

/* Whole lines. False: nothing was added. */
MUSTCHECK bool spool_file_append(struct spool_file *file, const struct buf *lines, struct errbuf *err);
MUSTCHECK bool spool_file_sync(struct spool_file *file, struct errbuf *err);
bool spool_file_broken(const struct spool_file *file);
/* Forgets everything behind the first line. */
void spool_file_clear(struct spool_file *file);
int64_t spool_file_bytes(const struct spool_file *file);
const char *spool_file_path(const struct spool_file *file);

/* Gives the lock back and leaves the file to others, removes it, or puts it aside under another name. All free. */
void spool_file_leave(struct spool_file **file);
void spool_file_remove(struct spool_file **file);
MUSTCHECK bool spool_file_put_aside(struct spool_file **file, struct errbuf *err);

/* ---- the files of others ---- */

enum spool_file_taken {
    SPOOL_FILE_TAKEN, /* locked: *out is to be given back with one of the three functions above */
    SPOOL_FILE_ALIVE, /* its owner lives, or somebody else settles it now */
    SPOOL_FILE_GONE,  /* settled and removed meanwhile */
    SPOOL_FILE_ERROR,
};

MUSTCHECK enum spool_file_taken spool_file_take(const char *folder, const char *name, struct spool_file **out,
                                                struct errbuf *err);

/* What stands in a file. */
struct spool_content {
    struct spool_line *stamp;    /* NULL: the first line is none */
    struct spool_line **reports; /* without those whose end stands behind them */
    size_t count;
    size_t lines;          /* whole ones, the first included */
    size_t unreadable;     /* of them */
    size_t first_bad_line; /* 0: none */
    struct errbuf why;     /* of the first unreadable line */
    size_t torn_bytes;     /* behind the last line feed: a write that was cut off, and counts for nothing */
};

/* Reads it from the beginning, whoever has the lock. False: the file cannot be read. */
MUSTCHECK bool spool_file_read(const char *folder, const char *name, struct spool_content *out, struct errbuf *err);
void spool_content_fini(struct spool_content *content);

/* Cuts off what a torn write left, so that lines can be added. */
void spool_file_cut_torn(struct spool_file *file, size_t torn_bytes);

/* Names with one of the two endings, sorted; at most 10,000. */
struct spool_names {
    char (*name)[SPOOL_FILE_NAME_BYTES];
    size_t count;
};
MUSTCHECK bool spool_names(const char *folder, struct spool_names *out, struct errbuf *err);
void spool_names_fini(struct spool_names *names);
bool spool_name_is_aside(const char *name);

#endif
