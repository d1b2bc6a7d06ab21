/* SPDX-License-Identifier: MIT */
/*
 * foreign: does a request go where the configuration or the descriptor says, or where data says?
 *
 * An operator names the platform's address in a setting, a descriptor may hold one in its program. Every other address
 * was named by somebody else: by an item (a picture), or by an answer (where a next page is, where an upload goes).
 * Such a request is foreign, and transfer.h connects it to public addresses only.
 */
#ifndef LANDFALL_PLATFORMS_FOREIGN_H
#define LANDFALL_PLATFORMS_FOREIGN_H

#include <stdbool.h>

#include "platforms/channel.h"
#include "platforms/descriptor.h"

struct form; /* platforms/form.h */

/* Scheme, host and port of a form's address, in normal form; NULL where they are not plain text. The caller frees it.
 */
char *foreign_origin(const struct form *form);

/* True unless scheme, host and port are those of a setting of type `origin` or `url`, or stand in the request's own
 * program. */
bool foreign_form(const struct channel *channel, const struct descriptor_request *request, const struct form *form);

#endif
