/* SPDX-License-Identifier: MIT */
/* What platforms count, where links and tags stand, and when two texts are one. */
#include "tests/unit/keys/test.h"

#include "platforms/text.h"
#include "runtime/die.h"

#define FAMILY "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7\xe2\x80\x8d\xf0\x9f\x91\xa6"
#define FLAG   "\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa"
#define E_NFC  "\xc3\xa9"
#define E_NFD  "e\xcc\x81"

static const struct {
    const char *text;
    size_t graphemes;
    size_t code_points;
    size_t bytes;
} lengths[] = {
    {"", 0, 0, 0},
    {"abc", 3, 3, 3},
    {E_NFC, 1, 1, 2},
    {E_NFD, 1, 2, 3},
    {FAMILY, 1, 7, 25},
    {FAMILY FAMILY FLAG FLAG, 4, 18, 66},
    {"\r\n", 1, 2, 2},
    {"a\xff\xfe"
     "b",
     4, 4, 4},
    {"\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab", 1, 3, 9}, /* a Korean syllable in three parts */
};

static void test_lengths(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(lengths); i++) {
        const size_t len = strlen(lengths[i].text);
        assert_int_equal(text_count(lengths[i].text, len, TEXT_GRAPHEMES, 0), lengths[i].graphemes);
        assert_int_equal(text_count(lengths[i].text, len, TEXT_CODE_POINTS, 0), lengths[i].code_points);
        assert_int_equal(text_count(lengths[i].text, len, TEXT_BYTES, 0), lengths[i].bytes);
    }
}

static void test_three_hundred_families(void **state)
{
    (void)state;
    const size_t one = strlen(FAMILY);
    char *text = xmalloc(301 * one + 1);
    for (size_t i = 0; i < 301; i++)
        memcpy(text + i * one, FAMILY, one + 1);
    assert_int_equal(text_count(text, 300 * one, TEXT_GRAPHEMES, 23), 300);
    assert_int_equal(text_count(text, 301 * one, TEXT_GRAPHEMES, 23), 301);
    free(text);
}

static void test_links_count_as_stated(void **state)
{
    (void)state;
    static const char text[] =
        "See https://ex.test/a/very/long/address/that/goes/on/and/on/and/on/until/it/has/ninety?x=12345 "
        "and http://b.test.";
    assert_int_equal(text_count(text, strlen(text), TEXT_CODE_POINTS, 23), 4 + 23 + 5 + 23 + 1);
    assert_int_equal(text_count(text, strlen(text), TEXT_CODE_POINTS, 0), strlen(text));
}

/* What is found, joined by "|". */
static char *found(const char *text, bool (*next)(const char *, size_t, size_t, struct text_span *))
{
    char *out = xstrdup("");
    struct text_span span;
    for (size_t from = 0; next(text, strlen(text), from, &span); from = span.end) {
        assert_true(span.start >= from && span.end > span.start && span.end <= strlen(text));
        char *more = xformat("%s%s%.*s", out, out[0] ? "|" : "", (int)(span.end - span.start), text + span.start);
        free(out);
        out = more;
    }
    return out;
}

static const struct {
    const char *text;
    const char *links;
    const char *tags;
} spans[] = {
    {"", "", ""},
    {"no link", "", ""},
    {"https://", "", ""},
    {"https://.", "", ""},
    {"xhttps://ex.test", "", ""},
    {"(https://ex.test/a)", "https://ex.test/a", ""},
    {"https://ex.test/a_(b) and (https://ex.test/a_(b)).", "https://ex.test/a_(b)|https://ex.test/a_(b)", ""},
    {"Look: HTTPS://Ex.test/A?b=c&d=e#f!", "HTTPS://Ex.test/A?b=c&d=e#f", ""},
    {"a https://ex.test/a, b https://ex.test/b; c", "https://ex.test/a|https://ex.test/b", ""},
    {"<https://ex.test/a> \"https://ex.test/b\"", "https://ex.test/a|https://ex.test/b", ""},
    {"https://ex.test/\xc3\xa9t\xc3\xa9 x", "https://ex.test/\xc3\xa9t\xc3\xa9", ""},
    {"https://ex.test/a\xe3\x80\x82\xe6\xac\xa1", "https://ex.test/a", ""},
    {"https://ex.test/a\xe2\x80\xa6", "https://ex.test/a", ""},
    {"https://ex.test/a\xc2\xa0"
     "b",
     "https://ex.test/a", ""},
    {FAMILY " https://ex.test/a", "https://ex.test/a", ""},
    {"#one #two_2 x#no &#39; #3 #3d #", "", "#one|#two_2|#3d"},
    {"#caf" E_NFC " #caf" E_NFD ", #\xe6\x97\xa5\xe6\x9c\xac", "",
     "#caf" E_NFC "|#caf" E_NFD "|#\xe6\x97\xa5\xe6\x9c\xac"},
    {"https://ex.test/a#part #tag", "https://ex.test/a#part", "#tag"},
    {"#a https://ex.test/#b https://ex.test/#c #d", "https://ex.test/#b|https://ex.test/#c", "#a|#d"},
    {"##x #y#z &#x27;", "", "#y"},
    {"https://ex.test/?q=#c #d", "https://ex.test/?q=#c", "#d"},
};

