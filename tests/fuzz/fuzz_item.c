/* SPDX-License-Identifier: MIT */
/* Items as producers write them, merged for a channel, checked against it, rendered: platform, item. */
#include <stdlib.h>
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

/* The frozen bytes of the write request, for free(); NULL where there is none. content: as a value, or in the row. */
static char *render(struct channel *channel, const json_t *fields, struct content *content)
{
    const struct request_row row = {
        .content = content, .key = "landfall-it-1-0123456789abcdef", .approved_at_ms = INT64_C(1790000000000)};
    struct errbuf err = {{0}};
    struct form form;
    struct program_input *input = NULL;
    bool wanted;
    char *frozen = NULL;
    size_t len;
    enum render_result result = request_input(channel, fields, &row, &input, &err);
    REQUIRE(result == RENDER_OK || err.text[0] != '\0');
    if (result == RENDER_OK) {
        for (size_t step = 0; step < channel->descriptor->prepare_count; step++)
            (void)!request_step_wanted(channel, step, 0, input, &wanted, &err);
        if (request_render(channel, input, &form, &err)) {
            REQUIRE(form_check(&form, &err));
            REQUIRE(!form.foreign); /* a write goes where the channel says */
            frozen = form_frozen(&form, &len);
            form_fini(&form);
        }
    }
    program_input_free(&input);
    return frozen;
}

static void same_content(const struct content *a, const struct content *b)
{
    REQUIRE(a->canonical_len == b->canonical_len && memcmp(a->canonical, b->canonical, a->canonical_len) == 0);
    REQUIRE(strcmp(a->id, b->id) == 0 && strcmp(a->hash, b->hash) == 0 && a->dated_ms == b->dated_ms);
    REQUIRE(a->schedule.not_before_ms == b->schedule.not_before_ms &&
            a->schedule.not_after_ms == b->schedule.not_after_ms && strcmp(a->schedule.after, b->schedule.after) == 0);
}

void fuzz_one(struct fuzz_input *input)
{
    char err[KEYS_ERR_BYTES] = "", err_read[KEYS_ERR_BYTES] = "";
    json_t *item = NULL;
    struct content content, read;
    struct channel *channel = fuzz_channel(input);
    bool merged =
        canonical_parse(input->at, input->left, &item, err) && content_merge(item, channel->name, &content, err);
    REQUIRE(content_read(input->at, input->left, channel->name, &read, err_read) == merged);
    REQUIRE(strcmp(err, err_read) == 0 && merged == (err[0] == '\0'));
    if (merged) {
        REQUIRE(content.id[0] != '\0' && strlen(content.canonical) == content.canonical_len);
        same_content(&content, &read);
        char *a = render(channel, content.fields, NULL), *b = render(channel, NULL, &read);
        REQUIRE((a == NULL) == (b == NULL) && (a == NULL || strcmp(a, b) == 0));
        REQUIRE(json_equal(content.fields, content_fields(&read)));
        free(a);
        free(b);
        content_fini(&content);
        content_fini(&read);
    }
    json_decref(item);
}
