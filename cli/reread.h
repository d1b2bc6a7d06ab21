/* SPDX-License-Identifier: MIT */
/*
 * reread: the platforms are read back before a person's act, in one go for all deliveries that it is about.
 *
 * landfall-reconciler reads them (companion.h), for nobody else reads platforms. What it says holds for the row that it
 * has seen; whether that is still the row is looked at when the act is decided (act.h).
 */
#ifndef LANDFALL_CLI_REREAD_H
#define LANDFALL_CLI_REREAD_H

#include "cli/act.h"
#include "cli/cli.h"
#include "cli/companion.h"
#include "cli/pick.h"

struct reread {
    bool off; /* the act goes without */
    struct reader reader;
    json_t *readings; /* delivery -> what was said of it; NULL: nobody was asked */
};

/* Before cli_load(). wanted: the act reads at all. ext_id: the only delivery's post is asked for by it; NULL. */
MUSTCHECK bool reread_open(struct cli *cli, bool wanted, const char *ext_id, struct reread *out);
void reread_close(struct reread *reread);

/* Reads what act_wants_reading(). False: Redis did not answer, cli->err says why. A platform that could not be read is
 * no failure: there is no reading of its deliveries then. */
MUSTCHECK bool reread_read(struct cli *cli, const struct act *act, const struct pick *pick, struct reread *reread);

/* False: nothing is known of it. The strings live as long as the reread. */
MUSTCHECK bool reread_find(const struct reread *reread, const char *delivery, struct act_reading *out);

/* What is known of a delivery beside a reading; borrows from read and cli. */
struct act_facts reread_facts(const struct cli *cli, const char *channel, const struct reads_delivery *read);

#endif
