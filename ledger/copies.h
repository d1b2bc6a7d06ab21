/* SPDX-License-Identifier: MIT */
/*
 * copies: has what this process wrote reached as many copies as redis.wait_ asks for?
 *
 *   mark = copies_mark(copies);                          the ledger has answered a write
 *   copies_step(copies, run_id, &through, &err)          every turn; COPIES_REACHED: all marks up to `through` are safe
 *
 * A connection of its own asks, so that nothing else waits: WAIT holds up the connection that it comes by, for as long
 * as a disk or a replica takes. It first writes something there and then waits for that. Replicas and append-only files
 * take writes in the order in which the master made them, so who has this one has all that was answered before it. One
 * question is under way at a time; what is marked meanwhile goes with the next one.
 *
 * It counts only on the server on which the marked writes were made, told by its run id: that another server has copies
 * says nothing about them. After a failure all marks are lost, nothing is to be claimed (copies_open()), and it asks by
 * itself, after growing pauses, until enough copies are there again. So it begins, too.
 *
 * NULL is a process that waits for no copies; all functions take it.
 */
#ifndef LANDFALL_LEDGER_COPIES_H
#define LANDFALL_LEDGER_COPIES_H

#include "ledger/round.h"
#include "runtime/config.h"

#define COPIES_BACKOFF_BASE_MS 250
#define COPIES_BACKOFF_CAP_MS  10000

enum copies_news { COPIES_NOTHING, COPIES_REACHED, COPIES_FAILED };

struct copies;

/* NULL where the configuration asks for no copies; the link is freed then. config and ledger are borrowed. */
struct copies *copies_new(const struct config *config, const struct ledger *ledger, struct redis_link *own_link);
void copies_free(struct copies **copies);
void copies_set_password(struct copies *copies, const struct secret *password);

/* The newest question was answered with enough copies: claims may be made. */
bool copies_open(const struct copies *copies);

/* What the ledger has answered until now is to be copied. Compare with `through` of copies_step(). */
uint64_t copies_mark(struct copies *copies);

/* Connects, asks, looks for the answer; never waits for it. run_id: of the server that takes the marked writes now, ""
 * while nobody knows. COPIES_FAILED: none of the marks counts any more, err says why. */
MUSTCHECK enum copies_news copies_step(struct copies *copies, const char *run_id, uint64_t *through,
                                       struct errbuf *err);

/* What to poll for; -1 while nothing is asked. */
int copies_fd(const struct copies *copies);

/* Boot time (ms) at which copies_step() has something to do though the descriptor says nothing; INT64_MAX: never. */
int64_t copies_wake_ms(const struct copies *copies);

#endif
