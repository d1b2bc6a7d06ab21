/* SPDX-License-Identifier: MIT */
/*
 * items: what is submitted, one item after the other: from a file, from a file by way of a jq program, or from a text.
 *
 * An item comes with its JSON and with the bytes that are kept in the ledger: as they stood in the file, or in
 * canonical form where landfall made the item. Every item has passed canonical_parse(); whether it is a content item is
 * for content_merge() to say.
 */
#ifndef LANDFALL_CLI_ITEMS_H
#define LANDFALL_CLI_ITEMS_H

#include <jansson.h>

#include "cli/input.h"

struct items;

struct item {
    json_t *json; /* borrowed until the next call */
    const char *bytes;
    size_t len;
};

/* path NULL: one item with this text and id; id NULL: derived from the text. map NULL: the file holds items. */
struct items_source {
    const char *path, *map;
    const char *text, *id;
};

MUSTCHECK bool items_open(const struct items_source *source, struct items **out, struct errbuf *err);
void items_close(struct items **items);

/* As input_next(): INPUT_VALUE with an item; INPUT_BAD with a line and a reason, and what follows can still be read. */
MUSTCHECK enum input_result items_next(struct items *items, struct item *item, size_t *line, struct errbuf *err);

/* As input_on_wait(). */
void items_on_wait(struct items *items, input_waits *waits, void *context);
/* For messages: the file's name. */
const char *items_name(const struct items *items);

#endif
