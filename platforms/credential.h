/* SPDX-License-Identifier: MIT */
/*
 * credential: the secrets of a channel, each under a name, from the environment or a file.
 *
 * A configuration says {"env": "NAME"} or {"file": "path"}; the only credential of a channel is called "secret". The
 * content is held as struct secret and is read by form_fill() and nobody else. What is read again at a reload replaces
 * the old only if all of it could be read.
 */
#ifndef LANDFALL_PLATFORMS_CREDENTIAL_H
#define LANDFALL_PLATFORMS_CREDENTIAL_H

#include <stdbool.h>
#include <stddef.h>
#include "runtime/errbuf.h"
#include "runtime/secret.h"

#define CREDENTIAL_ONLY "secret"

struct shape;
struct hmac; /* platforms/hmac.h */

struct credential {
    char *name;
    char *env;  /* or */
    char *file; /* as seen from the configuration's folder */
    struct secret *secret;
    struct hmac *signer; /* keyed with the secret; kept here by form_fill(), gone with the secret; NULL: none yet */
};

struct credentials {
    struct credential *items;
    size_t count;
};

/* What a channel's configuration says of one. The name is NULL where it has only one. */
struct credential_source {
    const char *name;
    const char *env;
    const char *file;
};

/* The shape of {"env": ..} or {"file": ..}. */
extern const struct shape credential_shape;

/* Read them all. Files are seen from the folder of config_path (NULL: as they are). path: JSON path of the channel, for
 * errors. */
MUSTCHECK bool credentials_load(const struct credential_source *sources, size_t count, const char *config_path,
                                const char *path, struct credentials *out, struct errbuf *err);
void credentials_fini(struct credentials *credentials);

/* Read all again. False: err says what is wrong and the old ones stay. *changed: at least one is another now. */
MUSTCHECK bool credentials_reload(struct credentials *credentials, bool *changed, struct errbuf *err);

/* NULL if there is none of that name. */
struct credential *credentials_find(const struct credentials *credentials, const char *name);
const struct secret *credentials_get(const struct credentials *credentials, const char *name);

#endif
