/* SPDX-License-Identifier: MIT */
#include "reconciler/subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keys/canonical.h"
#include "keys/content.h"
#include "ledger/reads.h"
#include "platforms/channel.h"
#include "platforms/lookup.h"
#include "platforms/search.h"
#include "platforms/text.h"
#include "runtime/die.h"

int64_t subject_attempt_from_ms(const struct delivery_row *row)
{
    /* Attempts of an older key generation, and those that a ledger that was set back has forgotten, may be older than
     * the first send that the row knows; none is older than the approval. */
    if (row->first_send_ms == 0) return row->approved_at_ms;
    const bool older = row->generation > 0 || doubt_has_forgotten(&row->doubt);
    return older && row->approved_at_ms < row->first_send_ms ? row->approved_at_ms : row->first_send_ms;
}

/* ---- marks ---- */

static struct channel_facts facts_of(const struct subject *subject)
{
    const struct delivery_row *row = &subject->row;
    return (struct channel_facts){
        .key = subject->key[0] != '\0' ? subject->key : NULL,
        .generation = row->generation,
        .approved_at_ms = row->approved_at_ms,
        .dated_ms = row->dated_ms,
        .attempt_from_ms = subject_attempt_from_ms(row),
        .ext_id = row->ext_id[0] != '\0' ? row->ext_id : NULL,
        .replay = row->doubt.count > 0,
    };
}

json_t *subject_input(const struct subject *subject, const struct channel *channel)
{
    const struct channel_facts facts = facts_of(subject);
    json_t *input = channel_input(channel, &facts);
    if (subject->marks != NULL) json_object_set(input, "marks", subject->marks);
    return input;
}

/* What programs see of a delivery whose content is known; NULL where its text cannot be made. */
static json_t *input_of(const struct subject *subject, struct channel *channel, const json_t *item, struct errbuf *why)
{
    struct channel_facts facts = facts_of(subject);
    char *text = NULL;
    facts.item = item;
    json_t *input = channel_input(channel, &facts);
    const bool ok = channel_text(channel, DESCRIPTOR_READ, input, &text, why);
    if (ok && text != NULL) {
        json_object_set_new(input, "text", json_string(text));
        json_object_set_new(input, "text_facts", text_facts_json(text));
    }
    free(text);
    if (ok) return input;
    json_decref(input);
    return NULL;
}

static json_t *marks_of(const struct subject *subject, struct channel *channel, const struct request_text *stored,
                        struct errbuf *why)
{
    char err[KEYS_ERR_BYTES] = "";
    struct content content;
    json_t *item = NULL, *marks = NULL;
    if (channel->descriptor->marks_part == NULL) return NULL;
    if (stored->bytes == NULL) {
        errbuf_set(why, "its content is gone");
        return NULL;
    }
    const bool read =
        canonical_parse(stored->bytes, stored->len, &item, err) && content_merge(item, channel->name, &content, err);
    json_decref(item);
    if (!read) {
        errbuf_set(why, "its content cannot be read: %s", err);
        return NULL;
    }
    json_t *input = input_of(subject, channel, content.fields, why);
    if (input != NULL &&
        !descriptor_run(channel->descriptor, DESCRIPTOR_READ, channel->descriptor->marks_part, input, &marks, why))
        marks = NULL;
    json_decref(input);
    content_fini(&content);
    return marks;
}

static void put_in_table(struct subject *subject, struct channel *channel, const struct request_text *content,
                         struct mark_index *table, struct errbuf *why)
{
    const struct delivery_row *row = &subject->row;
    json_t *marks = marks_of(subject, channel, content, why);
    const struct mark_wanted wanted = {
        .marks = marks,
        .ext_id = row->ext_id,
        .attempt_from_ms = subject_attempt_from_ms(row),
        .commit_by_ms = row->commit_by_ms,
    };
    subject->in_table = mark_index_add(table, &wanted, &subject->slot, why);
    subject->marks = marks;
}

/* ---- routes ---- */

