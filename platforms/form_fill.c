/* SPDX-License-Identifier: MIT */
/*
 * Filling the holes. Everything that may hold a secret lives in a `filled`, which wipes what it leaves behind when it
 * grows and when it ends.
 */
#include "platforms/form.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "platforms/auth.h"
#include "platforms/hmac.h"
#include "runtime/die.h"

#define SIGNING_KEY_MIN_BYTES 24 /* Standard Webhooks, version 1 */
#define SIGNING_KEY_MAX_BYTES 64
#define JWT_KEY_MIN_BYTES     16
#define JWT_KEY_MAX_BYTES     64
#define JWT_ID_MAX_BYTES      128

struct filled {
    char *bytes;
    size_t len, size;
};

static void wipe(struct filled *filled)
{
    if (filled->bytes) sodium_memzero(filled->bytes, filled->size);
    free(filled->bytes);
    memset(filled, 0, sizeof(*filled));
}

static void put(struct filled *filled, const char *bytes, size_t len)
{
    if (!filled->bytes || filled->size - filled->len <= len) {
        struct filled larger = {.len = filled->len, .size = 2 * filled->size + len + 64};
        larger.bytes = xmalloc(larger.size);
        if (filled->bytes) memcpy(larger.bytes, filled->bytes, filled->len);
        wipe(filled);
        *filled = larger;
    }
    memcpy(filled->bytes + filled->len, bytes, len);
    filled->len += len;
    filled->bytes[filled->len] = '\0';
}

static void put_percent(struct filled *filled, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char code[4];
        int size = form_unreserved(bytes[i]) ? snprintf(code, sizeof(code), "%c", bytes[i])
                                             : snprintf(code, sizeof(code), "%%%02X", (unsigned char)bytes[i]);
        put(filled, code, (size_t)size);
    }
}

static void put_json(struct filled *filled, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char code[8];
        unsigned char c = (unsigned char)bytes[i];
        int size = c == '"' || c == '\\' ? snprintf(code, sizeof(code), "\\%c", c)
                   : c < 0x20            ? snprintf(code, sizeof(code), "\\u%04x", c)
                                         : snprintf(code, sizeof(code), "%c", c);
        put(filled, code, (size_t)size);
    }
}

static void put_base64(struct filled *filled, const unsigned char *bytes, size_t len, int variant)
{
    size_t size = sodium_base64_encoded_len(len, variant);
    char *text = xmalloc(size);
    sodium_bin2base64(text, size, bytes, len, variant);
    put(filled, text, strlen(text));
    sodium_memzero(text, size);
    free(text);
}

static bool put_secret(const struct form_fill *fill, const char *name, struct filled *out, struct errbuf *err)
{
    const struct secret *secret = credentials_get(fill->credentials, name);
    if (!secret) return errbuf_set(err, "the channel has no credential \"%s\"", name);
    size_t len;
    const char *bytes = secret_bytes(secret, &len);
    put(out, bytes, len);
    return true;
}

static bool put_session(const struct form_fill *fill, const char *name, struct filled *out, struct errbuf *err)
{
    const struct secret *secret = fill->session ? session_get(fill->session, name) : NULL;
    if (!secret) return errbuf_set(err, "there is no session value \"%s\": a login must come first", name);
    size_t len;
    const char *bytes = secret_bytes(secret, &len);
    put(out, bytes, len);
    return true;
}

static bool put_basic(const struct form_fill *fill, struct filled *out, struct errbuf *err)
{
    struct filled pair = {0};
    bool ok = put_secret(fill, "user", &pair, err);
    if (ok && pair.bytes && memchr(pair.bytes, ':', pair.len))
        ok = errbuf_set(err, "the credential \"user\" holds a colon");
    if (ok) {
        put(&pair, ":", 1);
        ok = put_secret(fill, "password", &pair, err);
    }
    if (ok) put_base64(out, (const unsigned char *)pair.bytes, pair.len, sodium_base64_VARIANT_ORIGINAL);
    wipe(&pair);
    return ok;
}

