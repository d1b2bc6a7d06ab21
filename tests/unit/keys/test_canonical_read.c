/* SPDX-License-Identifier: MIT */
/* The quick reader beside jansson: what it takes jansson takes too, and the value is the same. */
#include "tests/unit/keys/test.h"

#include <stdint.h>

#include "keys/canonical.h"
#include "keys/canonical_read.h"

#define SOUP_TRIES 200000
#define SOUP_WORDS 6

/* A copy of exactly this length, so that a sanitizer sees a read behind the end. True if the text was taken. */
static bool compare(const char *text, size_t len)
{
    char err[KEYS_ERR_BYTES] = "";
    char *copy = malloc(len ? len : 1);
    memcpy(copy, text, len);
    json_t *quick = canonical_read(copy, len);
    if (quick) {
        json_t *slow = json_loadb(copy, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
        if (!slow) fail_msg("%.*s: jansson refuses it", (int)len, text);
        char *a = json_dumps(quick, JSON_ENCODE_ANY), *b = json_dumps(slow, JSON_ENCODE_ANY); /* in their order */
        if (strcmp(a, b) != 0) fail_msg("%.*s: %s, jansson reads %s", (int)len, text, a, b);
        assert_true(canonical_check_numbers(copy, len, err));
        free(a);
        free(b);
        json_decref(slow);
        json_decref(quick);
    }
    free(copy);
    return quick != NULL;
}

static void test_what_is_taken(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{}",
        "[]",
        " [ ] ",
        "\"\"",
        "true",
        " null\n",
        "[false]",
        "0",
        "-1",
        "999999999999999",
        "[1,2 , 3]",
        "{\"a\":1,\"b\":{\"a\":[]},\"\":\"\"}",
        "\"0123456\"",
        "\"01234567\"",
        "\"0123456789abcde\\n\"",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
        "\"\\u00e4\\uD83D\\uDE00x\\uffff\"",
        "{\"\\u0061\":\"b\\\\\"}",
        "\"Gr\xc3\xbc\xc3\x9f x \xf0\x9f\x98\x80 \x7f\"",
        "{\"caf\xc3\xa9\":[{\"x\":[[\"\\t\"]]}]}",
    };
    for (size_t i = 0; i < COUNT(texts); i++)
        if (!compare(texts[i], strlen(texts[i]))) fail_msg("%s is not taken", texts[i]);
}

static void test_what_is_left_to_jansson(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        " ",
        "[",
        "{",
        "\"",
        "\"\\",
        "\"\\u",
        "\"\\u12\"",
        "[1,]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{,}",
        "{1:2}",
        "[1 2]",
        "[1]2",
        "tru",
        "nul",
        "-",
        "-0",
        "00",
        "01",
        "-01",
        "1.5",
        "1e3",
        "1234567890123456",
        "+1",
        "\"a\nb\"",
        "{\"a\":1,\"a\":1}",
        "{\"a\":1,\"\\u0061\":1}",
        "\"\\u0000\"",
        "{\"\\u0000\":1}",
        "\"\\ud800\"",
        "\"\\udc00\"",
        "\"\\ud83dx\"",
        "\"\\ud83d\\u0041\"",
        "\"\\x\"",
        "\"\xff\"",
        "\"\xc0\xaf\"",
        "\"\xed\xa0\x80\"",
        "\"\xe2\x82\"",
        "\"\\n\xff\"",
        "{\"\xff\":1}",
        "\xef\xbb\xbf[]",
        "'a'",
    };
    for (size_t i = 0; i < COUNT(texts); i++)
        if (compare(texts[i], strlen(texts[i]))) fail_msg("%s is taken", texts[i]);
    assert_null(canonical_read("[1\0]", 4));
}

static void test_depth(void **state)
{
    (void)state;
    char text[2 * CANONICAL_DEPTH_MAX + 2];
    for (size_t depth = CANONICAL_DEPTH_MAX; depth <= CANONICAL_DEPTH_MAX + 1; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        assert_int_equal(compare(text, 2 * depth), depth <= CANONICAL_DEPTH_MAX);
    }
}

static void test_every_start(void **state)
{
    (void)state;
    static const char text[] =
        "{\"a\":[1,-25,\"\\u00e9\\\"\\\\ a long text\",{\"b\":[true,false,null]}],\"\xf0\x9f\x9a\x80\":\"\"}";
    for (size_t len = 0; len < sizeof(text) - 1; len++)
        assert_false(compare(text, len));
    assert_true(compare(text, sizeof(text) - 1));
}

/* Words in any order. */
static void test_any_words(void **state)
{
    (void)state;
    static const char *const words[] = {
        "{",        "}",    "[",    "]",    ",",   ":",       "\"a\"",          "\"a\":",  "\"b\":",
        "1",        "-2",   "true", "\"",   "\\n", "\\u0041", "\\ud83d\\ude00", "\\ud83d", "text",
        "\xc3\xa4", "\xa4", " ",    "null", "0",   "{\"x\":", "\\\\",           "\\\""};
    uint32_t seed = 7;
    size_t taken = 0;
    for (int tries = 0; tries < SOUP_TRIES; tries++) {
        char text[SOUP_WORDS * 16] = "";
        size_t len = 0;
        for (size_t i = 0; i < SOUP_WORDS; i++) {
            seed = seed * 1664525 + 1013904223;
            size_t which = (seed >> 8) % (COUNT(words) + 12); /* beyond them: a shorter text */
            if (which < COUNT(words)) len += (size_t)snprintf(text + len, sizeof(text) - len, "%s", words[which]);
        }
        taken += compare(text, len);
    }
    if (taken < 500) fail_msg("only %zu texts were taken", taken);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_taken), cmocka_unit_test(test_what_is_left_to_jansson),
        cmocka_unit_test(test_depth),         cmocka_unit_test(test_every_start),
        cmocka_unit_test(test_any_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
