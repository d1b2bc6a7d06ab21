/* SPDX-License-Identifier: MIT */
/*
 * spool: outcomes that the ledger has not taken yet, on the disk, so that they survive this process.
 *
 * An outcome goes there when the ledger could not be asked about it (no connection, a round without an answer, a server
 * that refuses writes for now), never on the way of an ordinary settlement. It counts as kept when it is on the disk;
 * once it is settled its line is struck out, and a file in which nothing is left is emptied. What other processes have
 * left is looked for at the start and every 30 s. Without a folder all of this does nothing.
 */
#ifndef LANDFALL_WORKER_SPOOL_H
#define LANDFALL_WORKER_SPOOL_H

#include "worker/worker.h"

struct spool;

/* *out is NULL where the configuration names no folder. name: of this process; borrowed. err names the folder. */
MUSTCHECK bool spool_open(const struct config *config, const char *name, struct spool **out, struct errbuf *err);
/* Removes the file if nothing is left in it. */
void spool_close(struct spool **spool);

/* One line of log: where outcomes are kept, or what it can cost that they are not. */
void spool_say(const struct spool *spool);

/* Writes down the outcomes that the ledger could not take; all: every one that is in hand. */
void spool_keep(struct worker *w, bool all);
/* The slot's outcome stands in its row. */
void spool_settled(struct worker *w, const struct slot *slot);
/* Outcomes in the file. */
int64_t spool_pending(const struct spool *spool);

/* Settles what processes that are gone have left, when it is time to look. */
void spool_look(struct worker *w, int64_t now_boot_ms);

#endif