/* RFC 6749, section 2.3.1: both are encoded as in a form before they are joined. */
static bool put_client(const struct form_fill *fill, struct filled *out, struct errbuf *err)
{
    static const char *const names[] = {"client_id", "client_secret"};
    struct filled pair = {0};
    bool ok = true;
    for (int i = 0; i < 2 && ok; i++) {
        struct filled value = {0};
        ok = put_secret(fill, names[i], &value, err);
        if (ok && i > 0) put(&pair, ":", 1);
        if (ok) put_percent(&pair, value.bytes, value.len);
        wipe(&value);
    }
    if (ok) put_base64(out, (const unsigned char *)pair.bytes, pair.len, sodium_base64_VARIANT_ORIGINAL);
    wipe(&pair);
    return ok;
}

/* "whsec_" and the key in base64. */
static bool signing_key(const struct form_fill *fill, unsigned char key[SIGNING_KEY_MAX_BYTES], size_t *key_len,
                        struct errbuf *err)
{
    const struct secret *secret = credentials_get(fill->credentials, CREDENTIAL_ONLY);
    size_t len = 0;
    const char *text = secret ? secret_bytes(secret, &len) : "";
    size_t prefix = len > 6 && memcmp(text, "whsec_", 6) == 0 ? 6 : 0;
    const char *end;
    bool ok = sodium_base642bin(key, SIGNING_KEY_MAX_BYTES, text + prefix, len - prefix, NULL, key_len, &end,
                                sodium_base64_VARIANT_ORIGINAL) == 0 &&
              end == text + len && *key_len >= SIGNING_KEY_MIN_BYTES;
    return ok || errbuf_set(err, "the signing secret must be whsec_ and %d to %d bytes in base64",
                            SIGNING_KEY_MIN_BYTES, SIGNING_KEY_MAX_BYTES);
}

/* The credential's, made when it first signs. */
static struct hmac *signer_of(const struct form_fill *fill, struct errbuf *err)
{
    struct credential *credential = credentials_find(fill->credentials, CREDENTIAL_ONLY);
    if (credential && credential->signer) return credential->signer;
    unsigned char key[SIGNING_KEY_MAX_BYTES];
    size_t key_len = 0;
    if (signing_key(fill, key, &key_len, err)) credential->signer = hmac_new(key, key_len);
    sodium_memzero(key, sizeof(key));
    return credential ? credential->signer : NULL;
}

static const char *header_value(const struct http_request *request, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < request->header_count; i++)
        if (strncasecmp(request->headers[i], name, len) == 0 && request->headers[i][len] == ':')
            return request->headers[i] + len + 2;
    return NULL;
}

/* Standard Webhooks v1: HMAC-SHA256 over "<id>.<timestamp>.<body>", the bytes as they are sent. Needs the header
 * webhook-id and the body of the request to be filled before. */
static bool put_signature(const struct form_fill *fill, const struct http_request *request, struct filled *out,
                          struct errbuf *err)
{
    const char *id = header_value(request, "webhook-id");
    if (!id) return errbuf_set(err, "a signature needs the header webhook-id");
    struct hmac *signer = signer_of(fill, err);
    if (!signer) return false;
    unsigned char mac[HMAC_BYTES];
    char timestamp[32];
    int timestamp_len = snprintf(timestamp, sizeof(timestamp), ".%" PRId64 ".", fill->unix_s);
    hmac_begin(signer);
    hmac_add(signer, id, strlen(id));
    hmac_add(signer, timestamp, (size_t)timestamp_len);
    hmac_add(signer, request->body, request->body_len);
    hmac_end(signer, mac);
    put(out, "v1,", 3);
    put_base64(out, mac, sizeof(mac), sodium_base64_VARIANT_ORIGINAL);
    return true;
}

