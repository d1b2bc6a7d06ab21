/* SPDX-License-Identifier: MIT */
/* Items read from their text: the quick way gives what parsing and merging give, and leaves to them what it has to. */
#include "tests/unit/keys/test.h"

#include "keys/canonical.h"
#include "keys/content_members.h"

#define CHANNEL "blog/brand"

static void assert_same(const char *text, const struct content *got, const struct content *wanted)
{
    if (got->canonical_len != wanted->canonical_len || strcmp(got->canonical, wanted->canonical) != 0)
        fail_msg("%s: %s, and not %s", text, got->canonical, wanted->canonical);
    assert_int_equal(strlen(got->canonical), got->canonical_len);
    assert_string_equal(got->hash, wanted->hash);
    assert_string_equal(got->id, wanted->id);
    assert_true(got->dated_ms == wanted->dated_ms);
    assert_true(got->schedule.not_before_ms == wanted->schedule.not_before_ms);
    assert_true(got->schedule.not_after_ms == wanted->schedule.not_after_ms);
    assert_string_equal(got->schedule.after, wanted->schedule.after);
}

/* Both ways, and the same words where the item is refused. True if the quick way took it. */
static bool compare(const char *text, size_t len)
{
    char err[KEYS_ERR_BYTES] = "", wanted_err[KEYS_ERR_BYTES] = "";
    struct content got, wanted;
    json_t *item = NULL;
    bool quick = content_from_text(text, len, &got);
    if (quick) content_fini(&got);
    bool fine = canonical_parse(text, len, &item, wanted_err) && content_merge(item, CHANNEL, &wanted, wanted_err);
    if (content_read(text, len, CHANNEL, &got, err) != fine) fail_msg("%s: %s%s", text, err, wanted_err);
    assert_string_equal(err, wanted_err);
    assert_true(fine || !quick);
    if (fine) {
        assert_same(text, &got, &wanted);
        assert_true(got.strings_only == quick);
        assert_true(json_equal(content_fields(&got), wanted.fields));
        content_fini(&got);
        content_fini(&wanted);
    }
    json_decref(item);
    return quick;
}

static void test_what_is_taken(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"id\":\"1\"}",
        " {\t\"id\" : \"1\"\r\n, \"title\": \"T\"\n} ",
        "{\"url\":\"https://b.example/1\",\"title\":\"T\",\"id\":\"a/b "
        "c\",\"content_text\":\"x\",\"_b\":\"\",\"_a\":\"1\"}",
        "{\"id\":\"1\",\"content_text\":\"a\\n\\\"b\\\" \\\\ \\t\\b\\f\\r end\"}",
        "{\"id\":\"Gr\xc3\xbc\xc3\x9f\",\"title\":\"\xf0\x9f\x9a\x80 \x7f\"}",
        "{\"id\":\"1\",\"tags\":[],\"_own\":[\"a\",\"\\\"\",\"\"]}",
        "{\"id\":\"1\",\"tags\":[\"a\",\"b\"],\"summary\":\"\"}",
        "{\"id\":\"1\",\"date_published\":\"2026-09-01T09:00:00.250+02:00\",\"date_modified\":\"2027-01-01T00:00:"
        "00Z\"}",
        "{\"id\":\"1\",\"date_modified\":\"2027-01-01T00:00:00Z\"}",
        "{\"id\":\"1\",\"title\":\"b\",\"_\":\"c\",\"_title\":\"a\",\"_titles\":\"d\"}",
    };
    for (size_t i = 0; i < COUNT(texts); i++)
        if (!compare(texts[i], strlen(texts[i]))) fail_msg("%s is not taken", texts[i]);
}

