/* SPDX-License-Identifier: MIT */
/*
 * attempt_report: what is known of one attempt, on its way into the row.
 *
 * A worker makes it from the platform's answer and settles it; what Redis could not take at once waits in a spool file
 * and is settled from there (spool_replay.h). Both do it with the two functions here: decide with the row as it is
 * known, and if it has changed meanwhile (DECIDE_STALE) decide again with the row that the answer brought. A report may
 * be told any number of times; once it stands in the row, telling it again changes nothing.
 *
 * A server with another run id than the one that was asked for the claim may have been set back since, and have
 * forgotten a later attempt that was published; core/ decides what a report can say then. So a decision holds for one
 * server.
 *
 * All text is borrowed for as long as the report is used.
 */
#ifndef LANDFALL_LEDGER_ATTEMPT_REPORT_H
#define LANDFALL_LEDGER_ATTEMPT_REPORT_H

#include "ledger/calls_decide.h"
#include "runtime/errbuf.h"

struct attempt_report {
    const char *channel, *delivery; /* checked names */
    struct delivery_input input;    /* all but ext_id and two_found, which are set here */
    const char *ext_id, *url;       /* "": none */
    const char *duplicate;          /* the id of a second post that the answer betrays; "": none */
    bool changed;                   /* the platform stored another text than was sent */
    const char *detail;             /* for people, without secrets; "": none */
    int status;                     /* HTTP; 0: none */
    const char *run_id;             /* of the server that was asked for the claim; "": not known */

    /* For a row that the ledger has lost: it is made again. NULL and 0 where they are not known. */
    const char *content_hash, *key, *body_hash;
    const char *item, *frozen;
    size_t item_len, frozen_len;
    int64_t approved_at_ms;
};

/* The report goes to the server with this run id; "": there is none. True: what was decided about it does not hold
 * there, it is to be decided about again. */
MUSTCHECK bool attempt_report_to(struct attempt_report *report, const char *run_id);

/* True: *request is ready for round_settle(); *decision and row are borrowed by it. False: the row says so already, and
 * *decision has where it stands. */
MUSTCHECK bool attempt_report_decide(struct attempt_report *report, const struct delivery_row *row,
                                     const struct delivery_policy *policy, int64_t now_ms,
                                     struct delivery_decision *decision, struct decide_request *request);

/* DECIDE_FOREIGN: the platform gave an id that belongs to another delivery. What that means for this one is unknown. */
void attempt_report_foreign(struct attempt_report *report);

#endif
