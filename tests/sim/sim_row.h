/* SPDX-License-Identifier: MIT */
/* sim_row: a delivery's row as somebody sees it who looks into Redis from outside, and where it must stand. */
#ifndef SIM_SIM_ROW_H
#define SIM_SIM_ROW_H

#include "tests/sim/redis_db.h"

#define SIM_ROW_START     "lf:{0}:" /* of every key */
#define SIM_ROW_KEY_BYTES 128

/* The object at a key of ours; suffix "": the kind has none. NULL: there is none. */
struct redis_object *sim_row_object(struct redis_db *db, const char *kind, const char *suffix);
/* "" where the row or the field is not there. Borrowed. */
const char *sim_row_field(const struct redis_object *row, const char *name);
/* A row stands where its state says, and only there: agenda, waiting list, journal, set of the uncertain. NULL: it
 * does; else what is wrong, a literal. */
const char *sim_row_misplaced(struct redis_db *db, const char *channel, const char *delivery);

#endif