static enum subject_route listing_route(const struct subject *subject, const struct channel *channel)
{
    return subject->in_table && channel->descriptor->listing.given ? SUBJECT_LISTING : SUBJECT_NONE;
}

static enum subject_route first_route(const struct subject *subject, const struct channel *channel)
{
    if (channel->policy.harmless) return SUBJECT_NONE;
    if (subject->row.ext_id[0] != '\0' && lookup_given(channel, LOOKUP_BY_ID)) return SUBJECT_BY_ID;
    if (subject->key[0] != '\0' && lookup_given(channel, LOOKUP_BY_KEY)) return SUBJECT_BY_KEY;
    return listing_route(subject, channel);
}

void subject_init(struct subject *subject, const char *delivery, const struct reads_delivery *read,
                  struct channel *channel, struct mark_index *table, struct errbuf *why)
{
    memset(subject, 0, sizeof *subject);
    why->text[0] = '\0';
    snprintf(subject->delivery, sizeof subject->delivery, "%s", delivery);
    snprintf(subject->key, sizeof subject->key, "%s", read->row.key);
    subject->row = read->row.core;
    subject->attempt = read->row.core.attempt;
    subject->event = EV_UNSEEN;
    subject->how = "none";
    if (!channel->policy.harmless && channel->descriptor->listing.given)
        put_in_table(subject, channel, &read->content, table, why);
    subject->route = first_route(subject, channel);
    subject->known_id = subject->route == SUBJECT_BY_ID;
}

void subject_fini(struct subject *subject)
{
    free(subject->ext_id);
    free(subject->url);
    free(subject->duplicate_id);
    json_decref(subject->marks);
    memset(subject, 0, sizeof *subject);
}

/* ---- evidence ---- */

static char *copy_or_null(const char *text)
{
    return text != NULL && text[0] != '\0' ? xstrdup(text) : NULL;
}

void subject_no_lookup(struct subject *subject, const struct channel *channel)
{
    subject->route = listing_route(subject, channel);
}

void subject_take_lookup(struct subject *subject, const struct channel *channel, bool by_key,
                         const struct lookup *lookup)
{
    if (lookup->kind != LOOKUP_FOUND && lookup->kind != LOOKUP_GONE) {
        subject_no_lookup(subject, channel);
        return;
    }
    subject->route = SUBJECT_NONE;
    subject->how = by_key ? "key" : "id";
    if (lookup->kind == LOOKUP_GONE) {
        subject->event = by_key ? EV_ABSENT : EV_GONE;
        return;
    }
    subject->event = EV_FOUND;
    subject->ext_id = copy_or_null(lookup->id[0] != '\0' ? lookup->id : subject->row.ext_id);
    subject->url = copy_or_null(lookup->url);
    subject->duplicate_id = copy_or_null(lookup->duplicate);
}

void subject_take_listing(struct subject *subject, const struct search *search)
{
    struct mark_finding finding;
    if (subject->route != SUBJECT_LISTING) return;
    subject->route = SUBJECT_NONE;
    const enum delivery_event walked = search_evidence(search, subject->slot, &finding);
    subject->event = resolve_listing_event(walked, finding.result);
    if (subject->known_id && subject->event == EV_ABSENT) subject->event = EV_UNSEEN;
    if (subject->event != EV_UNSEEN) subject->how = "listing";
    if (subject->event != EV_FOUND) return;
    subject->ext_id = copy_or_null(finding.id);
    subject->url = copy_or_null(finding.url);
    subject->duplicate_id = copy_or_null(finding.duplicate_id);
    subject->changed = finding.changed;
}

struct evidence subject_evidence(const struct subject *subject, int64_t searched_from_ms)
{
    return (struct evidence){
        .event = subject->event,
        .attempt = subject->attempt,
        .searched_from_ms = searched_from_ms,
        .how = subject->how,
        .ext_id = subject->ext_id,
        .url = subject->url,
        .duplicate_id = subject->duplicate_id,
    };
}
