/* SPDX-License-Identifier: MIT */
/*
 * sweep: looks through all rows, a few at a time, for deliveries that are not settled and to which nothing leads, and
 * puts them, or their channels, on the agenda.
 *
 * Begins with the first connection, and anew whenever the server is another one (its run id): a machine that failed can
 * have brought back half of what a script wrote. Slow on purpose: 100 rows in a step, SWEEP_PAUSE_MS between two. No
 * delivery is decided about here. A loop calls sweep_step() in every turn; several processes may sweep at once.
 */
#ifndef LANDFALL_LEDGER_SWEEP_H
#define LANDFALL_LEDGER_SWEEP_H

#include "ledger/keyscan.h"
#include "ledger/round.h"

#define SWEEP_PAUSE_MS 50
#define SWEEP_ROWS     100

struct sweep {
    char run_id[64]; /* of the server that was, or is being, swept */
    char pattern[NAMES_KEY_BYTES];
    struct keyscan scan;
    struct redisReply **page; /* owned; NULL: the next one is to be read */
    size_t at;                /* the next name of the page */
    bool active;
    int64_t next_ms; /* boot time */
};

void sweep_init(struct sweep *sweep);
void sweep_fini(struct sweep *sweep);

/* When the next step is due, boot time; INT64_MAX while there is nothing to do. */
int64_t sweep_due_ms(const struct sweep *sweep);

/* The link is open, and the ledger is ours. *placed: for how many deliveries this step did so. False: Redis did not
 * answer, err says why; the sweep begins again. */
MUSTCHECK bool sweep_step(struct sweep *sweep, const struct ledger *ledger, struct redis_link *link, int64_t limit_ms,
                          int64_t *placed, struct errbuf *err);

#endif
