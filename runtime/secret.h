/* SPDX-License-Identifier: MIT */
/*
 * secret: passwords, tokens and keys, as a type that nothing can print.
 *
 * A secret comes from the environment or from a file, is read by the one who fills a request (or authenticates to
 * Redis), and is wiped when it is freed. The struct is opaque, so neither a format string nor a log field takes it.
 * Error texts name the variable or the file, never the content.
 *
 * As a second line of defence this file knows every living secret and the forms in which one travels (as it is, base64
 * at any alignment, URL-encoded, escaped in JSON or HTML), and what a JSON Web Token looks like; the log masks them
 * wherever they turn up in a value, and secret_mask() does the same for excerpts of answers that are to be stored.
 * Secrets shorter than SECRET_MASK_MIN_BYTES are not masked: they would match everywhere.
 *
 * Heap memory, wiped on free, not locked: locked memory is counted in whole pages and a container's limit is a handful
 * of them. secret_protect_process() keeps the process out of core dumps and away from debuggers instead.
 */
#ifndef RUNTIME_SECRET_H
#define RUNTIME_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include "runtime/errbuf.h"

#define SECRET_MAX_BYTES      (16 * 1024)
#define SECRET_MASK_MIN_BYTES 5

struct secret;

/* A secret with a copy of these bytes (a session learned from a login, a derived key). The caller wipes its own copy.
 */
struct secret *secret_new(const void *bytes, size_t len);

/* Read the variable, overwrite its value where the process got it (so that /proc/PID/environ no longer shows it) and
 * remove it. What was removed is remembered: the same name asked again, after a reload, gives the same value again.
 * True with *secret NULL if it was never set or is empty. False if the value holds control characters or is too long.
 * Not for use with threads running. */
MUSTCHECK bool secret_from_env(const char *name, struct secret **secret, struct errbuf *err);

/* Read the file: outer white space and a byte order mark are trimmed (editors add them). False if it cannot be read, is
 * empty, longer than SECRET_MAX_BYTES, or holds inner control characters or NUL, which would break a header. A path
 * that leads nowhere is not repeated in err: a secret is written in place of its file's name now and then. */
MUSTCHECK bool secret_from_file(const char *path, struct secret **secret, struct errbuf *err);

/* The bytes, with a NUL after them. Borrowed until secret_free. For whoever fills a request, nobody else. */
const char *secret_bytes(const struct secret *secret, size_t *len);

struct secret *secret_copy(const struct secret *secret);

/* Compared in constant time; two NULLs are equal. Tells whether a credential changed at a reload. */
bool secret_equal(const struct secret *a, const struct secret *b);

/* Wipe and free; sets the pointer to NULL. NULL is allowed. */
void secret_free(struct secret **secret);

/* Length of the longest form of a living secret, or of a JSON Web Token, that begins at text, 0 if none does. The
 * beginning of one at the very end of the text counts too: excerpts are cut anywhere. */
size_t secret_match(const char *text, size_t len);

/* Where in the first `within` bytes of the text the first secret begins, as secret_match() finds it; `within` if none
 * does there. For whoever copies what is no secret in one go. */
size_t secret_search(const char *text, size_t len, size_t within);

/* Copy text to out, each secret in it replaced by "***"; cut to fit, always terminated. Returns the length written. */
size_t secret_mask(char *out, size_t out_size, const char *text, size_t len);

/* No core dump, no debugger, no reading of /proc/PID/environ and mem by others of the same user. Ends the process if
 * the kernel refuses. Call it first in main(), before any secret is read. */
void secret_protect_process(void);

#endif
