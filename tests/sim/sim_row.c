/* SPDX-License-Identifier: MIT */
#include "tests/sim/sim_row.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct redis_object *sim_row_object(struct redis_db *db, const char *kind, const char *suffix)
{
    char key[SIM_ROW_KEY_BYTES];
    int len = snprintf(key, sizeof key, SIM_ROW_START "%s%s%s", kind, suffix[0] != '\0' ? ":" : "", suffix);
    return redis_db_peek(db, key, (size_t)len);
}

const char *sim_row_field(const struct redis_object *row, const char *name)
{
    const struct redis_entry *entry = row != NULL ? redis_table_find(&row->table, name, strlen(name)) : NULL;
    return entry != NULL ? ((const struct redis_text *)entry->value)->bytes : "";
}

static bool stands_in(struct redis_db *db, const char *kind, const char *suffix, const char *member)
{
    size_t at;
    const struct redis_object *object = sim_row_object(db, kind, suffix);
    return object != NULL && redis_zset_find(&object->zset, member, strlen(member), &at);
}

static bool in_journal(struct redis_db *db, const char *entry)
{
    struct redis_stream_id id = {0, 0};
    const struct redis_object *journal = sim_row_object(db, "journal", "");
    char *end;
    id.ms = strtoull(entry, &end, 10);
    id.seq = *end == '-' ? strtoull(end + 1, NULL, 10) : 0;
    return journal != NULL && redis_stream_find(&journal->stream, id) != NULL;
}

struct places {
    bool agenda, waiting, uncertain, walk, journal;
};

static struct places places_of(struct redis_db *db, const struct redis_object *row, const char *channel,
                               const char *delivery)
{
    char member[SIM_ROW_KEY_BYTES];
    struct places at = {0};
    snprintf(member, sizeof member, "delivery:%s", delivery);
    at.agenda = stands_in(db, "agenda", "", member);
    at.waiting = stands_in(db, "waiting", channel, delivery);
    at.uncertain = stands_in(db, "uncertain", channel, delivery);
    snprintf(member, sizeof member, "walk:%s", channel);
    at.walk = stands_in(db, "agenda", "", member);
    at.journal = sim_row_field(row, "journal")[0] != '\0';
    return at;
}

const char *sim_row_misplaced(struct redis_db *db, const char *channel, const char *delivery)
{
    const struct redis_object *row = sim_row_object(db, "delivery", delivery);
    const struct places at = places_of(db, row, channel, delivery);
    const char *state = sim_row_field(row, "state");
    if (strcmp(state, "approved") == 0) {
        if (at.agenda == at.waiting) return "stands on the agenda and in the waiting list, or nowhere";
    } else if (strcmp(state, "claimed") == 0) {
        if (!at.agenda || at.waiting) return "is claimed and not on the agenda";
    } else if (strcmp(state, "uncertain") == 0) {
        if (!at.uncertain || !at.walk) return "is uncertain, and nobody will look at it";
        if (!at.journal || !in_journal(db, sim_row_field(row, "journal"))) return "is uncertain and not in the journal";
        return at.agenda || at.waiting ? "is uncertain and to be sent" : NULL;
    } else if (at.agenda || at.waiting) {
        return "is settled and to be sent";
    }
    return at.uncertain || at.journal ? "is not uncertain and still listed so" : NULL;
}
