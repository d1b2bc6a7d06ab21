/* SPDX-License-Identifier: MIT */
#include "platforms/url.h"

#include <idn2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PORT_MAX 65535

/* A piece of the address; borrowed bytes. */
struct piece {
    const char *at;
    size_t len;
};

/* Parameters that advertising, mail and social networks add to a link that somebody shares. They say where a reader
 * came from and nothing about the page. Names that sites use for their own purposes (ref, source, id) are not listed.
 * Besides these: everything that begins with utm_. */
static const char *const tracking_names[] = {
    /* click ids of advertising networks */
    "gclid",
    "dclid",
    "gbraid",
    "wbraid",
    "_gl",
    "msclkid",
    "yclid",
    /* click ids of social networks */
    "fbclid",
    "twclid",
    "ttclid",
    "igshid",
    "igsh",
    "li_fat_id",
    "ref_src",
    /* mail campaigns */
    "mc_cid",
    "mc_eid",
    "_hsenc",
    "_hsmi",
    "mkt_tok",
};

bool url_is_tracking(const char *name, size_t len)
{
    if (len >= 4 && strncasecmp(name, "utm_", 4) == 0) return true;
    for (size_t i = 0; i < sizeof tracking_names / sizeof *tracking_names; i++)
        if (strlen(tracking_names[i]) == len && strncasecmp(name, tracking_names[i], len) == 0) return true;
    return false;
}

