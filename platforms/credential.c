/* SPDX-License-Identifier: MIT */
#include "platforms/credential.h"

#include <stdlib.h>
#include <string.h>

#include "platforms/hmac.h"
#include "platforms/shape.h"
#include "runtime/die.h"
#include "runtime/file.h"

static const struct shape_member members[] = {
    {.name = "env", .kind = SHAPE_TEXT, .offset = offsetof(struct credential_source, env)},
    {.name = "file", .kind = SHAPE_TEXT, .offset = offsetof(struct credential_source, file)},
};
const struct shape credential_shape = {sizeof(struct credential_source), members, sizeof(members) / sizeof(*members)};

/* False also where there is nothing: an empty credential would be sent as one. */
static bool read_secret(const struct credential *credential, struct secret **secret, struct errbuf *err)
{
    *secret = NULL;
    if (credential->file) return secret_from_file(credential->file, secret, err);
    if (!secret_from_env(credential->env, secret, err)) return false;
    /* Its name is not repeated: a secret is written in its place now and then. */
    return *secret || errbuf_set(err, "env: the environment has no variable of this name, or it is empty");
}

bool credentials_load(const struct credential_source *sources, size_t count, const char *config_path, const char *path,
                      struct credentials *out, struct errbuf *err)
{
    out->items = xcalloc(count, sizeof(*out->items));
    out->count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct credential_source *source = &sources[i];
        struct credential *item = &out->items[out->count++];
        item->name = xstrdup(source->name ? source->name : CREDENTIAL_ONLY);
        bool ok = (source->env != NULL) != (source->file != NULL);
        if (!ok) {
            errbuf_set(err, "must say where it is: {\"env\": \"NAME\"} or {\"file\": \"path\"}");
        } else {
            if (source->env) item->env = xstrdup(source->env);
            if (source->file)
                item->file = config_path ? file_path_beside(config_path, source->file) : xstrdup(source->file);
            ok = read_secret(item, &item->secret, err);
        }
        if (ok) continue;
        if (source->name)
            errbuf_prefix(err, "%s.credentials.%s", path, source->name);
        else
            errbuf_prefix(err, "%s.credential", path);
        credentials_fini(out);
        return false;
    }
    return true;
}

static void replace_secret(struct credential *item, struct secret *own_secret)
{
    hmac_free(&item->signer);
    secret_free(&item->secret);
    item->secret = own_secret;
}

void credentials_fini(struct credentials *credentials)
{
    for (size_t i = 0; i < credentials->count; i++) {
        struct credential *item = &credentials->items[i];
        replace_secret(item, NULL);
        free(item->name);
        free(item->env);
        free(item->file);
    }
    free(credentials->items);
    memset(credentials, 0, sizeof(*credentials));
}

bool credentials_reload(struct credentials *credentials, bool *changed, struct errbuf *err)
{
    *changed = false;
    struct secret **fresh = xcalloc(credentials->count, sizeof(struct secret *));
    bool ok = true;
    for (size_t i = 0; i < credentials->count && ok; i++) {
        ok = read_secret(&credentials->items[i], &fresh[i], err);
        if (!ok) errbuf_prefix(err, "credential %s", credentials->items[i].name);
    }
    for (size_t i = 0; i < credentials->count; i++) {
        struct credential *item = &credentials->items[i];
        if (ok && !secret_equal(item->secret, fresh[i])) {
            replace_secret(item, fresh[i]);
            fresh[i] = NULL;
            *changed = true;
        }
        secret_free(&fresh[i]);
    }
    free(fresh);
    return ok;
}

struct credential *credentials_find(const struct credentials *credentials, const char *name)
{
    for (size_t i = 0; i < credentials->count; i++)
        if (strcmp(credentials->items[i].name, name) == 0) return &credentials->items[i];
    return NULL;
}

const struct secret *credentials_get(const struct credentials *credentials, const char *name)
{
    const struct credential *credential = credentials_find(credentials, name);
    return credential ? credential->secret : NULL;
}
