/* SPDX-License-Identifier: MIT */
/*
 * file: a small file read whole, with a limit.
 *
 * For configuration and descriptors. Secrets have their own reader (secret.h), because a growing buffer leaves copies
 * behind.
 */
#ifndef RUNTIME_FILE_H
#define RUNTIME_FILE_H

#include "runtime/buf.h"
#include "runtime/errbuf.h"

/* Append the file to buf, whose maximum is the limit. Refuses what is not a regular file or does not fit; err names the
 * file. */
MUSTCHECK bool file_read(const char *path, struct buf *buf, struct errbuf *err);

/* The path as seen from the folder of `beside` (a file's path): absolute paths stay. The caller frees. */
char *file_path_beside(const char *beside, const char *path);

#endif
