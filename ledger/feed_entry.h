/* SPDX-License-Identifier: MIT */
/*
 * feed_entry: stream entries out of the shapes in which servers send them. For ledger/ only.
 *
 * An entry is [id, [name, value, ...]]. One whose content was deleted is [id, nil] in a consumer's own history, nil in
 * XAUTOCLAIM before Redis 7, and an id in XAUTOCLAIM's third element since. Whatever has another shape is dropped and
 * counted; nothing here ends the process.
 */
#ifndef LANDFALL_LEDGER_FEED_ENTRY_H
#define LANDFALL_LEDGER_FEED_ENTRY_H

#include "ledger/feed.h"

struct redisReply;

/* Appends the entries of a list [[id, fields], ...]; those without content too, as `deleted`. Returns how many elements
 * made no sense. */
size_t feed_entries(struct feed_batch *batch, const struct redisReply *list, bool again);

/* Appends ids whose content is gone: [id, ...]. */
void feed_deleted(struct feed_batch *batch, const struct redisReply *ids);

/* The list of entries for our one stream in an answer of XREADGROUP or XREAD: [[name, list]]; NULL if there is none. */
const struct redisReply *feed_stream_list(const struct redisReply *reply);

/* True for "<digits>-<digits>"; *ms is the first number. */
bool feed_id(const char *text, int64_t *ms);

#endif
