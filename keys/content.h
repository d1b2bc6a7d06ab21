/* SPDX-License-Identifier: MIT */
/*
 * A content item and what of it goes to one channel.
 *
 * An item is a JSON Feed 1.1 item (https://www.jsonfeed.org/version/1.1/) with one member more:
 *
 *   "landfall": {"not_before": TIME, "not_after": TIME, "after": ITEM-ID,
 *                "channels": {"blog/brand": {any item field, settings of the platform, not_before, not_after,
 * after}}}
 *
 * What stands under the channel wins for that channel; null there takes a field away. The id is the same everywhere.
 * An item's members are those of JSON Feed, or a producer's own, which begin with "_"; others are refused, because
 * they are nearly always misspelt. Under a channel the platform's settings decide which others there may be; they are
 * checked by the platform, and content_is_item_member() tells them apart. null means absent. Times are RFC 3339.
 *
 * The merged content is what is published, hashed and put into keys: all item fields, without "landfall", with the id
 * in normal form. The other texts stay byte for byte as the producer wrote them. Items come from canonical_parse().
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

/* When an item may go out. Times in milliseconds since 1970, or CONTENT_NO_TIME. */
struct content_schedule {
    int64_t not_before_ms;
    int64_t not_after_ms;
    char after[IDENTITY_ID_BYTES]; /* the item that must be settled first on the same channel; "" for none */
};

/* One item as it goes to one channel. */
struct content {
    json_t *fields;             /* the merged content; shares its values with the item, so neither may be changed; NULL
                                   after content_read(): content_fields() */
    char *canonical;            /* its canonical bytes, a NUL behind them */
    size_t canonical_len;       /* in bytes */
    bool strings_only;          /* its members are known to be strings and lists of strings */
    char hash[HASH_HEX_BYTES];  /* of the canonical bytes */
    char id[IDENTITY_ID_BYTES]; /* in normal form */
    int64_t dated_ms;           /* date_published, or CONTENT_NO_TIME */
    struct content_schedule schedule;
};

/*
 * Checks the whole item, what it says for other channels too, and merges it for one channel. item is not changed.
 * On success the caller ends with content_fini(); on failure there is nothing to free, and err names the member.
 */
MUSTCHECK bool content_merge(const json_t *item, const char *channel, struct content *out, char err[KEYS_ERR_BYTES]);
void content_fini(struct content *content);

/* Both in one, from the item's text: parses it as canonical_parse() does, and merges it. */
MUSTCHECK bool content_read(const char *text, size_t len, const char *channel, struct content *out,
                            char err[KEYS_ERR_BYTES]);

/* The merged content as a value, borrowed; of what content_read() gave it is made when it is asked for. */
json_t *content_fields(struct content *content);

/* A time as it stands in the ledger, where 0 is none: one that is not later than the beginning of 1970 is 1, for it is
 * over, and was given. */
int64_t content_stored_time(int64_t ms);

/* True for the members of a JSON Feed item and for a producer's own. */
bool content_is_item_member(const char *name);

/*
 * Milliseconds since 1970 of an RFC 3339 time, e.g. 2026-09-01T09:00:00.250+02:00. The offset is required; digits
 * behind the milliseconds are dropped; a leap second (:60) and days that no calendar has are refused.
 */
MUSTCHECK bool content_time(const char *text, int64_t *out_ms, char err[KEYS_ERR_BYTES]);

#endif
