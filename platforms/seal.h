/* SPDX-License-Identifier: MIT */
/*
 * seal: a session as text that says nothing to whoever has not the channel's credential.
 *
 *   1.<key id>.<base64url of nonce and box>
 *
 * The box is libsodium's crypto_secretbox (XSalsa20-Poly1305) under a key that is a keyed BLAKE2b over the channel's
 * name, its instance and all its credentials; the key id is another such hash, so that a session sealed under another
 * credential is told from one that somebody has changed. What does not open is never used. Whoever can read the ledger
 * can try passwords against the box as against any hash of them: a credential should be one that a machine drew.
 */
#ifndef LANDFALL_PLATFORMS_SEAL_H
#define LANDFALL_PLATFORMS_SEAL_H

#include <stddef.h>

#include "platforms/auth.h"
#include "platforms/channel.h"

#define SEAL_KEY_ID_BYTES 33 /* the final NUL included */

/* The key id: another one for every credential. Returns out. */
const char *seal_key_id(const struct channel *channel, char out[SEAL_KEY_ID_BYTES]);

/* The caller frees it with free(). */
char *seal_session(const struct channel *channel, const struct session *session);

enum seal_opened {
    SEAL_OPENED,
    SEAL_FOREIGN, /* sealed under another credential, for another channel or instance */
    SEAL_DAMAGED, /* not what was sealed under our key */
};

/* Fills the empty session, or leaves it empty. */
enum seal_opened seal_open(const struct channel *channel, const char *text, size_t len, struct session *session);

#endif
