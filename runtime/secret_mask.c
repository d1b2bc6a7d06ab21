/* SPDX-License-Identifier: MIT */
/*
 * A hash table from the first four bytes of each form of each living secret to the form. A text is walked once,
 * whatever the number of secrets (a fleet may have ten thousand channels), which a search for each form in turn would
 * not allow. Forms are added and taken away by a second table, by all their bytes: secrets of one kind begin alike
 * ("whsec_"), and many channels may have one and the same, whose forms are kept once and counted.
 */
#include "runtime/secret_mask.h"

#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "runtime/die.h"

#define HEAD_BYTES          4     /* what the table is keyed on; no form is shorter */
#define BUCKETS             16384 /* untouched pages cost nothing */
#define TAIL_MIN_BYTES      8     /* a form's beginning at the end of a text counts from this length on */
#define WEB_TOKEN_FIRST     'e'
#define WEB_TOKEN_MIN_BYTES 12 /* of its head alone: {"alg":..} is longer */
#define ENCODED_MIN_BYTES   8  /* base64 of fewer bytes would match ordinary words */

_Static_assert(SECRET_MASK_MIN_BYTES >= HEAD_BYTES, "a form must fill the key of the table");

struct form {
    LIST_ENTRY(form) by_head, by_text;
    size_t owners; /* secrets that have it */
    size_t len;
    char text[];
};

LIST_HEAD(form_list, form);

static struct form_list heads[BUCKETS], texts[BUCKETS];

typedef void form_visit(const char *text, size_t len);

static struct form_list *head_bucket(const char *text)
{
    uint32_t head = 0;
    memcpy(&head, text, HEAD_BYTES);
    return &heads[(head * UINT32_C(2654435761)) >> 18]; /* the upper 14 bits of a multiplicative hash */
}

static struct form_list *text_bucket(const char *text, size_t len)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    return &texts[hash % BUCKETS];
}

static struct form *find_form(struct form_list *bucket, const char *text, size_t len)
{
    struct form *form;
    LIST_FOREACH(form, bucket, by_text)
    {
        if (form->len == len && memcmp(form->text, text, len) == 0) return form;
    }
    return NULL;
}

static void add_form(const char *text, size_t len)
{
    struct form_list *bucket = text_bucket(text, len);
    struct form *form = find_form(bucket, text, len);
    if (form == NULL) {
        form = xmalloc(sizeof *form + len);
        form->owners = 0;
        form->len = len;
        memcpy(form->text, text, len);
        LIST_INSERT_HEAD(bucket, form, by_text);
        LIST_INSERT_HEAD(head_bucket(text), form, by_head);
    }
    form->owners++;
}

static void remove_form(const char *text, size_t len)
{
    struct form *form = find_form(text_bucket(text, len), text, len);
    if (form == NULL || --form->owners > 0) return;
    LIST_REMOVE(form, by_text);
    LIST_REMOVE(form, by_head);
    sodium_memzero(form->text, form->len);
    free(form);
}

/* How texts are written inside of others. Each line is a way that some server or library has; bytes that are not in
 * `escaped` stay as they are, bytes beyond ASCII are escaped in URLs only. */
enum writing { PERCENT, FORM, BACKSLASH, UNICODE, ENTITY };

#define URL_ALWAYS "\"%<>\\^`{|}"
#define HEX_UPPER  "0123456789ABCDEF"
#define HEX_LOWER  "0123456789abcdef"

static const struct {
    enum writing writing;
    const char *escaped, *digits;
} writings[] = {
    {PERCENT, URL_ALWAYS " !#$&'()*+,/:;=?@[]", HEX_UPPER}, /* all that RFC 3986 does not call unreserved */
    {PERCENT, URL_ALWAYS " !#$&'()*+,/:;=?@[]", HEX_LOWER},
    {PERCENT, URL_ALWAYS " !#$&'()*+,:;=?@[]", HEX_UPPER}, /* a path whose slashes stay */
    {PERCENT, URL_ALWAYS " !#$&'()*+,:;=?@[]", HEX_LOWER},
    {PERCENT, URL_ALWAYS " []", HEX_UPPER}, /* a whole address, as encodeURI() has it */
    {FORM, URL_ALWAYS " !#$&'()+,/:;=?@[]~", HEX_UPPER},
    {BACKSLASH, "\"\\", NULL}, /* JSON, and our own log */
    {BACKSLASH, "\"\\/", NULL},
    {UNICODE, "<>&", HEX_LOWER}, /* JSON that may stand in HTML */
    {UNICODE, "\"&'+<>`", HEX_UPPER},
    {ENTITY, "\"&'<>", NULL},
};

static size_t write_entity(char *out, char byte)
{
    static const char *const names[] = {"\"&quot;", "&&amp;", "'&#39;", "<&lt;", ">&gt;"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i][0] != byte) {
            continue;
        }
        memcpy(out, names[i] + 1, strlen(names[i] + 1));
        return strlen(names[i] + 1);
    }
    return 0;
}

