/* SPDX-License-Identifier: MIT */
/*
 * Who a delivery is: one item on one channel. That pair is the identity, never the run, the attempt or the text.
 *
 *   channel   platform "/" account, at most 64 bytes
 *             platform [a-z][a-z0-9-]{0,30}, account [A-Za-z0-9][A-Za-z0-9._@-]{0,62}
 *   item id   UTF-8 in normalisation form C (Unicode Standard Annex 15), 1 to 200 bytes after that; no control
 *             characters, no line or paragraph separators, no white space at either end. Slashes, colons, spaces
 *             inside and per cent signs are allowed.
 *   name      channel "/" item id. The first two parts are the channel, everything after the second slash is the id,
 *             so a name is read in one way only.
 *
 * Only the identity is normalised: what is published stays as the producer wrote it. Form C and not KC, because the
 * compatibility form folds texts that mean different things (a ligature, a circled digit, a trade mark sign).
 *
 * Nothing here allocates; all results go to the caller's storage.
 */
#ifndef LANDFALL_KEYS_IDENTITY_H
#define LANDFALL_KEYS_IDENTITY_H

#include "keys/base.h"

/* Sizes of the buffers, the final NUL included. */
#define IDENTITY_CHANNEL_BYTES 65
#define IDENTITY_ID_BYTES      201
#define IDENTITY_NAME_BYTES    (IDENTITY_CHANNEL_BYTES + IDENTITY_ID_BYTES)

/* Longest id taken before normalisation: form C shortens a text to a quarter at most, so longer can never fit. */
#define IDENTITY_INPUT_MAX_BYTES 800

struct delivery_id {
    char channel[IDENTITY_CHANNEL_BYTES];
    char id[IDENTITY_ID_BYTES];
};

/* True if text is a channel. */
MUSTCHECK bool identity_channel_check(const char *text, char err[KEYS_ERR_BYTES]);

/* The account part of a checked channel: a pointer into it, behind the slash. */
const char *identity_account(const char *channel);

/* Writes the item id in normalised form. in need not end with a NUL; a NUL inside is refused as a control character. */
MUSTCHECK bool identity_item_normalise(const char *in, size_t in_len, char out[IDENTITY_ID_BYTES],
                                       char err[KEYS_ERR_BYTES]);

/* Takes a delivery name apart, checks the channel and normalises the id. */
MUSTCHECK bool identity_parse(const char *name, struct delivery_id *out, char err[KEYS_ERR_BYTES]);

/* Writes the delivery name and returns its length in bytes. */
size_t identity_join(const char *channel, const char *id, char out[IDENTITY_NAME_BYTES]);
size_t identity_name(const struct delivery_id *delivery, char out[IDENTITY_NAME_BYTES]);

#endif