/* "<key id>:<secret in hexadecimal>". The id has only what needs no escape in JSON. */
static bool jwt_key(const struct form_fill *fill, const char **id, size_t *id_len, unsigned char key[JWT_KEY_MAX_BYTES],
                    size_t *key_len, struct errbuf *err)
{
    const struct secret *secret = credentials_get(fill->credentials, CREDENTIAL_ONLY);
    size_t len = 0;
    *id = secret ? secret_bytes(secret, &len) : "";
    const char *colon = memchr(*id, ':', len), *end = NULL;
    *id_len = colon ? (size_t)(colon - *id) : 0;
    bool ok = *id_len > 0 && *id_len <= JWT_ID_MAX_BYTES;
    for (size_t i = 0; ok && i < *id_len; i++)
        ok = form_unreserved((*id)[i]);
    ok = ok && sodium_hex2bin(key, JWT_KEY_MAX_BYTES, colon + 1, len - *id_len - 1, NULL, key_len, &end) == 0 &&
         end == *id + len && *key_len >= JWT_KEY_MIN_BYTES;
    return ok || errbuf_set(err, "the credential must be <key id>:<secret>, the secret %d to %d bytes in hexadecimal",
                            JWT_KEY_MIN_BYTES, JWT_KEY_MAX_BYTES);
}

/* RFC 7515, section 3.1: header, claims and HMAC-SHA256 over both, each in base64url, joined by dots. */
static void put_token(const char *head, const char *claims, const unsigned char *key, size_t key_len,
                      struct filled *out)
{
    unsigned char mac[HMAC_BYTES];
    const int variant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
    size_t start = out->len;
    put_base64(out, (const unsigned char *)head, strlen(head), variant);
    put(out, ".", 1);
    put_base64(out, (const unsigned char *)claims, strlen(claims), variant);
    struct hmac *hmac = hmac_new(key, key_len);
    hmac_begin(hmac);
    hmac_add(hmac, out->bytes + start, out->len - start);
    hmac_end(hmac, mac);
    hmac_free(&hmac);
    put(out, ".", 1);
    put_base64(out, mac, sizeof(mac), variant);
}

static bool put_jwt(const struct form_fill *fill, struct filled *out, struct errbuf *err)
{
    const struct descriptor *d = fill->descriptor;
    unsigned char key[JWT_KEY_MAX_BYTES];
    char head[64 + JWT_ID_MAX_BYTES], claims[512];
    const char *id;
    size_t id_len, key_len = 0;
    if (!d || !d->audience) return errbuf_set(err, "there is no hole \"jwt\" for this channel");
    bool ok = jwt_key(fill, &id, &id_len, key, &key_len, err);
    if (ok) {
        snprintf(head, sizeof(head), "{\"alg\":\"HS256\",\"kid\":\"%.*s\",\"typ\":\"JWT\"}", (int)id_len, id);
        snprintf(claims, sizeof(claims), "{\"iat\":%" PRId64 ",\"exp\":%" PRId64 ",\"aud\":\"%.400s\"}", fill->unix_s,
                 fill->unix_s + d->lifetime_s, d->audience);
        put_token(head, claims, key, key_len, out);
    }
    sodium_memzero(key, sizeof(key));
    return ok;
}

bool form_check_credentials(const struct descriptor *descriptor, const struct credentials *credentials,
                            struct errbuf *err)
{
    const struct form_fill fill = {.credentials = credentials, .descriptor = descriptor};
    unsigned char key[SIGNING_KEY_MAX_BYTES > JWT_KEY_MAX_BYTES ? SIGNING_KEY_MAX_BYTES : JWT_KEY_MAX_BYTES];
    struct filled out = {0};
    const char *id;
    size_t id_len, key_len;
    bool ok = true;
    if (descriptor->auth == AUTH_WEBHOOK) ok = signing_key(&fill, key, &key_len, err);
    if (descriptor->auth == AUTH_JWT) ok = jwt_key(&fill, &id, &id_len, key, &key_len, err);
    if (descriptor->auth == AUTH_BASIC) ok = put_basic(&fill, &out, err);
    sodium_memzero(key, sizeof(key));
    wipe(&out);
    return ok;
}

