/* SPDX-License-Identifier: MIT */
/* Inside content only: the members of an item and what they must be. */
#ifndef LANDFALL_KEYS_CONTENT_MEMBERS_H
#define LANDFALL_KEYS_CONTENT_MEMBERS_H

#include "keys/content.h"

enum content_kind {
    KIND_ID,
    KIND_STRING,
    KIND_NUMBER,
    KIND_TIME,
    KIND_STRINGS,
    KIND_OBJECT,
    KIND_OBJECTS,
    KIND_ATTACHMENTS,
};

struct content_member {
    const char *name; /* NULL ends a table */
    enum content_kind kind;
    bool required;
};

extern const struct content_member content_item_members[];

/* The id and the hash of what was merged, and its canonical bytes, which are taken over. */
void content_finish(struct content *out, char *own_canonical, size_t len);

/*
 * The quick way to merge an item (content_text.c), for what most items are: members that are strings and lists of
 * strings, written as canonical JSON writes them, and nothing of their own for a channel. What it takes content_merge()
 * takes, with the same result. False where canonical_parse() and content_merge() must be asked; what is wrong with an
 * item they say. Fields are left to content_fields().
 */
bool content_from_text(const char *text, size_t len, struct content *out);

#endif
