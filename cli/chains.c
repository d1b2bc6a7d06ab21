/* SPDX-License-Identifier: MIT */
#include "cli/chains.h"

#include <stdlib.h>

#include "cli/batches.h"
#include "cli/doctor_facts.h"
#include "cli/out.h"
#include "runtime/die.h"

/* A feed that is brought in another order than it is to go out gets so long. */
#define PATIENCE_MS 600000

struct link {
    const char *name;
    char after[IDENTITY_NAME_BYTES]; /* "": it waits for nothing any more */
    bool is_late;
};

struct chains {
    struct link *links;
    size_t count;
    json_t *place; /* name -> its place in links */
    int64_t now_ms;
    struct checks_chains *out;
};

static void take_waiting(size_t i, const char *name, const struct reads_delivery *read, void *context)
{
    struct chains *chains = context;
    struct link *link = &chains->links[i];
    const struct delivery_row *row = &read->row.core;
    char channel[IDENTITY_CHANNEL_BYTES];
    link->name = name;
    batches_channel(name, channel);
    const bool waits = read->readable && row->state == DS_APPROVED && row->reason == RS_PREDECESSOR;
    if (!waits || !batches_after(channel, &read->content, link->after)) link->after[0] = '\0';
    link->is_late = row->since_ms + PATIENCE_MS < chains->now_ms;
    out_set(chains->place, name, json_integer((json_int_t)i));
}

static void take_awaited(size_t i, const char *name, const struct reads_delivery *read, void *context)
{
    struct chains *chains = context;
    const struct link *link = &chains->links[i];
    if (link->after[0] == '\0' || !link->is_late || !read->readable || read->row.core.state != DS_NONE) return;
    doctor_list_add(&chains->out->holes, "%.100s waits for %.100s", link->name, name);
}

static const struct link *next_of(const struct chains *chains, const struct link *link)
{
    const json_t *place = json_object_get(chains->place, link->after);
    return place ? &chains->links[json_integer_value(place)] : NULL;
}

static void find_circles(struct chains *chains)
{
    for (size_t i = 0; i < chains->count; i++) {
        const struct link *first = &chains->links[i], *link = next_of(chains, first);
        for (size_t steps = 0; link && link != first && steps < chains->count; steps++)
            link = next_of(chains, link);
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): an element of an array is no null pointer */
        if (link == first) doctor_list_add(&chains->out->circles, "%.100s waits for %.100s", first->name, first->after);
    }
}

bool chains_read(struct cli *cli, const struct survey_list *behind, int64_t now_ms, struct checks_chains *out)
{
    if (behind->kept == 0) return true;
    struct chains chains = {.links = xcalloc(behind->kept, sizeof *chains.links),
                            .count = behind->kept,
                            .place = json_object(),
                            .now_ms = now_ms,
                            .out = out};
    char **awaited = xcalloc(behind->kept, sizeof *awaited);
    bool ok = batches_read(cli, behind->names, behind->kept, take_waiting, &chains);
    for (size_t i = 0; i < behind->kept; i++) /* a place for each, so that both lists have the same places */
        awaited[i] = chains.links[i].after[0] ? chains.links[i].after : behind->names[i];
    ok = ok && batches_read(cli, awaited, behind->kept, take_awaited, &chains);
    if (ok) find_circles(&chains);
    free(awaited);
    json_decref(chains.place);
    free(chains.links);
    return ok;
}
