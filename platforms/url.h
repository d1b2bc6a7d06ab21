/* SPDX-License-Identifier: MIT */
/*
 * url: the normal form of a web address, for comparing only. What is sent is always the original.
 *
 * Two addresses with one normal form are one address. The form ignores: case of scheme and host, IDN against punycode,
 * the default port, an empty root path, dot segments, the fragment, how unreserved characters are percent-encoded and
 * the case of percent-encoding, raw against encoded non-ASCII characters, and the query parameters that trackers add
 * (url_is_tracking). It keeps: http against https, a slash at the end of a path (the root's excepted), the order of the
 * query, "+" against "%20", user names. RFC 3986 section 6.2, and what browsers do where they do more.
 *
 * Nothing here reads the locale, the network or a file. Input may be hostile: it is bounded, work is linear.
 */
#ifndef LANDFALL_PLATFORMS_URL_H
#define LANDFALL_PLATFORMS_URL_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/buf.h"
#include "runtime/errbuf.h"

#define URL_MAX_BYTES        8192                      /* a longer one is no address that anybody publishes */
#define URL_NORMAL_MAX_BYTES (3 * URL_MAX_BYTES + 512) /* every byte percent-encoded, and a host in punycode */

/*
 * Appends the normal form of an absolute http or https address to `out` (room for URL_NORMAL_MAX_BYTES). ASCII white
 * space around it is ignored. False, and `out` unchanged, where the text is not such an address: another scheme, no
 * host, a port that is no number, white space or control characters inside, too long.
 */
MUSTCHECK bool url_normalize(const char *url, size_t len, struct buf *out);

/* The same as a new string that the caller frees; NULL where the text is no such address. */
char *url_normal(const char *url);

/* True if the name of a query parameter is one that only trackers use. ASCII case is ignored. */
bool url_is_tracking(const char *name, size_t len);

#endif