static bool is_digit(unsigned char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

static int hex_value(unsigned char c)
{
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* RFC 3986: these mean the same with and without percent-encoding. */
static bool is_unreserved(unsigned char c)
{
    return is_letter(c) || is_digit(c) || (c != '\0' && strchr("-._~", c) != NULL);
}

/* What may stand in a path or query as it is; everything else is percent-encoded, as browsers do before they send. */
static bool is_plain(unsigned char c)
{
    return is_unreserved(c) || (c != '\0' && strchr("!$&'()*+,;=:@/?", c) != NULL);
}

static void append_encoded(struct buf *out, unsigned char c)
{
    static const char digits[] = "0123456789ABCDEF";
    const char text[3] = {'%', digits[c >> 4], digits[c & 15]};
    buf_append(out, text, sizeof text);
}

/* Percent-encoding in its one form: unreserved characters as they are, all others that need it in upper case. A "%"
 * that begins no percent-encoding is a character like any other (%25). */
static void append_path_bytes(struct buf *out, struct piece piece)
{
    for (size_t i = 0; i < piece.len; i++) {
        unsigned char c = (unsigned char)piece.at[i];
        bool encoded = false;
        if (c == '%' && i + 2 < piece.len) {
            int high = hex_value((unsigned char)piece.at[i + 1]);
            int low = hex_value((unsigned char)piece.at[i + 2]);
            if (high >= 0 && low >= 0) {
                c = (unsigned char)(high * 16 + low);
                encoded = true;
                i += 2;
            }
        }
        if (encoded ? is_unreserved(c) : is_plain(c))
            buf_append(out, &c, 1);
        else
            append_encoded(out, c);
    }
}

static void skip(struct piece *piece, size_t len)
{
    piece->at += len;
    piece->len -= len;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct piece trim(const char *url, size_t len)
{
    struct piece piece = {url, len};
    while (piece.len > 0 && is_space(piece.at[0]))
        skip(&piece, 1);
    while (piece.len > 0 && is_space(piece.at[piece.len - 1]))
        piece.len--;
    return piece;
}

static bool has_blank_or_control(struct piece piece)
{
    for (size_t i = 0; i < piece.len; i++)
        if ((unsigned char)piece.at[i] <= ' ' || piece.at[i] == 0x7f) return true;
    return false;
}

/* Cuts everything from the first of the given characters on, and gives it as `rest` (empty where there is none). */
static struct piece split(struct piece *piece, const char *at_any_of)
{
    size_t head = 0;
    while (head < piece->len && (piece->at[head] == '\0' || strchr(at_any_of, piece->at[head]) == NULL))
        head++;
    struct piece rest = {piece->at + head, piece->len - head};
    piece->len = head;
    return rest;
}

static bool append_scheme(struct piece *url, struct buf *out, int *default_port)
{
    static const struct {
        const char *text;
        int port;
    } schemes[] = {{"http://", 80}, {"https://", 443}};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        size_t len = strlen(schemes[i].text);
        if (url->len > len && strncasecmp(url->at, schemes[i].text, len) == 0) {
            buf_append(out, schemes[i].text, len);
            skip(url, len);
            *default_port = schemes[i].port;
            return true;
        }
    }
    return false;
}

/* The port's text without leading zeros; empty for none or the default. False: no port. */
static bool read_port(struct piece text, int default_port, int *port)
{
    int value = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (!is_digit((unsigned char)text.at[i])) return false;
        value = value * 10 + (text.at[i] - '0');
        if (value > PORT_MAX) return false;
    }
    *port = value == default_port ? 0 : value;
    return true;
}

/* Names of the DNS in lower-case ASCII. What libidn2 does not take (an underscore, say) stays as it is, in lower case:
 * the comparison is then one of bytes. */
static bool append_host(struct piece host, struct buf *out)
{
    if (host.len == 0 || host.len > 255) return false;
    char name[256];
    bool ascii = true;
    for (size_t i = 0; i < host.len; i++) {
        ascii = ascii && (unsigned char)host.at[i] < 0x80;
        name[i] = lower(host.at[i]);
    }
    name[host.len] = '\0';
    uint8_t *punycode = NULL;
    bool idn =
        !ascii && idn2_lookup_u8((const uint8_t *)name, &punycode, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL) == IDN2_OK;
    /* Some characters stand for ASCII ones that end a host, or that none may hold: U+FF0F for "/", U+2000 for a space.
     */
    bool host_like = !idn || strpbrk((const char *)punycode, " \t#%/:<>?@[\\]^|") == NULL;
    if (host_like && idn)
        buf_append_text(out, (const char *)punycode);
    else if (host_like)
        buf_append(out, name, host.len);
    idn2_free(punycode);
    return host_like;
}

static bool append_authority(struct piece authority, int default_port, struct buf *out)
{
    for (size_t i = authority.len; i > 0; i--) {
        if (authority.at[i - 1] != '@') continue;
        buf_append(out, authority.at, i);
        skip(&authority, i);
        break;
    }
    struct piece host = authority;
    struct piece port = {authority.at + authority.len, 0};
    if (authority.len > 0 && authority.at[0] == '[') { /* an IPv6 address has colons of its own */
        port = split(&host, "]");
        if (port.len == 0) return false;
        host.len++;
        skip(&port, 1);
        if (port.len > 0 && port.at[0] != ':') return false;
    } else {
        port = split(&host, ":");
    }
    if (port.len > 0) skip(&port, 1);
    int number = 0;
    if (!read_port(port, default_port, &number) || !append_host(host, out)) return false;
    if (number != 0) buf_append_format(out, ":%d", number);
    return true;
}

/* Takes back what was written behind `len` bytes. */
static void shorten(struct buf *out, size_t len)
{
    if (out->len > len) out->data[len] = '\0';
    out->len = len;
}

/* Takes back "segment/" at the end, but nothing of what stands before `floor`, which is behind the root's slash. */
static void drop_last_segment(struct buf *out, size_t floor)
{
    size_t len = out->len;
    if (len > floor) len--;
    while (len > floor && out->data[len - 1] != '/')
        len--;
    shorten(out, len);
}

/* RFC 3986 section 5.2.4, after percent-decoding, so that %2e%2e is a dot segment too. */
static void append_path(struct piece path, struct buf *out)
{
    buf_append(out, "/", 1);
    const size_t floor = out->len;
    if (path.len > 0) skip(&path, 1);
    while (path.len > 0) {
        struct piece segment = path;
        path = split(&segment, "/");
        const bool slash = path.len > 0;
        if (slash) skip(&path, 1);
        const size_t start = out->len;
        append_path_bytes(out, segment);
        const size_t len = out->len - start;
        const char *written = buf_text(out) + start;
        const bool up = len == 2 && memcmp(written, "..", 2) == 0;
        if (up || (len == 1 && written[0] == '.')) {
            shorten(out, start);
            if (up) drop_last_segment(out, floor);
        } else if (slash) {
            buf_append(out, "/", 1);
        }
    }
}

static void append_query(struct piece query, struct buf *out)
{
    char before = '?';
    while (query.len > 0) {
        skip(&query, 1); /* "?" at first, then "&" */
        struct piece parameter = query;
        query = split(&parameter, "&");
        if (parameter.len == 0) continue;
        const size_t start = out->len;
        buf_append(out, &before, 1);
        append_path_bytes(out, parameter);
        struct piece name = {buf_text(out) + start + 1, out->len - start - 1};
        split(&name, "=");
        if (url_is_tracking(name.at, name.len)) {
            shorten(out, start);
        } else {
            before = '&';
        }
    }
}

bool url_normalize(const char *url, size_t len, struct buf *out)
{
    const size_t start = out->len;
    struct piece piece = trim(url, len);
    int default_port = 0;
    if (piece.len > URL_MAX_BYTES || has_blank_or_control(piece) || !append_scheme(&piece, out, &default_port))
        return false;
    (void)split(&piece, "#");
    struct piece query = split(&piece, "?");
    struct piece path = split(&piece, "/\\");
    bool ok = append_authority(piece, default_port, out);
    if (ok) {
        append_path(path, out);
        append_query(query, out);
        ok = !out->cut;
    }
    if (!ok) shorten(out, start);
    return ok;
}

char *url_normal(const char *url)
{
    struct buf out;
    buf_init(&out, URL_NORMAL_MAX_BYTES);
    char *normal = NULL;
    if (url_normalize(url, strlen(url), &out)) normal = buf_take(&out, NULL);
    buf_fini(&out);
    return normal;
}
