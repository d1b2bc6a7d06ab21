/* SPDX-License-Identifier: MIT */
/*
 * answer: reads what Redis sent without believing any of it. For ledger/ only.
 *
 * Every function takes NULL and replies of any type. Texts are borrowed from the reply; copies are bounded. Nothing
 * here ends the process, whatever the bytes are.
 */
#ifndef LANDFALL_LEDGER_ANSWER_H
#define LANDFALL_LEDGER_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/request.h"
#include "ledger/row.h"

struct redisReply;

/* Number of elements; 0 for what is no array. */
size_t answer_count(const struct redisReply *reply);
/* Element i, or NULL. */
const struct redisReply *answer_at(const struct redisReply *reply, size_t i);
/* Frees a reply of a link, with all that is in it; NULL is allowed. */
void answer_free(struct redisReply *reply);

bool answer_is_array(const struct redisReply *reply);
bool answer_is_string(const struct redisReply *reply);
bool answer_is_nil(const struct redisReply *reply);
/* The text of an error reply, NULL for every other reply. */
const char *answer_error(const struct redisReply *reply);

/* A string or status; "" for anything else. *len may be NULL. Ends with a NUL, may contain others. */
const char *answer_text(const struct redisReply *reply, size_t *len);
bool answer_is(const struct redisReply *reply, const char *word);
/* An integer, or a string that is a decimal number ("1795990610859", or a score such as "1.7959906108590000e+12"). */
bool answer_number(const struct redisReply *reply, int64_t *out);
/* As answer_number; 0 for what is none. */
int64_t answer_number_or_0(const struct redisReply *reply);

/* Copies a string that fits and holds no NUL; false (and "") else. */
bool answer_copy(const struct redisReply *reply, char *out, size_t out_size);
/* Copies what fits, bytes that are no printable ASCII as '?': for texts that people read. */
void answer_words(const struct redisReply *reply, char *out, size_t out_size);
/* A copy of the bytes; *out is emptied (freed) first and stays empty where the reply is no string. */
void answer_keep(const struct redisReply *reply, struct request_text *out);
void answer_drop(struct request_text *text);

/* State and reason by name; false for a name that we do not know. */
bool answer_state(const struct redisReply *reply, enum delivery_state *out);
enum delivery_reason answer_reason(const struct redisReply *reply);

/* The value that follows `name` among name/value pairs from element `from` on; NULL if there is none. */
const struct redisReply *answer_field(const struct redisReply *reply, size_t from, const char *name);

/* Reads a row from the name/value pairs of `row` from element `from` on, and those of its values that were too long for
 * it from the pairs of `more` (the hash `request:`, or NULL). */
bool answer_row(const struct redisReply *row, size_t from, const struct redisReply *more, struct row *out,
                struct errbuf *err);

/* "<worker> <attempt> <token>" of a lease; false (and the first word only) if it is something else. */
bool answer_lease(const struct redisReply *reply, char *worker, size_t worker_size, int *attempt, char *token,
                  size_t token_size);

#endif
