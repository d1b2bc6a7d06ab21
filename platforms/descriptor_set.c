/* SPDX-License-Identifier: MIT */
/* The descriptors of a process by name. There are as many as a fleet has platforms, so a list is looked through. */
#include "platforms/descriptor.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/buf.h"
#include "runtime/die.h"

struct descriptor_set {
    char **dirs;
    size_t dir_count;
    struct descriptor **items;
    size_t count;
};

struct descriptor_set *descriptor_set_new(const char *const *dirs, size_t dir_count)
{
    struct descriptor_set *set = xcalloc(1, sizeof(*set));
    set->dirs = xcalloc(dir_count, sizeof(*set->dirs));
    for (size_t i = 0; i < dir_count; i++)
        set->dirs[i] = xstrdup(dirs[i]);
    set->dir_count = dir_count;
    return set;
}

void descriptor_set_free(struct descriptor_set **set)
{
    if (!*set) return;
    for (size_t i = 0; i < (*set)->count; i++)
        descriptor_free(&(*set)->items[i]);
    for (size_t i = 0; i < (*set)->dir_count; i++)
        free((*set)->dirs[i]);
    free((*set)->items);
    free((*set)->dirs);
    free(*set);
    *set = NULL;
}

static bool not_found(const struct descriptor_set *set, const char *platform, struct errbuf *err)
{
    struct buf dirs;
    buf_init(&dirs, 300);
    for (size_t i = 0; i < set->dir_count; i++)
        buf_append_format(&dirs, "%s%s", i > 0 ? ", " : "", set->dirs[i]);
    errbuf_set(err, "no descriptor %s.json in %s (cmake --install brings those of landfall)", platform,
               set->dir_count > 0 ? buf_text(&dirs) : "any folder");
    buf_fini(&dirs);
    return false;
}

bool descriptor_set_get(struct descriptor_set *set, const char *platform, struct descriptor **out, struct errbuf *err)
{
    *out = NULL;
    for (size_t i = 0; i < set->count && !*out; i++)
        if (strcmp(set->items[i]->platform, platform) == 0) *out = set->items[i];
    if (*out) return true;
    for (size_t i = 0; i < set->dir_count; i++) {
        char *path = xformat("%s/%s.json", set->dirs[i], platform);
        bool exists = access(path, F_OK) == 0;
        bool ok = exists && descriptor_load(path, out, err);
        free(path);
        if (exists && !ok) return false;
        if (!ok) continue;
        set->items = xrealloc_array(set->items, set->count + 1, sizeof(*set->items));
        set->items[set->count++] = *out;
        return true;
    }
    return not_found(set, platform, err);
}
