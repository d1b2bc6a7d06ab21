/* SPDX-License-Identifier: MIT */
/*
 * A content item and what of it goes to one channel.
 *
 * An item is a JSON Feed 1.1 item (https://www.jsonfeed.org/version/1.1/) with one member more:
 *
 *   "landfall": {"not_before": TIME, "not_after": TIME, "after": ITEM-ID,
 *                "channels": {"mastodon/brand": {any item field, not_before, not_after, after}}}
 *
 * What stands under the channel wins for that channel; null there takes a field away. The id is the same everywhere.
 * Members are those of JSON Feed, or a producer's own, which begin with "_"; others are refused, because they are
 * nearly always misspelt. null means absent. Times are RFC 3339 with an offset.
 *
 * The merged content is what is published, hashed and put into keys: all item fields, without "landfall", with the id
 * in normal form. The other texts stay byte for byte as the producer wrote them.
 */
#ifndef LANDFALL_KEYS_CONTENT_H
#define LANDFALL_KEYS_CONTENT_H

#include "keys/base.h"
#include "keys/hash.h"
#include "keys/identity.h"

#include <jansson.h>
#include <stdint.h>

/* A time that the item does not give. */
#define CONTENT_NO_TIME INT64_MIN

/* One item as it goes to one channel. Times in milliseconds since 1970, or CONTENT_NO_TIME. */
struct content {
    json_t *fields;                /* the merged content */
    char *canonical;               /* its canonical bytes, NUL behind them */
    size_t canonical_len;          /* in bytes */
    char hash[HASH_HEX_BYTES];     /* of the canonical bytes */
    char id[IDENTITY_ID_BYTES];    /* in normal form */
    char after[IDENTITY_ID_BYTES]; /* the item that must be settled first on this channel; "" for none */
    int64_t not_before_ms;
    int64_t not_after_ms;
    int64_t published_ms; /* date_published */
};

/*
 * Checks the whole item, the fields of other channels too, and merges it for one channel. item is not changed.
 * On success the caller ends with content_fini(); on failure there is nothing to free, and err names the field.
 */
MUSTCHECK bool content_merge(const json_t *item, const char *channel, struct content *out, char err[KEYS_ERR_BYTES]);
void content_fini(struct content *content);

/*
 * Milliseconds since 1970 of an RFC 3339 time, e.g. 2026-09-01T09:00:00.250+02:00. The offset is required; digits
 * behind the milliseconds are dropped; a leap second (:60) and days that no calendar has are refused.
 */
MUSTCHECK bool content_time(const char *text, int64_t *out_ms, char err[KEYS_ERR_BYTES]);

#endif
