/* SPDX-License-Identifier: MIT */
/* BLAKE2b by libsodium; see hash.h. Its results do not depend on sodium_init(), which only picks faster code. */
#include "keys/hash.h"

#include <sodium.h>
#include <stdint.h>

static void add_field(crypto_generichash_state *state, const struct hash_field *field)
{
    unsigned char prefix[8];
    uint64_t len = field->len;

    for (size_t i = 0; i < sizeof(prefix); i++)
        prefix[i] = (unsigned char)(len >> (8 * i));
    crypto_generichash_update(state, prefix, sizeof(prefix));
    crypto_generichash_update(state, field->data, field->len);
}

void hash_fields(const struct hash_field *fields, size_t count, unsigned char out[HASH_BYTES])
{
    crypto_generichash_state state;

    crypto_generichash_init(&state, NULL, 0, HASH_BYTES);
    for (size_t i = 0; i < count; i++)
        add_field(&state, &fields[i]);
    crypto_generichash_final(&state, out, HASH_BYTES);
}

void hash_bytes(const void *data, size_t len, unsigned char out[HASH_BYTES])
{
    crypto_generichash(out, HASH_BYTES, data, len, NULL, 0);
}

void hash_hex(const unsigned char digest[HASH_BYTES], char out[HASH_HEX_BYTES])
{
    sodium_bin2hex(out, HASH_HEX_BYTES, digest, HASH_BYTES);
}

void hash_bytes_hex(const void *data, size_t len, char out[HASH_HEX_BYTES])
{
    unsigned char digest[HASH_BYTES];

    hash_bytes(data, len, digest);
    hash_hex(digest, out);
}
