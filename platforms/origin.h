/* SPDX-License-Identifier: MIT */
/*
 * origin: addresses that are to be asked, not compared: is it http(s), does it hold what must not be in a request.
 *
 * Settings and rendered requests are checked here before anything is sent to them. Comparing is url.h.
 */
#ifndef LANDFALL_PLATFORMS_ORIGIN_H
#define LANDFALL_PLATFORMS_ORIGIN_H

#include <stdbool.h>

#define ORIGIN_MAX_BYTES 300

/* An http or https address with a host, without user information, white space, control characters or bytes above
 * ASCII, which would be sent as they are. */
bool origin_is_url(const char *url);

/* The normal form of an address that requests are built on: scheme, host and port in lower case, without the scheme's
 * own port; a path only if the platform lives below one, without a slash at its end. The same instance must give the
 * same idempotency keys however it is written. False if it is no address, or has a query or fragment, or is too long.
 */
bool origin_normalize(const char *url, char out[ORIGIN_MAX_BYTES]);

/* The host of such an address; IPv6 in its brackets. False, and "" in out, if it is no address or too long. */
bool origin_host(const char *url, char out[ORIGIN_MAX_BYTES]);

#endif
