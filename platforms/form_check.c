/* SPDX-License-Identifier: MIT */
/*
 * What no request may hold, whoever made it: a rendering, or the ledger that kept one. A line end in an address or a
 * header would make two requests out of one.
 */
#include "platforms/form.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "platforms/origin.h"
#include "runtime/buf.h"

bool form_unreserved(char c)
{
    return isalnum((unsigned char)c) || (c != '\0' && strchr("-._~", c));
}

static bool has_control(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f) return true;
    return false;
}

/* The address with a letter for every hole. A hole may only stand behind the host. */
static bool check_url(const struct form *form, struct errbuf *err)
{
    struct buf url;
    buf_init(&url, FORM_URL_MAX_BYTES);
    bool ok = true;
    for (size_t i = 0; i < form->url.count && ok; i++) {
        const struct form_segment *segment = &form->url.segments[i];
        const char *host = strstr(buf_text(&url), "://");
        if (segment->hole) ok = host && strpbrk(host + 3, "/?#") && segment->encoding == FORM_PERCENT;
        if (!ok) errbuf_set(err, "an address may hold a secret only behind its host, percent-encoded");
        buf_append(&url, segment->hole ? "x" : segment->text, segment->hole ? 1 : segment->len);
    }
    if (ok && url.cut) ok = errbuf_set(err, "the address is longer than %d bytes", FORM_URL_MAX_BYTES);
    if (ok && (strlen(buf_text(&url)) != url.len || !origin_is_url(buf_text(&url))))
        ok = errbuf_set(err, "not an http or https address, or it holds a user name, a space, a control character or "
                             "characters that are not percent-encoded");
    buf_fini(&url);
    return ok;
}

/* Most names differ in their first letter. */
static bool same_name(const char *a, const char *b)
{
    return ((a[0] ^ b[0]) & ~0x20) == 0 && strcasecmp(a, b) == 0;
}

/* RFC 9110, section 5.1; and none of those that belong to the transfer. */
static bool is_header_name(const char *name)
{
    static const char *const ours[] = {"Host", "Content-Length", "Transfer-Encoding", "Connection",     "Expect",
                                       "TE",   "Trailer",        "Upgrade",           "Accept-Encoding"};
    for (const char *at = name; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("!#$%&'*+-.^_`|~", *at)) return false;
    for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
        if (same_name(name, ours[i])) return false;
    return *name != '\0';
}

static bool check_header(const struct form_header *header, struct errbuf *err)
{
    if (!is_header_name(header->name))
        return errbuf_set(err, "a header has a name that is none, or that the transfer sets itself (%.40s)",
                          has_control(header->name, strlen(header->name)) ? "control characters" : header->name);
    for (size_t i = 0; i < header->value.count; i++) {
        const struct form_segment *segment = &header->value.segments[i];
        if (has_control(segment->text, segment->len))
            return errbuf_set(err, "header %s: its value holds a control character", header->name);
        if (segment->hole && segment->encoding != FORM_RAW)
            return errbuf_set(err, "header %s: its holes are filled as they are", header->name);
    }
    return true;
}

bool form_check(const struct form *form, struct errbuf *err)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    bool known = false;
    for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++)
        known |= strcmp(form->method, methods[i]) == 0;
    if (!known) return errbuf_set(err, "the method is none of GET, POST, PUT, PATCH, DELETE");
    if (form->header_count > FORM_HEADERS_MAX) return errbuf_set(err, "more than %d headers", FORM_HEADERS_MAX);
    for (size_t i = 0; i < form->header_count; i++) {
        if (!check_header(&form->headers[i], err)) return false;
        for (size_t k = 0; k < i; k++)
            if (same_name(form->headers[i].name, form->headers[k].name))
                return errbuf_set(err, "header %s stands there twice", form->headers[i].name);
    }
    return check_url(form, err);
}
