/* SPDX-License-Identifier: MIT */
/*
 * survey_row: one delivery as far as its places matter: is it where its state says it must be? For ledger/ only.
 */
#ifndef LANDFALL_LEDGER_SURVEY_ROW_H
#define LANDFALL_LEDGER_SURVEY_ROW_H

#include "ledger/round.h"

#define SURVEY_BATCH 250 /* rows in one round trip */

struct survey_row {
    char delivery[IDENTITY_NAME_BYTES];
    char channel[IDENTITY_CHANNEL_BYTES];
    bool readable;
    enum delivery_state state; /* DS_NONE: no row */
    int64_t rev, since_ms, claimed_at_ms;
    bool behind; /* it waits for the delivery that it comes after */
    bool on_agenda, waits, in_uncertain;
    int64_t lease_left_ms; /* -2: none, -1: one without an end */
};

enum survey_fault {
    FAULT_NONE,
    FAULT_UNREADABLE,
    FAULT_NOWHERE, /* not settled, and nothing will ever look at it */
    FAULT_NO_LEASE /* claimed for longer than any lease lasts, and no lease is there */
};

/* Pure. */
enum survey_fault survey_row_fault(const struct survey_row *row, int64_t now_ms, int64_t longest_lease_ms);
/* Nothing is to be done with it any more, or it is gone: it has no business on the agenda. Pure. */
bool survey_row_rests(const struct survey_row *row);

/* Fills in rows[..] whose delivery is set (a checked name); at most SURVEY_BATCH. */
MUSTCHECK bool survey_rows_read(const struct ledger *ledger, struct redis_link *link, struct survey_row *rows,
                                size_t count, int64_t limit_ms, struct errbuf *err);

#endif
