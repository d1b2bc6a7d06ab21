/* SPDX-License-Identifier: MIT */
/*
 * A hash table from the first four bytes of each form of each living secret to the form. A text is walked once,
 * whatever the number of secrets (a fleet may have ten thousand channels), which a search for each form in turn would
 * not allow.
 */
#include "runtime/secret_mask.h"

#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/die.h"

#define HEAD_BYTES        4     /* what the table is keyed on; no form is shorter */
#define BUCKETS           16384 /* untouched pages cost nothing */
#define TAIL_MIN_BYTES    8     /* a form's beginning at the end of a text counts from this length on */
#define ENCODED_MIN_BYTES 8     /* base64 of fewer bytes would match ordinary words */

_Static_assert(SECRET_MASK_MIN_BYTES >= HEAD_BYTES, "a form must fill the key of the table");

struct form {
    struct form *next;
    const struct secret *owner;
    size_t len;
    char text[];
};

static struct form *buckets[BUCKETS];

typedef void form_visit(const struct secret *owner, const char *text, size_t len);

static struct form **bucket_of(const char *text)
{
    uint32_t head = 0;
    memcpy(&head, text, HEAD_BYTES);
    return &buckets[(head * UINT32_C(2654435761)) >> 18]; /* the upper 14 bits of a multiplicative hash */
}

static void add_form(const struct secret *owner, const char *text, size_t len)
{
    struct form **bucket = bucket_of(text);
    struct form *form = xmalloc(sizeof *form + len);
    form->owner = owner;
    form->len = len;
    form->next = *bucket;
    memcpy(form->text, text, len);
    *bucket = form;
}

static void remove_form(const struct secret *owner, const char *text, size_t len)
{
    for (struct form **at = bucket_of(text); *at; at = &(*at)->next) {
        struct form *form = *at;
        if (form->owner == owner && form->len == len && memcmp(form->text, text, len) == 0) {
            *at = form->next;
            sodium_memzero(form->text, form->len);
            free(form);
            return;
        }
    }
}

/* Percent-encoding of everything that RFC 3986 does not call unreserved. */
static size_t url_form(char *out, const char *bytes, size_t len, const char *digits)
{
    static const char unreserved[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    size_t at = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if (memchr(unreserved, byte, sizeof unreserved - 1)) {
            out[at++] = bytes[i];
        } else {
            out[at++] = '%';
            out[at++] = digits[byte >> 4];
            out[at++] = digits[byte & 0xF];
        }
    }
    return at;
}

/* A JSON string's inside; many servers escape the slash as well. */
static size_t json_form(char *out, const char *bytes, size_t len, const char *escaped)
{
    size_t at = 0;
    for (size_t i = 0; i < len; i++) {
        if (strchr(escaped, bytes[i])) {
            out[at++] = '\\';
        }
        out[at++] = bytes[i];
    }
    return at;
}

/* The characters of a base64 text that depend on the secret alone, when `before` bytes (modulo 3) of something else,
 * such as "user:", stand in front of it. padded holds 2 free bytes and then the secret. */
static size_t base64_form(char *out, size_t out_size, const char *padded, size_t len, size_t before, int variant)
{
    static const size_t foreign[] = {0, 2, 3}; /* characters that the bytes in front have a part in */
    size_t bits = 8 * (before + len);

    sodium_bin2base64(out, out_size, (const unsigned char *)padded + 2 - before, before + len, variant);
    size_t own = bits / 6 - foreign[before];
    memmove(out, out + foreign[before], own);
    return own;
}

static void visit_base64(const struct secret *secret, const char *bytes, size_t len, char *out, size_t out_size,
                         form_visit *visit)
{
    static const int variants[] = {sodium_base64_VARIANT_ORIGINAL_NO_PADDING, sodium_base64_VARIANT_URLSAFE_NO_PADDING};
    char *padded = xcalloc(1, len + 2);

    memcpy(padded + 2, bytes, len);
    for (size_t before = 0; before < 3; before++) {
        for (size_t i = 0; i < 2; i++) {
            size_t form_len = base64_form(out, out_size, padded, len, before, variants[i]);
            if (i == 0 || memchr(out, '-', form_len) || memchr(out, '_', form_len)) { /* else the same twice */
                visit(secret, out, form_len);
            }
        }
    }
    sodium_memzero(padded, len + 2);
    free(padded);
}

static void visit_forms(const struct secret *secret, form_visit *visit)
{
    size_t len = 0;
    const char *bytes = secret_bytes(secret, &len);
    if (len < SECRET_MASK_MIN_BYTES) {
        return;
    }

    size_t out_size = 3 * len + 16;
    char *out = xmalloc(out_size);
    visit(secret, bytes, len);
    size_t form_len = url_form(out, bytes, len, "0123456789ABCDEF");
    if (form_len != len) {
        visit(secret, out, form_len);
        visit(secret, out, url_form(out, bytes, len, "0123456789abcdef"));
    }
    form_len = json_form(out, bytes, len, "\"\\");
    if (form_len != len) {
        visit(secret, out, form_len);
    }
    if (memchr(bytes, '/', len)) {
        visit(secret, out, json_form(out, bytes, len, "\"\\/"));
    }
    if (len >= ENCODED_MIN_BYTES) {
        visit_base64(secret, bytes, len, out, out_size, visit);
    }
    sodium_memzero(out, out_size);
    free(out);
}

void secret_mask_add(const struct secret *secret)
{
    visit_forms(secret, add_form);
}

void secret_mask_remove(const struct secret *secret)
{
    visit_forms(secret, remove_form);
}

size_t secret_match(const char *text, size_t len)
{
    size_t longest = 0;
    if (len < HEAD_BYTES) {
        return 0;
    }
    for (const struct form *form = *bucket_of(text); form; form = form->next) {
        size_t compared = form->len <= len ? form->len : len;
        bool long_enough = compared == form->len || compared >= TAIL_MIN_BYTES;
        if (compared > longest && long_enough && memcmp(form->text, text, compared) == 0) {
            longest = compared;
        }
    }
    return longest;
}

size_t secret_mask(char *out, size_t out_size, const char *text, size_t len)
{
    static const char mask[] = "***";
    size_t written = 0;

    for (size_t i = 0; i < len && written + 1 < out_size;) {
        size_t hidden = secret_match(text + i, len - i);
        const char *from = hidden ? mask : text + i;
        size_t count = hidden ? sizeof mask - 1 : 1;
        if (count > out_size - 1 - written) {
            break;
        }
        memcpy(out + written, from, count);
        written += count;
        i += hidden ? hidden : 1;
    }
    if (out_size > 0) {
        out[written] = '\0';
    }
    return written;
}
