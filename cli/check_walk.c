/* SPDX-License-Identifier: MIT */
/* A walk of a descriptor's walks.json: the requests in their order with the platform's answers, and what the walk must
 * end with and say of the delivery. */
#include <stdlib.h>
#include <string.h>

#include "cli/check_case.h"
#include "cli/out.h"
#include "cli/sample.h"
#include "platforms/form.h"
#include "platforms/search.h"
#include "platforms/text.h"
#include "platforms/transfer.h"
#include "runtime/buf.h"

#define ATTEMPT_MS 90000 /* from the first send to the last moment at which it may commit */

struct walking {
    struct channel *channel;
    const json_t *walk;
    json_t *marks;
    struct mark_index *index;
    struct search *search;
    size_t slot;
    struct errbuf err;
};

static const char *text_at(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static bool make_marks(struct walking *w)
{
    struct descriptor *d = w->channel->descriptor;
    char *text = NULL;
    const struct channel_facts facts = {.item = json_object_get(w->walk, "item"),
                                        .key = json_string_value(json_object_get(w->walk, "key"))};
    if (!d->listing.given || !d->marks_part) return errbuf_set(&w->err, "the descriptor has no listing with marks");
    json_t *input = channel_input(w->channel, &facts);
    bool ok = channel_text(w->channel, DESCRIPTOR_READ, input, &text, &w->err);
    if (text) out_set(input, "text", out_string(text));
    if (text) out_set(input, "text_facts", text_facts_json(text));
    free(text);
    ok = ok && descriptor_run(d, DESCRIPTOR_READ, d->marks_part, input, &w->marks, &w->err);
    json_decref(input);
    return ok;
}

static bool begin(struct walking *w)
{
    const int64_t from_ms = json_integer_value(json_object_get(w->walk, "attempt_from_ms"));
    if (!make_marks(w)) return false;
    w->index = mark_index_new(w->channel->descriptor->listing.floor == FLOOR_SERVER_TIME);
    const struct mark_wanted wanted = {
        .marks = w->marks, .attempt_from_ms = from_ms, .commit_by_ms = from_ms + ATTEMPT_MS};
    if (!mark_index_add(w->index, &wanted, &w->slot, &w->err)) return false;
    w->search = search_new(w->channel, w->index, from_ms);
    return true;
}

static bool asks_for(struct walking *w, const struct form *form, const char *expected)
{
    struct buf url;
    buf_init(&url, 2 * FORM_URL_MAX_BYTES);
    for (size_t i = 0; i < form->url.count; i++)
        buf_append_format(&url, form->url.segments[i].hole ? "{%s}" : "%s", form->url.segments[i].text);
    const bool same = strcmp(buf_text(&url), expected) == 0;
    if (!same) errbuf_set(&w->err, "asks for %.200s, not for %.200s", buf_text(&url), expected);
    buf_fini(&url);
    return same;
}

static bool take_page(struct walking *w, const json_t *page)
{
    struct form form;
    struct answer answer;
    if (!search_next_request(w->search, &form))
        return errbuf_set(&w->err, "ends (%s) in front of %.200s", search_end_name(search_result(w->search)->end),
                          text_at(page, "url"));
    bool ok = asks_for(w, &form, text_at(page, "url"));
    form_fini(&form);
    if (!ok || !sample_answer(json_object_get(page, "answer"), &answer, &w->err)) return false;
    const struct transfer_facts facts = {.reached = true, .complete = true, .status = answer.status};
    (void)!search_take_answer(w->search, &facts, &answer, 0); /* how it goes on shows in the next request */
    answer_fini(&answer);
    return true;
}

static bool check_end(struct walking *w)
{
    struct mark_finding finding;
    struct form form;
    const json_t *expect = json_object_get(w->walk, "expect");
    if (search_next_request(w->search, &form)) {
        form_fini(&form);
        return errbuf_set(&w->err, "goes on behind its last page");
    }
    const char *end = search_end_name(search_result(w->search)->end);
    const char *event = delivery_event_name(search_evidence(w->search, w->slot, &finding));
    if (strcmp(end, text_at(expect, "end")) != 0)
        return errbuf_set(&w->err, "ends as %s, is to end as \"%s\"", end, text_at(expect, "end"));
    if (strcmp(event, text_at(expect, "event")) != 0)
        return errbuf_set(&w->err, "says %s of the delivery, is to say \"%s\"", event, text_at(expect, "event"));
    if (json_object_get(expect, "id") && strcmp(finding.id, text_at(expect, "id")) != 0)
        return errbuf_set(&w->err, "finds it as \"%s\", is to find \"%s\"", finding.id, text_at(expect, "id"));
    return true;
}

json_t *check_walk_run(void *context)
{
    const struct check_case *one = context;
    struct walking w = {.channel = one->channel, .walk = one->test};
    json_t *result = json_object();
    const json_t *pages = json_object_get(w.walk, "pages");
    bool ok = begin(&w);
    for (size_t i = 0; ok && i < json_array_size(pages); i++)
        ok = take_page(&w, json_array_get(pages, i));
    ok = ok && check_end(&w);
    if (!ok) out_set(result, "problem", out_string(w.err.text));
    search_free(&w.search);
    mark_index_free(&w.index);
    json_decref(w.marks);
    return result;
}