/* One escaped byte; at most 6 characters. */
static size_t write_byte(char *out, char byte, enum writing writing, const char *digits)
{
    const unsigned char value = (unsigned char)byte;
    size_t at = 0;
    switch (writing) {
    case FORM:
        if (byte == ' ') {
            out[0] = '+';
            return 1;
        }
        out[at++] = '%';
        break;
    case PERCENT: out[at++] = '%'; break;
    case UNICODE:
        memcpy(out, "\\u00", 4);
        at = 4;
        break;
    case BACKSLASH:
        out[0] = '\\';
        out[1] = byte;
        return 2;
    case ENTITY: return write_entity(out, byte);
    }
    out[at++] = digits[value >> 4];
    out[at++] = digits[value & 0xF];
    return at;
}

static size_t written_form(char *out, const char *bytes, size_t len, size_t way)
{
    const bool url = writings[way].writing == PERCENT || writings[way].writing == FORM;
    size_t at = 0;
    for (size_t i = 0; i < len; i++) {
        char byte = bytes[i];
        bool escaped = strchr(writings[way].escaped, byte) || (url && (unsigned char)byte >= 0x80);
        if (!escaped && writings[way].writing == UNICODE && (byte == '"' || byte == '\\')) {
            at += write_byte(out + at, byte, BACKSLASH, NULL);
        } else if (escaped) {
            at += write_byte(out + at, byte, writings[way].writing, writings[way].digits);
        } else {
            out[at++] = byte;
        }
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

static void visit_base64(const char *bytes, size_t len, char *out, size_t out_size, form_visit *visit)
{
    static const int variants[] = {sodium_base64_VARIANT_ORIGINAL_NO_PADDING, sodium_base64_VARIANT_URLSAFE_NO_PADDING};
    char *padded = xcalloc(1, len + 2);

    memcpy(padded + 2, bytes, len);
    for (size_t before = 0; before < 3; before++) {
        for (size_t i = 0; i < 2; i++) {
            size_t form_len = base64_form(out, out_size, padded, len, before, variants[i]);
            if (i == 0 || memchr(out, '-', form_len) || memchr(out, '_', form_len)) { /* else the same twice */
                visit(out, form_len);
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

    size_t out_size = 6 * len + 16;
    char *out = xmalloc(out_size);
    visit(bytes, len);
    for (size_t way = 0; way < sizeof writings / sizeof *writings; way++) {
        size_t form_len = written_form(out, bytes, len, way);
        if (form_len != len || memcmp(out, bytes, len) != 0) {
            visit(out, form_len);
        }
    }
    if (len >= ENCODED_MIN_BYTES) {
        visit_base64(bytes, len, out, out_size, visit);
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

static bool in_token(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_' ||
           c == '.';
}

/* A JSON Web Token: base64 of {"..., a dot, and more of it. Those that are signed anew for every request are known to
 * nobody afterwards, and platforms repeat what they refuse. */
static size_t match_web_token(const char *text, size_t len)
{
    static const char begins[] = {WEB_TOKEN_FIRST, 'y', 'J'};
    size_t run = 0;
    if (len < WEB_TOKEN_MIN_BYTES || memcmp(text, begins, sizeof begins) != 0) return 0;
    while (run < len && in_token(text[run]))
        run++;
    const char *dot = memchr(text, '.', run);
    return dot != NULL && dot - text >= WEB_TOKEN_MIN_BYTES && run > (size_t)(dot - text) + 1 ? run : 0;
}

size_t secret_match(const char *text, size_t len)
{
    size_t longest = match_web_token(text, len);
    if (len < HEAD_BYTES) {
        return 0;
    }
    const struct form *form;
    LIST_FOREACH(form, head_bucket(text), by_head)
    {
        size_t compared = form->len <= len ? form->len : len;
        bool long_enough = compared == form->len || compared >= TAIL_MIN_BYTES;
        if (compared > longest && long_enough && memcmp(form->text, text, compared) == 0) {
            longest = compared;
        }
    }
    return longest;
}

size_t secret_search(const char *text, size_t len, size_t within)
{
    for (size_t i = 0; i < within && len - i >= HEAD_BYTES; i++) {
        bool may = text[i] == WEB_TOKEN_FIRST || !LIST_EMPTY(head_bucket(text + i)); /* most begin nothing */
        if (may && secret_match(text + i, len - i) > 0) return i;
    }
    return within;
}

size_t secret_mask(char *out, size_t out_size, const char *text, size_t len)
{
    static const char mask[] = "***";
    size_t written = 0;

    for (size_t i = 0; i < len && written + 1 < out_size;) {
        const size_t room = out_size - 1 - written;
        const char *from = text + i;
        size_t count = secret_search(from, len - i, len - i < room ? len - i : room);
        i += count;
        if (count == 0) {
            from = mask;
            count = sizeof mask - 1;
            if (count > room) break;
            i += secret_match(text + i, len - i);
        }
        memcpy(out + written, from, count);
        written += count;
    }
    if (out_size > 0) {
        out[written] = '\0';
    }
    return written;
}
