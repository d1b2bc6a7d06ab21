/* SPDX-License-Identifier: MIT */
/* Idempotency keys in five formats; see key.h. */
#include "keys/key.h"
#include "keys/canonical.h"
#include "keys/hash.h"

#include <stdio.h>
#include <string.h>

#define SCHEME_VERSION "1"

/* A TID has 53 bits for microseconds; the thousands are ours, so the milliseconds end a thousand times earlier. */
#define TID_US_LIMIT        ((uint64_t)1 << 53)
#define TID_CLOCK_ID_LIMIT  1024U
#define TID_APPROVED_MAX_MS ((int64_t)(TID_US_LIMIT / 1000 - 1))

_Static_assert(KEY_PREFIX_MAX_BYTES + 1 + KEY_READABLE_MAX_BYTES + 1 + 2 * HASH_BYTES == KEY_PLAIN_MAX_BYTES,
               "the longest plain key is exactly as long as promised");

static const struct {
    const char *name;
    size_t max_bytes;
} formats[KEY_FORMAT_COUNT] = {
#define X(symbol, name, max_bytes) [KEY_##symbol] = {name, max_bytes},
    KEY_FORMATS(X)
#undef X
};

static bool check_prefix(const char *prefix, char err[KEYS_ERR_BYTES])
{
    char quoted[KEYS_QUOTE_BYTES];
    size_t len = strspn(prefix, "abcdefghijklmnopqrstuvwxyz0123456789-");

    if (len > 0 && len <= KEY_PREFIX_MAX_BYTES && !prefix[len] && prefix[0] >= 'a') return true;
    return keys_fail(err, "key prefix %s must be 1 to %d of a-z, 0-9 and -, beginning with a letter",
                     keys_quote(prefix, strlen(prefix), quoted), KEY_PREFIX_MAX_BYTES);
}

