/* SPDX-License-Identifier: MIT */
/*
 * What stands in the box: the end of the session (8 bytes, the lowest first), then for each value the length of its
 * name (1 byte), the name, the length of the value (4 bytes) and the value.
 */
#include "platforms/seal.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/buf.h"
#include "runtime/die.h"

#define VERSION      "1."
#define KEY_ID_BYTES 16 /* the least that BLAKE2b gives in libsodium */
#define KEY_ID_HEX   (2 * KEY_ID_BYTES)
#define HEAD_BYTES   (sizeof(VERSION) - 1 + KEY_ID_HEX + 1)
#define PLAIN_MAX    ((size_t)DESCRIPTOR_SESSION_VALUES_MAX * (SECRET_MAX_BYTES + SESSION_NAME_BYTES + 8) + 8)
#define VARIANT      sodium_base64_VARIANT_URLSAFE_NO_PADDING

_Static_assert(KEY_ID_BYTES >= crypto_generichash_BYTES_MIN, "a hash that libsodium makes");
_Static_assert(KEY_ID_HEX + 1 == SEAL_KEY_ID_BYTES, "hexadecimal and a NUL");

/* ---- keys ---- */

static void hash_field(crypto_generichash_state *state, const void *bytes, size_t len)
{
    unsigned char length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)len >> (8 * i));
    crypto_generichash_update(state, length, sizeof(length));
    crypto_generichash_update(state, bytes, len);
}

static void hash_text(crypto_generichash_state *state, const char *text)
{
    hash_field(state, text, strlen(text));
}

/* label: what the hash is for. */
static void derive(const struct channel *channel, const char *label, unsigned char *out, size_t out_size)
{
    crypto_generichash_state state;
    crypto_generichash_init(&state, (const unsigned char *)label, strlen(label), out_size);
    hash_text(&state, channel->name);
    hash_text(&state, channel->instance);
    for (size_t i = 0; i < channel->credentials.count; i++) {
        size_t len;
        const char *bytes = secret_bytes(channel->credentials.items[i].secret, &len);
        hash_text(&state, channel->credentials.items[i].name);
        hash_field(&state, bytes, len);
    }
    crypto_generichash_final(&state, out, out_size);
    sodium_memzero(&state, sizeof(state));
}

static void key_of(const struct channel *channel, unsigned char key[crypto_secretbox_KEYBYTES])
{
    derive(channel, "landfall session, key, version 1", key, crypto_secretbox_KEYBYTES);
}

const char *seal_key_id(const struct channel *channel, char out[SEAL_KEY_ID_BYTES])
{
    unsigned char id[KEY_ID_BYTES];
    derive(channel, "landfall session, id, version 1", id, sizeof(id));
    return sodium_bin2hex(out, SEAL_KEY_ID_BYTES, id, sizeof(id));
}

static void write_head(const struct channel *channel, char head[HEAD_BYTES + 1])
{
    char id[SEAL_KEY_ID_BYTES];
    snprintf(head, HEAD_BYTES + 1, "%s%s.", VERSION, seal_key_id(channel, id));
}

/* ---- the plain text ---- */

static void append_number(struct buf *out, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        unsigned char byte = (unsigned char)(number >> (8 * i));
        buf_append(out, &byte, 1);
    }
}

static void write_plain(const struct session *session, struct buf *out)
{
    append_number(out, (uint64_t)session->until_ms, 8);
    for (int i = 0; i < session->count; i++) {
        size_t len;
        const char *bytes = secret_bytes(session->values[i].secret, &len);
        append_number(out, strlen(session->values[i].name), 1);
        buf_append_text(out, session->values[i].name);
        append_number(out, len, 4);
        buf_append(out, bytes, len);
    }
}

struct plain {
    const unsigned char *bytes;
    size_t len;
};

static bool take_bytes(struct plain *plain, size_t len, const unsigned char **out)
{
    if (plain->len < len) return false;
    *out = plain->bytes;
    plain->bytes += len;
    plain->len -= len;
    return true;
}

