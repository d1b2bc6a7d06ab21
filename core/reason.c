/* SPDX-License-Identifier: MIT */
/* Names of the tables in reason.h, and back. */
#include "core/reason.h"

#include <stddef.h>
#include <string.h>

#define X(id, name) name,
static const char *const state_names[] = {DELIVERY_STATES(X)};
static const char *const event_names[] = {DELIVERY_EVENTS(X)};
static const char *const reason_names[] = {DELIVERY_REASONS(X)};
static const char *const source_names[] = {DELIVERY_SOURCES(X)};
#undef X

static int find(const char *const *names, int count, const char *name)
{
    for (int i = 0; name != NULL && i < count; i++) {
        if (strcmp(names[i], name) == 0) return i;
    }
    return -1;
}

const char *delivery_state_name(enum delivery_state s)
{
    return (unsigned)s < DS_COUNT ? state_names[s] : "?";
}

const char *delivery_event_name(enum delivery_event e)
{
    return (unsigned)e < EV_COUNT ? event_names[e] : "?";
}

const char *delivery_reason_name(enum delivery_reason r)
{
    return (unsigned)r < RS_COUNT ? reason_names[r] : "?";
}

const char *delivery_source_name(enum delivery_source s)
{
    return (unsigned)s < SRC_COUNT ? source_names[s] : "?";
}

int delivery_state_from_name(const char *name)
{
    return find(state_names, DS_COUNT, name);
}

int delivery_event_from_name(const char *name)
{
    return find(event_names, EV_COUNT, name);
}

int delivery_reason_from_name(const char *name)
{
    return find(reason_names, RS_COUNT, name);
}

int delivery_source_from_name(const char *name)
{
    return find(source_names, SRC_COUNT, name);
}
