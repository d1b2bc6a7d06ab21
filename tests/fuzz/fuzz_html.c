/* SPDX-License-Identifier: MIT */
/* HTML as platforms give it, text and addresses: what they are compared by. */
#include "platforms/html.h"

#include <string.h>

#include "platforms/origin.h"
#include "platforms/text.h"
#include "platforms/url.h"
#include "tests/fuzz/kit.h"

void fuzz_begin(void)
{
}

static void check_url(const char *text)
{
    char *normal = url_normal(text);
    char origin[ORIGIN_MAX_BYTES], again_origin[ORIGIN_MAX_BYTES];
    if (normal) {
        char *again = url_normal(normal);
        REQUIRE(again && strcmp(normal, again) == 0); /* a normal form is its own */
        free(again);
    }
    free(normal);
    if (origin_normalize(text, origin)) {
        REQUIRE(origin_is_url(origin));
        REQUIRE(origin_normalize(origin, again_origin) && strcmp(origin, again_origin) == 0);
    }
}

static void check_spans(const char *text, size_t len)
{
    struct text_span span;
    for (size_t from = 0; text_next_link(text, len, from, &span); from = span.end)
        REQUIRE(span.start >= from && span.end > span.start && span.end <= len);
    for (size_t from = 0; text_next_tag(text, len, from, &span); from = span.end)
        REQUIRE(span.start >= from && span.end > span.start && span.end <= len);
}

static void check_counts(const char *text, size_t len)
{
    struct text_measure measure = {.unit = TEXT_BYTES};
    REQUIRE(text_count(text, len, &measure) == len);
    for (int unit = 0; unit < TEXT_UNIT_COUNT; unit++) {
        measure = (struct text_measure){.unit = (enum text_unit)unit, .short_mentions = true};
        REQUIRE(text_count(text, len, &measure) <= 2 * len);
        measure.url_counts = 23;
        (void)text_count(text, len, &measure);
    }
    const struct text_measure graphemes = {.unit = TEXT_GRAPHEMES}, points = {.unit = TEXT_CODE_POINTS};
    REQUIRE(text_count(text, len, &graphemes) <= text_count(text, len, &points));
}

void fuzz_one(struct fuzz_input *input)
{
    size_t len;
    struct buf text, links;
    char *html = fuzz_text(input, &len);
    buf_init(&text, 4 * len + 64);
    buf_init(&links, 4 * len + 64);
    html_read(html, len, &text, &links);
    for (const char *link = NULL; (link = html_next_link(&links, link));)
        check_url(link);
    check_url(html);
    check_spans(html, len);
    check_counts(html, len);
    json_decref(text_facts_json(html));
    char *normal = text_normal(html);
    char *again = text_normal(normal);
    REQUIRE(strcmp(normal, again) == 0);
    free(again);
    free(normal);
    buf_fini(&text);
    buf_fini(&links);
    free(html);
}
