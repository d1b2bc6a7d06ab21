/* SPDX-License-Identifier: MIT */
/*
 * hmac: HMAC with SHA-256 (RFC 2104), piece by piece. By libcrypto, which libcurl brings along: it uses the processor's
 * instructions for SHA-256 and is six times as fast as libsodium, which has none.
 *
 * To make one from a key costs more than a short message, so it is kept for the key's next message. What it holds of
 * the key is wiped by hmac_free().
 */
#ifndef LANDFALL_PLATFORMS_HMAC_H
#define LANDFALL_PLATFORMS_HMAC_H

#include <stddef.h>

#define HMAC_BYTES 32

struct hmac;

struct hmac *hmac_new(const unsigned char *key, size_t key_len);
void hmac_free(struct hmac **hmac);

/* One message after the other: begin, what it consists of, end. A message that was not ended is forgotten. */
void hmac_begin(struct hmac *hmac);
void hmac_add(struct hmac *hmac, const void *bytes, size_t len);
void hmac_end(struct hmac *hmac, unsigned char mac[HMAC_BYTES]);

#endif
