/* SPDX-License-Identifier: MIT */
/*
 * archive_file: a file of ledger lines, sorted by delivery, that only ever grows and is always whole.
 *
 * What it held and what is put in are merged into `<path>.part`, which takes its place in one step (rename) once its
 * bytes are on the disk. Whoever is killed meanwhile leaves the old file as it was, and a part that the next run
 * overwrites. The part is locked while its writer lives. A line that is there already is not written twice; another
 * line of the same delivery (it was archived once, and came again) stands behind the older one.
 */
#ifndef LANDFALL_CLI_ARCHIVE_FILE_H
#define LANDFALL_CLI_ARCHIVE_FILE_H

#include <stddef.h>

#include "runtime/errbuf.h"

struct archive_file;

/* err names the file, and its line where it holds something else than an archive. */
MUSTCHECK bool archive_file_open(const char *path, struct archive_file **out, struct errbuf *err);
/* Deliveries in rising order of their bytes. line without its line feed. */
MUSTCHECK bool archive_file_put(struct archive_file *file, const char *delivery, const char *line, struct errbuf *err);
/* The rest of what it held, then all to the disk, and into place. *lines: how many stand in the file. */
MUSTCHECK bool archive_file_commit(struct archive_file *file, size_t *lines, struct errbuf *err);
/* Without a commit the old file stays as it was. */
void archive_file_close(struct archive_file **file);

/* Tells each line of an archive, in its order: the delivery, and the state in which it left the ledger. */
typedef void archive_file_told(const char *delivery, const char *state, void *context);
MUSTCHECK bool archive_file_read(const char *path, archive_file_told *told, void *context, struct errbuf *err);

#endif
