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

/* The normal form of scheme://host[:port], with at most a slash behind it: lower case, without the scheme's own port
 * and the slash. The same instance must give the same idempotency keys however it is written. False if it has more or
 * less than that. */
bool origin_normalize(const char *url, char out[ORIGIN_MAX_BYTES]);

#endif