static bool hole_value(const char *name, const struct form_fill *fill, const struct http_request *request,
                       struct filled *out, struct errbuf *err)
{
    if (strcmp(name, "secret") == 0) return put_secret(fill, CREDENTIAL_ONLY, out, err);
    if (strncmp(name, "secret.", 7) == 0) return put_secret(fill, name + 7, out, err);
    if (strncmp(name, "session.", 8) == 0) return put_session(fill, name + 8, out, err);
    if (strcmp(name, "basic") == 0) return put_basic(fill, out, err);
    if (strcmp(name, "client") == 0) return put_client(fill, out, err);
    if (strcmp(name, "jwt") == 0) return put_jwt(fill, out, err);
    if (strcmp(name, "signature") == 0) return put_signature(fill, request, out, err);
    if (strcmp(name, "timestamp") != 0) return errbuf_set(err, "there is no hole \"%.40s\"", name);
    char text[24];
    put(out, text, (size_t)snprintf(text, sizeof(text), "%" PRId64, fill->unix_s));
    return true;
}

static bool fill_text(const struct form_text *text, const struct form_fill *fill, const struct http_request *request,
                      struct filled *out, struct errbuf *err)
{
    for (size_t i = 0; i < text->count; i++) {
        const struct form_segment *segment = &text->segments[i];
        if (!segment->hole) {
            put(out, segment->text, segment->len);
            continue;
        }
        struct filled value = {0};
        bool ok = hole_value(segment->text, fill, request, &value, err);
        if (ok && segment->encoding == FORM_PERCENT) put_percent(out, value.bytes, value.len);
        if (ok && segment->encoding == FORM_JSON) put_json(out, value.bytes, value.len);
        if (ok && segment->encoding == FORM_RAW) put(out, value.bytes, value.len);
        wipe(&value);
        if (!ok) return false;
    }
    put(out, "", 0);
    return true;
}

/* "Name: value". Credentials were checked when they were read; a line end that got here would be a second header. */
static bool fill_header(const struct form_header *header, const struct form_fill *fill, struct http_request *out,
                        struct errbuf *err)
{
    struct filled line = {0};
    put(&line, header->name, strlen(header->name));
    put(&line, ": ", 2);
    bool ok = fill_text(&header->value, fill, out, &line, err);
    for (size_t i = 0; ok && i < line.len; i++)
        if ((unsigned char)line.bytes[i] < ' ' || line.bytes[i] == 0x7f)
            ok = errbuf_set(err, "header %s: what fills it holds a control character", header->name);
    if (!ok) {
        wipe(&line);
        return false;
    }
    out->headers[out->header_count++] = line.bytes;
    return true;
}

static bool is_signature(const struct form_header *header)
{
    for (size_t i = 0; i < header->value.count; i++)
        if (header->value.segments[i].hole && strcmp(header->value.segments[i].text, "signature") == 0) return true;
    return false;
}

bool form_fill(const struct form *form, const struct form_fill *fill, struct http_request *out, struct errbuf *err)
{
    memset(out, 0, sizeof(*out));
    memcpy(out->method, form->method, sizeof(out->method));
    struct filled body = {0}, url = {0};
    bool ok = fill_text(&form->body, fill, out, &body, err);
    out->foreign = form->foreign;
    out->has_body = form->has_body;
    out->body = body.bytes;
    out->body_len = body.len;
    ok = ok && fill_text(&form->url, fill, out, &url, err);
    out->url = url.bytes;
    out->headers = xcalloc(form->header_count, sizeof(*out->headers));
    for (int signatures = 0; signatures <= 1; signatures++) /* last, for they cover the others */
        for (size_t i = 0; ok && i < form->header_count; i++)
            if (is_signature(&form->headers[i]) == (signatures == 1))
                ok = fill_header(&form->headers[i], fill, out, err);
    if (!ok) http_request_fini(out);
    return ok;
}

static void wipe_text(char *text)
{
    if (text) sodium_memzero(text, strlen(text));
    free(text);
}

void http_request_fini(struct http_request *request)
{
    for (size_t i = 0; i < request->header_count; i++)
        wipe_text(request->headers[i]);
    free(request->headers);
    wipe_text(request->url);
    if (request->body) sodium_memzero(request->body, request->body_len);
    free(request->body);
    memset(request, 0, sizeof(*request));
}