static bool take_number(struct plain *plain, size_t bytes, uint64_t *out)
{
    const unsigned char *at;
    *out = 0;
    if (!take_bytes(plain, bytes, &at)) return false;
    for (size_t i = bytes; i-- > 0;)
        *out = *out << 8 | at[i];
    return true;
}

static bool read_value(struct plain *plain, struct session *session)
{
    const unsigned char *name, *value;
    char text[SESSION_NAME_BYTES];
    uint64_t name_len, value_len;
    if (!take_number(plain, 1, &name_len) || name_len == 0 || name_len >= sizeof(text) ||
        !take_bytes(plain, name_len, &name) || !take_number(plain, 4, &value_len) || value_len > SECRET_MAX_BYTES ||
        !take_bytes(plain, value_len, &value))
        return false;
    snprintf(text, sizeof(text), "%.*s", (int)name_len, (const char *)name);
    session_put(session, text, secret_new(value, value_len));
    return true;
}

static bool read_plain(struct plain plain, struct session *session)
{
    uint64_t until_ms;
    bool ok = take_number(&plain, 8, &until_ms) && until_ms <= INT64_MAX;
    while (ok && plain.len > 0)
        ok = read_value(&plain, session);
    if (ok) session->until_ms = (int64_t)until_ms;
    return ok;
}

/* ---- the box ---- */

char *seal_session(const struct channel *channel, const struct session *session)
{
    unsigned char key[crypto_secretbox_KEYBYTES];
    char head[HEAD_BYTES + 1];
    struct buf plain;
    buf_init(&plain, PLAIN_MAX);
    write_plain(session, &plain);
    size_t size = crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES + plain.len;
    unsigned char *box = xmalloc(size);
    randombytes_buf(box, crypto_secretbox_NONCEBYTES);
    key_of(channel, key);
    if (crypto_secretbox_easy(box + crypto_secretbox_NONCEBYTES, (const unsigned char *)buf_text(&plain), plain.len,
                              box, key) != 0)
        die("a session that cannot be sealed");
    write_head(channel, head);
    size_t text_size = HEAD_BYTES + sodium_base64_encoded_len(size, VARIANT);
    char *text = xmalloc(text_size);
    memcpy(text, head, HEAD_BYTES);
    sodium_bin2base64(text + HEAD_BYTES, text_size - HEAD_BYTES, box, size, VARIANT);
    sodium_memzero(key, sizeof(key));
    if (plain.data) sodium_memzero(plain.data, plain.capacity);
    buf_fini(&plain);
    free(box);
    return text;
}

static bool open_box(const struct channel *channel, const unsigned char *box, size_t len, struct session *session)
{
    const size_t over = crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES;
    unsigned char key[crypto_secretbox_KEYBYTES];
    if (len < over) return false;
    unsigned char *plain = xmalloc(len - over + 1);
    key_of(channel, key);
    bool ok = crypto_secretbox_open_easy(plain, box + crypto_secretbox_NONCEBYTES, len - crypto_secretbox_NONCEBYTES,
                                         box, key) == 0 &&
              read_plain((struct plain){plain, len - over}, session);
    sodium_memzero(key, sizeof(key));
    sodium_memzero(plain, len - over + 1);
    free(plain);
    return ok;
}

enum seal_opened seal_open(const struct channel *channel, const char *text, size_t len, struct session *session)
{
    char head[HEAD_BYTES + 1];
    write_head(channel, head);
    if (len < HEAD_BYTES || memcmp(text, VERSION, sizeof(VERSION) - 1) != 0) return SEAL_DAMAGED;
    if (sodium_memcmp(text, head, HEAD_BYTES) != 0) return SEAL_FOREIGN;
    size_t box_size = len - HEAD_BYTES, box_len = 0;
    const char *end = NULL;
    unsigned char *box = xmalloc(box_size + 1);
    bool ok =
        sodium_base642bin(box, box_size, text + HEAD_BYTES, len - HEAD_BYTES, NULL, &box_len, &end, VARIANT) == 0 &&
        end == text + len && open_box(channel, box, box_len, session);
    free(box);
    if (!ok) session_fini(session);
    return ok ? SEAL_OPENED : SEAL_DAMAGED;
}