static void test_what_is_left(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "{}",
        "[]",
        "\"id\"",
        "{\"id\":\"1\"",
        "{\"id\":\"1\"}x",
        "{\"id\":\"1\",}",
        "{\"id\":\"1\" \"title\":\"T\"}",
        "{\"id\":\"1\",\"title\"",
        "{\"id\":\"1\",\"title\":",
        "{\"id\":\"1\",\"title\":\"T",
        "{\"id\":\"1\",\"title\":\"T\\",
        "{\"id\":\"1\",\"title\":\"T\\q\"}",
        "{\"id\":\"1\",\"title\":\"line\nend\"}",
        "{\"id\":\"1\",\"title\":\"\xff\"}",
        "{\"id\":\"1\",\"title\":\"\xed\xa0\x80\"}",
        "{\"id\":\"1\",\"title\":\"cut \xc3\"}",
        "{\"id\":\"1\",\"title\":\"\\u0041\"}",
        "{\"id\":\"1\",\"title\":\"a\\/b\"}",
        "{\"id\":\"1\",\"title\":null}",
        "{\"id\":\"1\",\"title\":7}",
        "{\"id\":\"1\",\"title\":[\"T\"]}",
        "{\"id\":\"1\",\"titel\":\"T\"}",
        "{\"id\":\"1\",\"\":\"T\"}",
        "{\"id\":\"1\",\"id\":\"1\"}",
        "{\"id\":\"1\",\"id\":\"2\"}",
        "{\"id\":\"1\",\"i\\u0064\":\"2\"}",
        "{\"id\":\"1\",\"_\\n\":\"2\"}",
        "{\"id\":\"1\",\"_\xc3\xbc\":\"2\"}",
        "{\"id\":7}",
        "{\"id\":[]}",
        "{\"id\":\"\"}",
        "{\"id\":\" 1\"}",
        "{\"id\":\"a\\\"b\"}",
        "{\"id\":\"e\xcc\x81\"}",
        "{\"title\":\"T\"}",
        "{\"id\":\"1\",\"tags\":[\"a\", \"b\"]}",
        "{\"id\":\"1\",\"tags\":[1]}",
        "{\"id\":\"1\",\"tags\":[\"a\",]}",
        "{\"id\":\"1\",\"tags\":[\"a\"",
        "{\"id\":\"1\",\"tags\":[",
        "{\"id\":\"1\",\"tags\":\"a\"}",
        "{\"id\":\"1\",\"author\":\"a\"}",
        "{\"id\":\"1\",\"authors\":[\"a\"]}",
        "{\"id\":\"1\",\"attachments\":[]}",
        "{\"id\":\"1\",\"date_published\":\"yesterday\"}",
        "{\"id\":\"1\",\"date_published\":[]}",
        "{\"id\":\"1\",\"date_published\":\"2026-09-01T09:00:00Z\\n\"}",
        "{\"id\":\"1\",\"landfall\":{\"after\":\"0\"}}",
        "{\"id\":\"1\",\"landfall\":{\"channels\":{\"blog/brand\":{\"title\":\"U\"}}}}",
        "{\"id\":\"1\",\"landfall\":\"x\"}",
    };
    for (size_t i = 0; i < COUNT(texts); i++)
        if (compare(texts[i], strlen(texts[i]))) fail_msg("%s is taken", texts[i]);
    assert_false(compare("{\"id\":\"1\"}\0", 11));
}

/* Pieces in any order: whatever the one way makes of them, the other makes, too. */
static void test_any_pieces(void **state)
{
    (void)state;
    static const char *const pieces[] = {",\"title\":",
                                         "\"a\\n\"",
                                         ",\"tags\":[",
                                         "\"b\"",
                                         "]",
                                         ",",
                                         " ",
                                         ",\"_x\":",
                                         "\"",
                                         "\\u0041",
                                         "\xc3\xa9",
                                         "\\",
                                         "null",
                                         "{",
                                         "\n",
                                         ":",
                                         "\"id\":",
                                         "7",
                                         "\"tags\":",
                                         ",\"_y\":\"\"",
                                         ",\"date_published\":\"2026-09-01T09:00:00Z\""};
    uint64_t seed = 0x9e3779b97f4a7c15;
    size_t taken = 0;
    for (int tries = 0; tries < 60000; tries++) {
        char text[400] = "{\"id\":\"1\"";
        size_t len = strlen(text);
        for (int i = tries % 5; i < 6; i++) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            const char *piece = pieces[seed % COUNT(pieces)];
            memcpy(text + len, piece, strlen(piece) + 1);
            len += strlen(piece);
        }
        memcpy(text + len, "}", 2);
        taken += compare(text, len + 1);
    }
    if (taken < 200) fail_msg("%zu taken", taken);
}

static void test_many_members(void **state)
{
    (void)state;
    for (int count = 30; count < 36; count++) {
        char text[1000] = "{\"id\":\"1\"";
        size_t len = strlen(text);
        for (int i = 1; i < count; i++)
            len += (size_t)snprintf(text + len, sizeof(text) - len, ",\"_%d\":\"x\"", i);
        memcpy(text + len, "}", 2);
        assert_true(compare(text, len + 1) == (count <= 32));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_taken),
        cmocka_unit_test(test_what_is_left),
        cmocka_unit_test(test_any_pieces),
        cmocka_unit_test(test_many_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
