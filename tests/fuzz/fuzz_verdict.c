/* SPDX-License-Identifier: MIT */
/* Answers of platforms, judged by every shipped descriptor: platform, head, body. */
#include "platforms/program_input.h"
#include "platforms/verdict.h"

#include <string.h>

#include "platforms/answer.h"
#include "platforms/transfer.h"
#include "runtime/die.h"
#include "runtime/utf8.h"
#include "tests/fuzz/kit.h"

#define NOW_MS INT64_C(1790000000000)

void fuzz_begin(void)
{
    fuzz_channels_load();
}

/* What is kept and shown is text without control characters. */
static void require_plain(const char *text)
{
    size_t len = strlen(text);
    for (size_t i = 0, step; i < len; i += step) {
        uint32_t c = 0;
        step = utf8_decode(text + i, len - i, &c);
        REQUIRE(step > 0 && c >= 0x20 && (c < 0x7f || c > 0x9f));
    }
}

static void require_sound(const struct outcome *out)
{
    require_plain(out->ext_id);
    require_plain(out->detail);
    require_plain(out->duplicate);
    REQUIRE(out->wait_ms >= 0 && out->wait_ms <= 3600000);
    REQUIRE(out->kind != EV_COMMITTED || out->detail[0] == '\0');
}

void fuzz_one(struct fuzz_input *input)
{
    struct channel *channel = fuzz_channel(input);
    struct answer answer;
    struct outcome out;
    bool whole;
    const struct channel_facts known = {.key = "landfall-it-1-0123456789abcdef", .replay = input->left % 2 == 0};
    json_t *item =
        json_pack("{s:s,s:s,s:s}", "id", "it-1", "url", "https://blog.example/p/it-1", "content_text", "Text");
    struct channel_facts facts_of_it = known;
    facts_of_it.item = item;
    json_t *delivery = channel_input(channel, &facts_of_it);
    (void)fuzz_answer(input, &answer, &whole);
    struct program_input *seen = program_input_new(delivery);
    const struct verdict_context context = {
        .input = seen, .replay = known.replay, .session = channel->descriptor->auth == AUTH_SESSION, .now_ms = NOW_MS};
    struct transfer_facts facts = {.reached = true, .complete = whole, .body_cut = !whole, .status = answer.status};
    verdict(channel, &facts, &answer, &context, &out);
    require_sound(&out);
    for (int prelude = VERDICT_STEP; prelude <= VERDICT_FETCH; prelude++) {
        verdict_prelude(channel, (enum verdict_prelude)prelude, &facts, &answer, &context, &out);
        require_sound(&out);
        REQUIRE(out.kind != EV_UNKNOWN && out.kind != EV_COMMITTED); /* the write has not left */
    }
    facts.complete = facts.body_cut = false;
    verdict(channel, &facts, &answer, &context, &out);
    REQUIRE(out.kind == EV_UNKNOWN);
    answer_fini(&answer);
    program_input_free(&seen);
    json_decref(delivery);
    json_decref(item);
}
