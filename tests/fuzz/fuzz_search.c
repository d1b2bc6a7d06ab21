/* SPDX-License-Identifier: MIT */
/* Histories of accounts: platform, then pages with 0x1e between them; look-ups read the same answers. */
#include "platforms/search.h"

#include <stdio.h>
#include <string.h>

#include "platforms/answer.h"
#include "platforms/form.h"
#include "platforms/lookup.h"
#include "platforms/transfer.h"
#include "tests/fuzz/kit.h"

#define FROM_MS   INT64_C(1790000000000)
#define PAGES_MAX 12

void fuzz_begin(void)
{
    fuzz_channels_load();
}

static struct mark_index *index_of(struct channel *channel, size_t *slot)
{
    struct errbuf err;
    json_t *marks = json_pack("{s:[s],s:[s],s:s}", "keys", "landfall-it-1-0123456789abcdef", "urls",
                              "https://blog.example/p/it-1", "text", "Title of it-1 https://blog.example/p/it-1");
    const struct mark_wanted wanted = {
        .marks = marks, .ext_id = "117", .attempt_from_ms = FROM_MS, .commit_by_ms = FROM_MS + 90000};
    struct mark_index *index = mark_index_new(channel->descriptor->listing.floor == FLOOR_SERVER_TIME);
    REQUIRE(mark_index_add(index, &wanted, slot, &err));
    json_decref(marks);
    return index;
}

static void look_up(struct channel *channel, const struct transfer_facts *facts, const struct answer *answer)
{
    json_t *item = json_pack("{s:s}", "id", "it-1");
    const struct channel_facts known = {.key = "landfall-it-1-0123456789abcdef", .ext_id = "117", .item = item};
    json_t *input = channel_input(channel, &known);
    struct lookup out;
    for (int by = LOOKUP_BY_ID; by <= LOOKUP_BY_KEY; by++) {
        if (!lookup_given(channel, (enum lookup_by)by)) continue;
        lookup_take_answer(channel, (enum lookup_by)by, input, facts, answer, FROM_MS, &out);
        REQUIRE(out.kind != LOOKUP_FOUND || out.id[0] != '\0');
        REQUIRE(out.wait_ms >= 0 && out.wait_ms <= 3600000);
    }
    json_decref(input);
    json_decref(item);
}

void fuzz_one(struct fuzz_input *input)
{
    struct channel *channel = fuzz_channel(input);
    struct form form;
    size_t slot;
    struct mark_index *index = index_of(channel, &slot);
    struct search *search = search_new(channel, index, FROM_MS);
    bool more = true, whole;
    for (int page = 0; more && page < PAGES_MAX && search_next_request(search, &form); page++) {
        struct answer answer;
        REQUIRE(page == 0 || !form.foreign); /* never to another server */
        form_fini(&form);
        more = fuzz_answer(input, &answer, &whole);
        const struct transfer_facts facts = {
            .reached = true, .complete = whole, .body_cut = !whole, .status = answer.status};
        if (page == 0) look_up(channel, &facts, &answer);
        (void)!search_take_answer(search, &facts, &answer, FROM_MS); /* how it goes on shows in the next request */
        REQUIRE(search_wait_ms(search) >= 0 && search_wait_ms(search) <= 3600000);
        answer_fini(&answer);
    }
    struct mark_finding finding;
    enum delivery_event event = search_evidence(search, slot, &finding);
    REQUIRE(event != EV_ABSENT || search_result(search)->end == SEARCH_COMPLETE);
    REQUIRE(event != EV_FOUND || finding.id[0] != '\0');
    search_free(&search);
    mark_index_free(&index);
}
