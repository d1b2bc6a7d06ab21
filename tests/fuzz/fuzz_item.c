/* SPDX-License-Identifier: MIT */
/* Items as producers write them, merged for a channel, checked against it, rendered: platform, item. */
#include <string.h>

#include "keys/canonical.h"
#include "keys/content.h"
#include "platforms/form.h"
#include "platforms/program_input.h"
#include "platforms/request.h"
#include "tests/fuzz/kit.h"

void fuzz_begin(void)
{
    fuzz_channels_load();
}

static void render(struct channel *channel, const struct content *content)
{
    const struct request_row row = {.key = "landfall-it-1-0123456789abcdef", .approved_at_ms = INT64_C(1790000000000)};
    struct errbuf err = {{0}};
    struct form form;
    struct program_input *input = NULL;
    bool wanted;
    enum render_result result = request_input(channel, content->fields, &row, &input, &err);
    REQUIRE(result == RENDER_OK || err.text[0] != '\0');
    if (result == RENDER_OK) {
        for (size_t step = 0; step < channel->descriptor->prepare_count; step++)
            (void)!request_step_wanted(channel, step, 0, input, &wanted, &err);
        if (request_render(channel, input, &form, &err)) {
            REQUIRE(form_check(&form, &err));
            REQUIRE(!form.foreign); /* a write goes where the channel says */
            form_fini(&form);
        }
    }
    program_input_free(&input);
}

void fuzz_one(struct fuzz_input *input)
{
    char err[KEYS_ERR_BYTES] = "";
    json_t *item = NULL;
    struct content content;
    struct channel *channel = fuzz_channel(input);
    if (!canonical_parse(input->at, input->left, &item, err)) {
        REQUIRE(err[0] != '\0');
        return;
    }
    if (content_merge(item, channel->name, &content, err)) {
        REQUIRE(content.id[0] != '\0' && strlen(content.canonical) == content.canonical_len);
        render(channel, &content);
        content_fini(&content);
    }
    json_decref(item);
}
