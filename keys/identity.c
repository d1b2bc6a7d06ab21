/* SPDX-License-Identifier: MIT */
/* Channels, item ids and delivery names; see identity.h. */
#include "keys/identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#define PLATFORM_MAX_BYTES 31
#define ACCOUNT_MAX_BYTES  63

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGIT "0123456789"

bool identity_channel_check(const char *text, char err[KEYS_ERR_BYTES])
{
    char quoted[KEYS_QUOTE_BYTES];
    size_t len = strnlen(text, IDENTITY_CHANNEL_BYTES);
    const char *slash = memchr(text, '/', len);

    keys_quote(text, len, quoted);
    if (len >= IDENTITY_CHANNEL_BYTES)
        return keys_fail(err, "channel %s is longer than %d bytes; shorten the account name", quoted,
                         IDENTITY_CHANNEL_BYTES - 1);
    if (!slash) return keys_fail(err, "channel %s has no slash; write it as platform/account, e.g. blog/brand", quoted);

    size_t platform_len = strspn(text, LOWER DIGIT "-");
    if (platform_len != (size_t)(slash - text) || platform_len == 0 || platform_len > PLATFORM_MAX_BYTES ||
        !strchr(LOWER, text[0]))
        return keys_fail(err,
                         "channel %s: the platform before the slash must be 1 to %d of a-z, 0-9 and -, "
                         "beginning with a letter",
                         quoted, PLATFORM_MAX_BYTES);

    const char *account = slash + 1;
    size_t account_len = strspn(account, LOWER UPPER DIGIT "._@-");
    if (account[account_len] || account_len == 0 || account_len > ACCOUNT_MAX_BYTES || strchr("._@-", account[0]))
        return keys_fail(err,
                         "channel %s: the account after the slash must be 1 to %d of A-Z, a-z, 0-9, '.', '_', '@' "
                         "and '-', beginning with a letter or digit",
                         quoted, ACCOUNT_MAX_BYTES);
    return true;
}

const char *identity_account(const char *channel)
{
    const char *slash = strchr(channel, '/');
    KEYS_REQUIRE(slash);
    return slash + 1;
}

static bool is_control(utf8proc_int32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029;
}

/* Space separators, and the byte order mark: editors leave it at the start of a text and nobody sees it. */
static bool is_space(utf8proc_int32_t code)
{
    return code == 0xfeff || utf8proc_category(code) == UTF8PROC_CATEGORY_ZS;
}

/* Checks every character; the normal form has the same controls and, at its ends, the same spaces. */
static bool check_characters(const unsigned char *in, size_t in_len, char err[KEYS_ERR_BYTES])
{
    char quoted[KEYS_QUOTE_BYTES];
    utf8proc_ssize_t step;

    for (size_t at = 0; at < in_len; at += (size_t)step) {
        utf8proc_int32_t code;
        step = utf8proc_iterate(in + at, (utf8proc_ssize_t)(in_len - at), &code);
        if (step < 1)
            return keys_fail(err, "item id %s is not UTF-8 from byte %zu on; send the id as UTF-8 text",
                             keys_quote(in, in_len, quoted), at + 1);
        if (is_control(code))
            return keys_fail(err,
                             "item id %s has the control character U+%04X at byte %zu; ids are one line of text, "
                             "remove it",
                             keys_quote(in, in_len, quoted), (unsigned)code, at + 1);
        if (is_space(code) && (at == 0 || at + (size_t)step == in_len))
            return keys_fail(err, "item id %s begins or ends with white space (U+%04X); trim it",
                             keys_quote(in, in_len, quoted), (unsigned)code);
    }
    return true;
}

/* Printable ASCII without a space at an end: it is its own normal form, and nothing is wrong with it. */
static bool is_plain(const char *in, size_t in_len)
{
    for (size_t i = 0; i < in_len; i++)
        if (in[i] < ' ' || in[i] > '~') return false;
    return in_len > 0 && in_len < IDENTITY_ID_BYTES && in[0] != ' ' && in[in_len - 1] != ' ';
}

bool identity_item_normalise(const char *in, size_t in_len, char out[IDENTITY_ID_BYTES], char err[KEYS_ERR_BYTES])
{
    const unsigned char *bytes = (const unsigned char *)in;
    char quoted[KEYS_QUOTE_BYTES];

    if (is_plain(in, in_len)) {
        memcpy(out, in, in_len);
        out[in_len] = '\0';
        return true;
    }
    if (in_len == 0) return keys_fail(err, "item id is empty; every item needs an id that never changes");
    if (in_len > IDENTITY_INPUT_MAX_BYTES)
        return keys_fail(err, "item id %s is %zu bytes long, at most %d are allowed; use a shorter, stable id",
                         keys_quote(in, in_len, quoted), in_len, IDENTITY_ID_BYTES - 1);
    if (!check_characters(bytes, in_len, err)) return false;

    utf8proc_uint8_t *normal = NULL;
    utf8proc_ssize_t len = utf8proc_map(bytes, (utf8proc_ssize_t)in_len, &normal, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    if (len == UTF8PROC_ERROR_NOMEM) keys_out_of_memory();
    if (len < 0)
        return keys_fail(err, "item id %s has no Unicode normal form (%s); use another id",
                         keys_quote(in, in_len, quoted), utf8proc_errmsg(len));
    bool fits = len < IDENTITY_ID_BYTES;
    if (fits) {
        memcpy(out, normal, (size_t)len);
        out[len] = '\0';
    } else {
        keys_fail(err, "item id %s is %td bytes long in normal form, at most %d are allowed; use a shorter, stable id",
                  keys_quote(in, in_len, quoted), len, IDENTITY_ID_BYTES - 1);
    }
    free(normal);
    return fits;
}

bool identity_parse(const char *name, struct delivery_id *out, char err[KEYS_ERR_BYTES])
{
    char quoted[KEYS_QUOTE_BYTES];
    const char *account = strchr(name, '/');
    const char *id = account ? strchr(account + 1, '/') : NULL;

    if (!id)
        return keys_fail(err, "delivery %s needs three parts; write it as platform/account/item-id",
                         keys_quote(name, strlen(name), quoted));
    size_t channel_len = (size_t)(id - name);
    if (channel_len >= sizeof(out->channel))
        return keys_fail(err, "delivery %s: the channel before the second slash is longer than %d bytes",
                         keys_quote(name, strlen(name), quoted), IDENTITY_CHANNEL_BYTES - 1);
    memcpy(out->channel, name, channel_len);
    out->channel[channel_len] = '\0';
    return identity_channel_check(out->channel, err) && identity_item_normalise(id + 1, strlen(id + 1), out->id, err);
}

size_t identity_join(const char *channel, const char *id, char out[IDENTITY_NAME_BYTES])
{
    size_t channel_len = strlen(channel), id_len = strlen(id);

    KEYS_REQUIRE(channel_len < IDENTITY_CHANNEL_BYTES && id_len < IDENTITY_ID_BYTES);
    memcpy(out, channel, channel_len);
    out[channel_len] = '/';
    memcpy(out + channel_len + 1, id, id_len + 1);
    return channel_len + 1 + id_len;
}

size_t identity_name(const struct delivery_id *delivery, char out[IDENTITY_NAME_BYTES])
{
    return identity_join(delivery->channel, delivery->id, out);
}
