/* SPDX-License-Identifier: MIT */
/*
 * spool_line: the three kinds of lines of a spool file (docs/contract.md, section 11). Pure: no file, no clock.
 *
 *   the first   {"v":1,"spool":{"environment":"production","prefix":"lf","partition":0,"worker":"host-9f2c01d4"}}
 *   a report    {"v":1,"kept_at":1795990610859,"delivery":"blog/brand/x","attempt":1,"token":"..","event":..}
 *   its end     {"v":1,"done":"blog/brand/x","attempt":1,"token":".."}
 *
 * What is read is somebody else's bytes: every value is checked as if it came from outside, and a line that fails any
 * check is no line. Fields that this version does not know are ignored.
 */
#ifndef LANDFALL_LEDGER_SPOOL_LINE_H
#define LANDFALL_LEDGER_SPOOL_LINE_H

#include <jansson.h>

#include "ledger/attempt_report.h"
#include "runtime/buf.h"

#define SPOOL_LINE_MAX_BYTES ((size_t)512 << 10) /* a longer line is none of ours */
/* Item and frozen request of a report are kept up to this size together: they are needed only if Redis loses the row,
 * and a spool must stay small. */
#define SPOOL_ITEM_MAX_BYTES ((size_t)64 << 10)

/* Whose reports these are; a process takes over only what belongs to its own ledger. Borrowed text. */
struct spool_stamp {
    const char *environment, *prefix;
    int64_t partition;
    const char *worker;
};

enum spool_line_kind { SPOOL_LINE_STAMP, SPOOL_LINE_REPORT, SPOOL_LINE_DONE };

struct spool_line {
    enum spool_line_kind kind;
    json_t *own_json;             /* all text of the line */
    struct spool_stamp stamp;     /* SPOOL_LINE_STAMP */
    struct attempt_report report; /* SPOOL_LINE_REPORT; of SPOOL_LINE_DONE only delivery, attempt and token */
    char channel[IDENTITY_CHANNEL_BYTES];
    int64_t kept_at_ms; /* wall clock of the machine, for people */
};

/* Append the line and its line feed. False: err says which field is no UTF-8 text; nothing was appended. */
MUSTCHECK bool spool_line_stamp(struct buf *out, const struct spool_stamp *stamp, struct errbuf *err);
MUSTCHECK bool spool_line_report(struct buf *out, const struct attempt_report *report, int64_t kept_at_ms,
                                 struct errbuf *err);
MUSTCHECK bool spool_line_done(struct buf *out, const struct attempt_report *report, struct errbuf *err);

/* A line without its line feed. False: err says what is wrong; nothing is to be freed. *out must stay where it is: its
 * report points into it. */
MUSTCHECK bool spool_line_read(const char *bytes, size_t len, struct spool_line *out, struct errbuf *err);
void spool_line_fini(struct spool_line *line);

/* True if both are about the same attempt. */
bool spool_line_same(const struct attempt_report *a, const struct attempt_report *b);

#endif
