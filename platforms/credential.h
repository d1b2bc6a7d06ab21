/* SPDX-License-Identifier: MIT */
/*
 * credential: the secrets of a channel, each under a name, from the environment or a file.
 *
 * A configuration says {"env": "NAME"} or {"file": "path"}; the only credential of a channel is called "secret". The
 * content is held as struct secret and is read by form_fill() and nobody else. What is read again at a reload replaces
 * the old only if all of it could be read.
 */
#ifndef PLATFORMS_CREDENTIAL_H
#define PLATFORMS_CREDENTIAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "runtime/errbuf.h"
#include "runtime/secret.h"

#define CREDENTIAL_ONLY "secret"

struct credential {
    char *name;
    char *env;  /* or */
    char *file; /* as seen from the configuration's folder */
    struct secret *secret;
};

struct credentials {
    struct credential *items;
    size_t count;
};

/* Read what the configuration object of a channel names: member "credential", or "credentials" by name. The object has
 * been checked for other members. path: JSON path of the channel, for errors; config_path: the file's, or NULL. */
MUSTCHECK bool credentials_load(const json_t *channel, const char *config_path, const char *path,
                                struct credentials *out, struct errbuf *err);
void credentials_fini(struct credentials *credentials);

/* Read all again. False: err says what is wrong and the old ones stay. *changed: at least one is another now. */
MUSTCHECK bool credentials_reload(struct credentials *credentials, bool *changed, struct errbuf *err);

/* NULL if there is none of that name. */
const struct secret *credentials_get(const struct credentials *credentials, const char *name);

#endif
