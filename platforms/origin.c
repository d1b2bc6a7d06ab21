/* SPDX-License-Identifier: MIT */
#include "platforms/origin.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Length of "http://" or "https://" at the beginning, 0 if there is none. */
static size_t scheme_length(const char *url)
{
    if (strncasecmp(url, "http://", 7) == 0) return 7;
    return strncasecmp(url, "https://", 8) == 0 ? 8 : 0;
}

/* The port's digits, if there are any: a number that TCP has. */
static bool is_port(const char *text, size_t len)
{
    unsigned port = 0;
    for (size_t i = 0; i < len; i++) {
        if (!isdigit((unsigned char)text[i])) return false;
        port = port * 10 + (unsigned)(text[i] - '0');
        if (port > 65535) return false;
    }
    return len > 0 && port > 0;
}

/* Length of the host: a name, or an address in brackets. 0 if it is none. */
static size_t host_length(const char *text, size_t len)
{
    size_t at = 0;
    if (len > 0 && text[0] == '[') {
        const char *end = memchr(text, ']', len);
        size_t inner = strspn(text + 1, "0123456789abcdefABCDEF:.");
        return end == text + 1 + inner ? inner + 2 : 0;
    }
    while (at < len && (isalnum((unsigned char)text[at]) || strchr("-._", text[at])))
        at++;
    return at;
}

/* Splits an authority into host and port. */
static bool split_authority(const char *text, size_t len, size_t *host_len, const char **port, size_t *port_len)
{
    size_t host = host_length(text, len);
    *host_len = host;
    *port = text + host + 1;
    *port_len = host < len ? len - host - 1 : 0;
    return host > 0 && (host == len || (text[host] == ':' && is_port(*port, *port_len)));
}

bool origin_is_url(const char *url)
{
    size_t scheme = scheme_length(url);
    for (const char *at = url; *at; at++)
        if ((unsigned char)*at <= ' ' || (unsigned char)*at >= 0x7f) return false;
    const char *port;
    size_t host_len, port_len;
    return scheme > 0 && split_authority(url + scheme, strcspn(url + scheme, "/?#"), &host_len, &port, &port_len);
}

bool origin_normalize(const char *url, char out[ORIGIN_MAX_BYTES])
{
    if (!origin_is_url(url) || strpbrk(url, "?#")) return false;
    size_t scheme = scheme_length(url);
    const char *authority = url + scheme;
    size_t len = strcspn(authority, "/"), host_len, port_len, path_len = strlen(authority + len);
    const char *port;
    if (!split_authority(authority, len, &host_len, &port, &port_len)) return false;
    while (path_len > 0 && authority[len + path_len - 1] == '/')
        path_len--;
    const char *own = scheme == 7 ? "80" : "443";
    bool usual = port_len == 0 || (port_len == strlen(own) && strncmp(port, own, port_len) == 0);
    int size = snprintf(out, ORIGIN_MAX_BYTES, "%.*s%.*s%s%.*s", (int)scheme, url, (int)host_len, authority,
                        usual ? "" : ":", usual ? 0 : (int)port_len, port);
    for (char *at = out; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    if (size + path_len >= ORIGIN_MAX_BYTES) return false;
    memcpy(out + size, authority + len, path_len);
    out[(size_t)size + path_len] = '\0';
    return true;
}

bool origin_host(const char *url, char out[ORIGIN_MAX_BYTES])
{
    size_t scheme = scheme_length(url);
    size_t len = origin_is_url(url) ? host_length(url + scheme, strcspn(url + scheme, "/?#")) : 0;
    bool fits = len > 0 && len < ORIGIN_MAX_BYTES;
    if (fits) memcpy(out, url + scheme, len);
    out[fits ? len : 0] = '\0';
    return fits;
}
