/* SPDX-License-Identifier: MIT */
/*
 * mend: the repairs of a ledger that cannot make anything worse, whoever works meanwhile.
 *
 * A group, places and counts are put right; states, leases, doubts, journal and contents are never touched, and no
 * entry that is there is given another time. Each step is conditional inside Redis (WATCH, ZADD NX): where something
 * changed since it was looked at, nothing is written, and that is said.
 *
 *   a row that stands nowhere    goes to the agenda, due now (an uncertain one to its set, and its account is to be
 *                                walked): take, claim and reconciler then decide as always
 *   an agenda member at rest     goes: nothing is to be done with its row
 *   counts                       are set to what was counted while neither counts nor agenda changed
 */
#ifndef LANDFALL_LEDGER_MEND_H
#define LANDFALL_LEDGER_MEND_H

#include "ledger/survey.h"

struct mended {
    bool group;                        /* made */
    int64_t placed, removed, channels; /* done */
    int64_t left;                      /* changed meanwhile, or fine by now: left alone */
    int64_t counts;                    /* fields that were set */
    bool counts_left;                  /* they changed while they were counted: left alone */
};

/* First, on the link and right after a survey_read() with `watch`: ends the WATCH in any case. */
MUSTCHECK bool mend_counts(const struct ledger *ledger, struct redis_link *link, const struct survey *survey,
                           struct mended *out, int64_t limit_ms, struct errbuf *err);
/* The group of the queue, if it is missing; from the beginning of the stream, as workers make it. */
MUSTCHECK bool mend_group(const struct ledger *ledger, struct redis_link *link, struct mended *out, int64_t limit_ms,
                          struct errbuf *err);
/* Rows, agenda members and channels of the survey's lists. */
MUSTCHECK bool mend_places(const struct ledger *ledger, struct redis_link *link, const struct survey *survey,
                           int64_t now_ms, struct mended *out, int64_t limit_ms, struct errbuf *err);

#endif
