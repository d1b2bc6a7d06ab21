/* SPDX-License-Identifier: MIT */
/*
 * Whole walks over the histories of the descriptors, as search.c makes them: fixtures/<platform>/walks.json, where
 * there is one, has for each walk a delivery to look for, the requests in their order with the platform's answers, and
 * what the walk must end with and say of the delivery.
 */
#include "support.h"

#include "shipped.h"

#include <unistd.h>

#include "platforms/form.h"
#include "platforms/search.h"
#include "platforms/transfer.h"

#define ATTEMPT_MS 90000 /* from the first send to the last moment at which it may commit */

/* The marks of the walk's delivery: {item, key}. */
static json_t *marks_of(struct channel *channel, const json_t *walk)
{
    struct errbuf err;
    char *text = NULL;
    json_t *marks = NULL;
    const struct channel_facts facts = {.item = json_object_get(walk, "item"),
                                        .key = json_string_value(json_object_get(walk, "key"))};
    json_t *input = channel_input(channel, &facts);
    if (!channel_text(channel, DESCRIPTOR_READ, input, &text, &err)) fail_msg("%s", err.text);
    if (text) json_object_set_new(input, "text", json_string(text));
    free(text);
    if (!descriptor_run(channel->descriptor, DESCRIPTOR_READ, channel->descriptor->marks_part, input, &marks, &err))
        fail_msg("%s", err.text);
    json_decref(input);
    return marks;
}

static void url_of(const struct form *form, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < form->url.count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, form->url.segments[i].hole ? "{%s}" : "%s",
                                 form->url.segments[i].text);
}

/* One request of the walk and what comes of it. */
static void take_page(struct search *search, const json_t *page, const char *name)
{
    struct form form;
    struct answer answer;
    char url[4000];
    const char *expected = json_string_value(json_object_get(page, "url"));
    if (!search_next_request(search, &form))
        fail_msg("%s: ends (%s) in front of %s", name, search_end_name(search_result(search)->end), expected);
    url_of(&form, url, sizeof url);
    form_fini(&form);
    if (!expected || strcmp(url, expected) != 0) fail_msg("%s: asks for\n  %s\n  not for\n  %s", name, url, expected);
    shipped_answer(&answer, json_object_get(page, "answer"));
    const struct transfer_facts facts = {.reached = true, .complete = true, .status = answer.status};
    (void)!search_take_answer(search, &facts, &answer, 0); /* how it goes on shows in the next request */
    answer_fini(&answer);
}

static void check_end(const struct search *search, size_t slot, const json_t *expect, const char *name)
{
    struct mark_finding finding;
    const struct search_result *result = search_result(search);
    const char *event = delivery_event_name(search_evidence(search, slot, &finding));
    const char *id = json_string_value(json_object_get(expect, "id"));
    assert_string_equal(json_string_value(json_object_get(expect, "end")), search_end_name(result->end));
    if (strcmp(event, json_string_value(json_object_get(expect, "event"))) != 0)
        fail_msg("%s: the delivery is %s", name, event);
    if (id && strcmp(id, finding.id) != 0) fail_msg("%s: is found as %s", name, finding.id);
}

static void run_walk(struct channel *channel, const json_t *walk)
{
    struct errbuf err;
    struct form form;
    size_t slot;
    const char *name = json_string_value(json_object_get(walk, "name"));
    const int64_t from_ms = json_integer_value(json_object_get(walk, "attempt_from_ms"));
    json_t *marks = marks_of(channel, walk);
    struct mark_index *index = mark_index_new(channel->descriptor->listing.floor == FLOOR_SERVER_TIME);
    const struct mark_wanted wanted = {
        .marks = marks, .attempt_from_ms = from_ms, .commit_by_ms = from_ms + ATTEMPT_MS};
    if (!mark_index_add(index, &wanted, &slot, &err)) fail_msg("%s: %s", name, err.text);
    struct search *search = search_new(channel, index, from_ms);
    for (size_t i = 0; i < json_array_size(json_object_get(walk, "pages")); i++)
        take_page(search, json_array_get(json_object_get(walk, "pages"), i), name);
    if (search_next_request(search, &form)) fail_msg("%s: goes on", name);
    check_end(search, slot, json_object_get(walk, "expect"), name);
    search_free(&search);
    mark_index_free(&index);
    json_decref(marks);
}

static void test_walks(void **state)
{
    struct test_channels channels;
    char path[500];
    snprintf(path, sizeof path, "%s/fixtures/%s/walks.json", shipped_folder, (const char *)*state);
    if (access(path, F_OK) != 0) return;
    struct channel *channel = shipped_channel(*state, &channels);
    json_t *walks = json_file(path);
    assert_true(channel->descriptor->listing.given && json_array_size(walks) > 0);
    for (size_t i = 0; i < json_array_size(walks); i++)
        run_walk(channel, json_array_get(walks, i));
    json_decref(walks);
    test_channels_close(&channels);
}

int main(int argc, char **argv)
{
    return shipped_run("walks over histories", argc, argv, test_walks);
}
