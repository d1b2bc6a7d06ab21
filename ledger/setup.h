/* SPDX-License-Identifier: MIT */
/*
 * setup: from the configuration to what the ledger's other parts are given.
 */
#ifndef LANDFALL_LEDGER_SETUP_H
#define LANDFALL_LEDGER_SETUP_H

#include "ledger/reads.h"
#include "ledger/round.h"
#include "runtime/config.h"

/* name: of this process in leases, heartbeats and CLIENT LIST; unique. Text is borrowed from config and name. */
MUSTCHECK bool setup_ledger(const struct config *config, const char *name, int64_t longest_window_ms,
                            struct ledger *out, struct errbuf *err);
/* A link that is not connected yet, to the server that holds the ledger's partition. */
struct redis_link *setup_link(const struct config *config, const struct ledger *ledger, const char *name);
/* What this build can and another cannot, for --version. */
const char *setup_built_in(void);
/* False, with words: this Redis belongs to another environment. theirs: what its epoch says, "" where nobody has said.
 */
MUSTCHECK bool setup_environment(const struct ledger *ledger, const char *theirs, struct errbuf *err);
/* As setup_environment(), and false also where the fleet was started with another number of partitions. */
MUSTCHECK bool setup_home(const struct ledger *ledger, const struct reads_epoch *epoch, struct errbuf *err);
/* False, with words: nothing can be published, for there are no channels. */
MUSTCHECK bool setup_channels(const struct config *config, size_t count, struct errbuf *err);
/* Puts in front of an error of a connection where its address stands and what it is. */
void setup_explain_away(const struct config *config, struct errbuf *err);
/* SIGHUP: the Redis password once more, logged; a bad file is reported and the old one stays. True: it is another
 * one, and the link has it. */
bool setup_reload(struct config *config, struct redis_link *link);
/* config.worker_name, or `<host>-<8 random hex digits>` (63 bytes at most): unique without asking anybody. */
void setup_name(const struct config *config, char out[64]);

/* Says in the log that a process without channels waits, and for what: it does not end, for a supervisor would start it
 * again and again. */
void setup_say_no_channels(const struct config *config);

/* What /ready is made of. */
struct setup_readiness {
    size_t channels; /* that are configured */
    bool ending;
    bool connected;    /* Redis answers, and is ours */
    bool takes_writes; /* it took the last heartbeat */
    bool queue_fails;  /* it does not let us read the queue; false of who does not read it */
    bool lacks_copies; /* fewer copies are acknowledged than redis.wait_ asks for; false of who waits for none */
};

/* True if the process can work; why says it in words for people. */
bool setup_ready(const struct config *config, const struct setup_readiness *facts, char *why, size_t why_size);

#endif
