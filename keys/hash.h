/* SPDX-License-Identifier: MIT */
/*
 * BLAKE2b (RFC 7693) with a digest of 16 bytes, no key, no salt: the one hash behind keys, content and bodies.
 *
 * hash_fields() is for several values in a row: each goes in as its length (8 bytes, little-endian) and then its
 * bytes, so that ("ab","c") and ("a","bc") differ. hash_bytes() is the plain digest of one buffer, which
 * "b2sum -l 128" prints too. Nothing here fails or allocates.
 */
#ifndef LANDFALL_KEYS_HASH_H
#define LANDFALL_KEYS_HASH_H

#include <stddef.h>

#define HASH_BYTES     16
#define HASH_HEX_BYTES 33 /* 32 lower-case digits and a NUL */

struct hash_field {
    const void *data;
    size_t len;
};

void hash_fields(const struct hash_field *fields, size_t count, unsigned char out[HASH_BYTES]);
void hash_bytes(const void *data, size_t len, unsigned char out[HASH_BYTES]);

/* The digest in lower-case hexadecimal digits. */
void hash_hex(const unsigned char digest[HASH_BYTES], char out[HASH_HEX_BYTES]);

/* hash_bytes() and hash_hex() in one: content hashes and body hashes. */
void hash_bytes_hex(const void *data, size_t len, char out[HASH_HEX_BYTES]);

#endif