/* The readable part with a "-" behind it, or nothing. Works from the end of the id, which tells more. */
static size_t readable(const char *id, char out[KEY_READABLE_MAX_BYTES + 2])
{
    char reversed[KEY_READABLE_MAX_BYTES];
    size_t n = 0;
    bool gap = false;

    for (size_t i = strlen(id); i > 0 && n < KEY_READABLE_MAX_BYTES; i--) {
        char c = id[i - 1];
        if (c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
        if ((c < 'a' || c > 'z') && (c < '0' || c > '9')) {
            gap = n > 0;
            continue;
        }
        if (gap) {
            if (n + 1 == KEY_READABLE_MAX_BYTES) break;
            reversed[n++] = '-';
            gap = false;
        }
        reversed[n++] = c;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = reversed[n - 1 - i];
    if (n > 0) out[n++] = '-';
    out[n] = '\0';
    return n;
}

static void hash_input(const struct key_input *input, unsigned char digest[HASH_BYTES])
{
    char generation[CANONICAL_NUMBER_BYTES];
    size_t generation_len = canonical_number(input->generation, generation);
    const struct hash_field fields[] = {
        {SCHEME_VERSION, strlen(SCHEME_VERSION)}, {input->instance, strlen(input->instance)},
        {input->account, strlen(input->account)}, {input->operation, strlen(input->operation)},
        {input->id, strlen(input->id)},           {generation, generation_len},
        {input->content, input->content_len},
    };
    hash_fields(fields, sizeof(fields) / sizeof(fields[0]), digest);
}

/* The characters of a plain key are all allowed between the quotes of RFC 8941, so nothing is ever escaped. */
static void make_plain(const struct key_input *input, const char *prefix, const char *hex, const char *quote,
                       char out[KEY_BYTES])
{
    char middle[KEY_READABLE_MAX_BYTES + 2];

    readable(input->id, middle);
    const char *const parts[] = {quote, prefix, "-", middle, hex, quote};
    size_t len = 0;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        size_t part_len = strlen(parts[i]);
        KEYS_REQUIRE(len + part_len < KEY_BYTES);
        memcpy(out + len, parts[i], part_len + 1);
        len += part_len;
    }
}

static void make_uuid(const unsigned char digest[HASH_BYTES], char out[KEY_BYTES])
{
    unsigned char bytes[HASH_BYTES];
    char hex[HASH_HEX_BYTES];

    memcpy(bytes, digest, HASH_BYTES);
    bytes[6] = (unsigned char)((bytes[6] & 0x0f) | 0x80); /* version 8 */
    bytes[8] = (unsigned char)((bytes[8] & 0x3f) | 0x80); /* variant 10 */
    hash_hex(bytes, hex);
    snprintf(out, KEY_BYTES, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

static bool make_tid(const struct key_input *input, const unsigned char digest[HASH_BYTES], char out[KEY_BYTES],
                     char err[KEYS_ERR_BYTES])
{
    if (input->approved_at_ms <= 0 || input->approved_at_ms > TID_APPROVED_MAX_MS)
        return keys_fail(err, "a tid key needs the time of approval in milliseconds since 1970, not %lld",
                         (long long)input->approved_at_ms);
    uint32_t micros =
        (uint32_t)digest[0] << 24 | (uint32_t)digest[1] << 16 | (uint32_t)digest[2] << 8 | (uint32_t)digest[3];
    unsigned clock_id = ((unsigned)digest[4] << 8 | digest[5]) % TID_CLOCK_ID_LIMIT;
    key_tid((uint64_t)input->approved_at_ms * 1000 + micros % 1000, clock_id, out);
    return true;
}

bool key_make(const struct key_input *input, enum key_format format, char out[KEY_BYTES], char err[KEYS_ERR_BYTES])
{
    const char *prefix = input->prefix ? input->prefix : KEY_DEFAULT_PREFIX;
    unsigned char digest[HASH_BYTES];
    char hex[HASH_HEX_BYTES];

    if (!check_prefix(prefix, err)) return false;
    hash_input(input, digest);
    hash_hex(digest, hex);
    switch (format) {
    case KEY_PLAIN: make_plain(input, prefix, hex, "", out); return true;
    case KEY_SF_STRING: make_plain(input, prefix, hex, "\"", out); return true;
    case KEY_UUID: make_uuid(digest, out); return true;
    case KEY_HEX24: snprintf(out, KEY_BYTES, "%.24s", hex); return true;
    case KEY_TID: return make_tid(input, digest, out, err);
    case KEY_FORMAT_COUNT: break;
    }
    KEYS_REQUIRE(!"a key format that is not in the table");
    return false;
}

const char *key_format_name(enum key_format format)
{
    KEYS_REQUIRE(format < KEY_FORMAT_COUNT);
    return formats[format].name;
}

bool key_format_parse(const char *name, enum key_format *out, char err[KEYS_ERR_BYTES])
{
    char quoted[KEYS_QUOTE_BYTES];
    char known[64] = "";
    size_t n = 0;

    for (enum key_format format = 0; format < KEY_FORMAT_COUNT; format++) {
        if (strcmp(name, formats[format].name) == 0) {
            *out = format;
            return true;
        }
        n += (size_t)snprintf(known + n, sizeof(known) - n, " %s", formats[format].name);
    }
    return keys_fail(err, "key format %s is not known; there are%s", keys_quote(name, strlen(name), quoted), known);
}

bool key_format_check(enum key_format format, const char *prefix, size_t max_bytes, char err[KEYS_ERR_BYTES])
{
    KEYS_REQUIRE(format < KEY_FORMAT_COUNT);
    if (!prefix) prefix = KEY_DEFAULT_PREFIX;
    if (!check_prefix(prefix, err)) return false;

    size_t longest = formats[format].max_bytes;
    if (format == KEY_PLAIN || format == KEY_SF_STRING) longest -= KEY_PREFIX_MAX_BYTES - strlen(prefix);
    if (max_bytes == 0 || longest <= max_bytes) return true;
    return keys_fail(err, "keys of format %s have up to %zu bytes, the platform takes %zu; use hex24 or another format",
                     formats[format].name, longest, max_bytes);
}

void key_tid(uint64_t us, unsigned clock_id, char out[KEY_TID_BYTES])
{
    static const char digits[] = "234567abcdefghijklmnopqrstuvwxyz";

    KEYS_REQUIRE(us < TID_US_LIMIT && clock_id < TID_CLOCK_ID_LIMIT);
    uint64_t value = us << 10 | clock_id;
    out[KEY_TID_BYTES - 1] = '\0';
    for (int i = KEY_TID_BYTES - 2; i >= 0; i--) {
        out[i] = digits[value & 31];
        value >>= 5;
    }
}
