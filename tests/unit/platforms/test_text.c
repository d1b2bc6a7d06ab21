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

static size_t count(const char *text, size_t len, enum text_unit unit, size_t url_counts)
{
    const struct text_measure measure = {.unit = unit, .url_counts = url_counts};
    return text_count(text, len, &measure);
}

static void test_lengths(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(lengths); i++) {
        const size_t len = strlen(lengths[i].text);
        assert_int_equal(count(lengths[i].text, len, TEXT_GRAPHEMES, 0), lengths[i].graphemes);
        assert_int_equal(count(lengths[i].text, len, TEXT_CODE_POINTS, 0), lengths[i].code_points);
        assert_int_equal(count(lengths[i].text, len, TEXT_BYTES, 0), lengths[i].bytes);
    }
}

static void test_three_hundred_families(void **state)
{
    (void)state;
    const size_t one = strlen(FAMILY);
    char *text = xmalloc(301 * one + 1);
    for (size_t i = 0; i < 301; i++)
        memcpy(text + i * one, FAMILY, one + 1);
    assert_int_equal(count(text, 300 * one, TEXT_GRAPHEMES, 23), 300);
    assert_int_equal(count(text, 301 * one, TEXT_GRAPHEMES, 23), 301);
    free(text);
}

static void test_links_count_as_stated(void **state)
{
    (void)state;
    static const char text[] =
        "See https://ex.test/a/very/long/address/that/goes/on/and/on/and/on/until/it/has/ninety?x=12345 "
        "and http://b.test.";
    assert_int_equal(count(text, strlen(text), TEXT_CODE_POINTS, 23), 4 + 23 + 5 + 23 + 1);
    assert_int_equal(count(text, strlen(text), TEXT_CODE_POINTS, 0), strlen(text));
}

/* As the platform's own library counts: the cases follow its published ranges. */
static void test_weights(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t weight;
    } cases[] = {
        {"", 0},
        {"abc", 3},
        {E_NFC, 1},
        {E_NFD, 1},                                              /* counted in NFC */
        {"\xd0\x96\xd7\x90\xd8\xb9\xe0\xa4\x95\xe0\xb8\x81", 5}, /* Cyrillic, Hebrew, Arabic, Devanagari, Thai */
        {"\xe1\x83\xbf", 1},                                     /* U+10FF, the last of the first range */
        {"\xe1\x84\x80", 2},                                     /* U+1100 */
        {"\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab", 2},             /* one syllable in three parts: NFC is one */
        {"\xe6\xbc\xa2\xe5\xad\x97", 4},                         /* Chinese */
        {"\xe3\x81\x8b\xe3\x82\xab", 4},                         /* Japanese */
        {"\xed\x95\x9c", 2},                                     /* Korean */
        {"\xe2\x80\x93\xe2\x80\x9c\xe2\x80\x9d", 3},             /* dash and quotes: U+2010 to U+201F */
        {"\xe2\x80\xa6", 2},                                     /* U+2026, the three dots: between the ranges */
        {"\xe2\x80\xb2", 1},                                     /* U+2032 */
        {"\xe2\x82\xac", 2},                                     /* the euro sign */
        {"\xc2\xa9", 1},                                         /* a sign that may be shown as a picture */
        {"\xf0\x9f\x98\x80", 2},                                 /* a face */
        {FAMILY, 2},
        {FLAG, 2},
        {FLAG FLAG, 4},
        {"1\xef\xb8\x8f\xe2\x83\xa3", 2},        /* a keycap */
        {"\xe2\x9d\xa4\xef\xb8\x8f", 2},         /* a heart with its selector */
        {"\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd", 2}, /* a thumb with a skin tone */
        {"See https://ex.test/a/very/long/address/indeed/it/is \xe6\xbc\xa2", 4 + 23 + 1 + 2},
        {"a\xff\xfe", 5}, /* no UTF-8: each byte is one character of its own, and an odd one */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const size_t got = count(cases[i].text, strlen(cases[i].text), TEXT_WEIGHTED, 23);
        if (got != cases[i].weight) fail_msg("%s: %zu, not %zu", cases[i].text, got, cases[i].weight);
    }
}

static void test_of_a_mention_the_name_counts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t length;
    } cases[] = {
        {"@alice", 6},
        {"@alice@m.example", 6},
        {"@alice@m.example, @bob@x.example!", 6 + 2 + 4 + 1},
        {"hi @alice@social.m-1.example.", 3 + 6 + 1},
        {"(@alice@m.example)", 8},
        {"@a.b@m.example", 4},
        /* no mentions of somebody elsewhere */
        {"mail alice@m.example", 20},
        {"@ alice@m.example", 17},
        {"@alice @m.example", 17},
        {"@alice@", 7},
        {"@alice@.example", 15},
        {"/@alice@m.example", 17},
        {"=@alice@m.example", 17},
        /* inside of an address nothing is a mention; behind it one is */
        {"https://m.example/@alice@x.example", 23},
        {"https://m.example/ @alice@x.example", 23 + 1 + 6},
        {"@alice@x.example https://m.example/", 6 + 1 + 23},
    };
    const struct text_measure measure = {.unit = TEXT_GRAPHEMES, .url_counts = 23, .short_mentions = true};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const size_t got = text_count(cases[i].text, strlen(cases[i].text), &measure);
        if (got != cases[i].length) fail_msg("%s: %zu, not %zu", cases[i].text, got, cases[i].length);
        assert_int_equal(count(cases[i].text, strlen(cases[i].text), TEXT_GRAPHEMES, 0), strlen(cases[i].text));
    }
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
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_of_a_mention_the_name_counts),
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_normal_forms),
        cmocka_unit_test(test_random_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