static void test_spans(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(spans); i++) {
        char *links = found(spans[i].text, text_next_link);
        char *tags = found(spans[i].text, text_next_tag);
        if (strcmp(links, spans[i].links) != 0 || strcmp(tags, spans[i].tags) != 0)
            fail_msg("%s: \"%s\" \"%s\"", spans[i].text, links, tags);
        free(links);
        free(tags);
    }
}

static void test_facts(void **state)
{
    (void)state;
    json_t *facts = text_facts_json(FAMILY " https://ex.test/a #tag");
    json_t *wanted = json_loads("{\"graphemes\": 24, \"code_points\": 30, \"bytes\": 48,"
                                " \"links\": [{\"url\": \"https://ex.test/a\", \"start\": 26, \"end\": 43}],"
                                " \"tags\": [{\"tag\": \"tag\", \"start\": 44, \"end\": 48}]}",
                                0, NULL);
    assert_non_null(wanted);
    if (!json_equal(facts, wanted)) fail_msg("%s", json_dumps(facts, 0));
    json_decref(facts);
    json_decref(wanted);
}

static const struct {
    const char *text;
    const char *normal;
} normals[] = {
    {"", ""},
    {" \r\n ", ""},
    {"  a \r\n\r\n b\tc\n", "a b c"},
    {"a\xc2\xa0\xe2\x80\x83\xe3\x80\x80"
     "b",
     "a b"},
    {E_NFD, E_NFC},
    {"a\xe2\x80\x8b\xef\xbb\xbf\xc2\xad"
     "b",
     "ab"},
    {"\xef\xac\x81 \xe2\x91\xa0 \xe2\x84\xa2", "\xef\xac\x81 \xe2\x91\xa0 \xe2\x84\xa2"}, /* never by compatibility */
    {FAMILY, FAMILY},
    {"\xe2\x80\x9cIt\xe2\x80\x99s\xe2\x80\x9d \xe2\x80\x93 so\xe2\x80\xa6", "\"It's\" - so..."},
    {"a -- b \xe2\x80\x94 c - - d", "a - b - c - - d"},
    {"a\xff", "a\xef\xbf\xbd"},
};

static void test_normal_forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(normals); i++) {
        char *normal = text_normal(normals[i].text);
        if (strcmp(normal, normals[i].normal) != 0) fail_msg("%s: \"%s\"", normals[i].text, normal);
        char *again = text_normal(normal);
        assert_string_equal(again, normal);
        free(again);
        free(normal);
    }
}

static void test_random_bytes(void **state)
{
    (void)state;
    static const char *const pieces[] = {"https://",
                                         "#",
                                         "a",
                                         ".",
                                         ")",
                                         "(",
                                         " ",
                                         E_NFD,
                                         FAMILY,
                                         "\xcc\x81",
                                         "\xff",
                                         "\xe2\x80",
                                         "_",
                                         "9",
                                         "\xe2\x80\xa6",
                                         "\xf0\x9d\x85\x9e"};
    srandom(20260921);
    for (int round = 0; round < 20000; round++) {
        char text[256] = "";
        size_t len = 0;
        while (len < sizeof text - 32 && random() % 24 != 0) {
            const char *piece = pieces[(size_t)random() % COUNT(pieces)];
            memcpy(text + len, piece, strlen(piece));
            len += strlen(piece);
            if (round % 3 == 0) text[len++] = (char)(1 + random() % 255);
        }
        free(found(text, text_next_link));
        free(found(text, text_next_tag));
        json_decref(text_facts_json(text));
        char *normal = text_normal(text);
        char *again = text_normal(normal);
        assert_string_equal(again, normal);
        free(again);
        free(normal);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_three_hundred_families),
        cmocka_unit_test(test_links_count_as_stated),
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_normal_forms),
        cmocka_unit_test(test_random_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
