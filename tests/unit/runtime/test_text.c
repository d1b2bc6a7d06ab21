/* SPDX-License-Identifier: MIT */
/* Error texts and the UTF-8 under them: cut between characters, one line, never a format. */
#include "tests/unit/runtime/test.h"

#include "runtime/errbuf.h"
#include "runtime/random.h"
#include "runtime/utf8.h"

static const struct {
    const char *bytes;
    size_t len;
    size_t size; /* 0: not UTF-8 */
    uint32_t code_point;
} characters[] = {
    {"a", 1, 1, 'a'},
    {"", 1, 1, 0}, /* NUL is a character */
    {"", 0, 0, 0},
    {"\xC3\xA4", 2, 2, 0xE4},
    {"\xC3\xA4", 1, 0, 0}, /* cut */
    {"\xE2\x82\xAC", 3, 3, 0x20AC},
    {"\xF0\x9F\x98\x80", 4, 4, 0x1F600},
    {"\xF0\x9F\x98", 3, 0, 0},
    {"\x80", 1, 0, 0},
    {"\xFF", 1, 0, 0},
    {"\xC0\xAF", 2, 0, 0},         /* overlong slash */
    {"\xE0\x80\xAF", 3, 0, 0},     /* overlong slash */
    {"\xF0\x80\x80\xAF", 4, 0, 0}, /* overlong slash */
    {"\xED\xA0\x80", 3, 0, 0},     /* surrogate */
    {"\xED\x9F\xBF", 3, 3, 0xD7FF},
    {"\xF4\x8F\xBF\xBF", 4, 4, 0x10FFFF},
    {"\xF4\x90\x80\x80", 4, 0, 0}, /* beyond the last */
    {"\xC3"
     "a",
     2, 0, 0},
};

static void test_characters(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(characters); i++) {
        uint32_t code_point = 0;
        size_t size = utf8_decode(characters[i].bytes, characters[i].len, &code_point);
        if (size != characters[i].size || code_point != characters[i].code_point) fail_msg("character %zu", i);
    }
}

static void test_cuts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t limit, length;
    } cuts[] = {
        {"abc", 5, 3},
        {"abc", 2, 2},
        {"a\xC3\xA4", 2, 1},
        {"a\xF0\x9F\x98\x80", 4, 1},
        {"a\xF0\x9F\x98\x80", 5, 5},
        {"\x80\x80\x80\x80\x80\x80", 4, 4},
        {"abc", 0, 0},
    };
    for (size_t i = 0; i < COUNT(cuts); i++)
        assert_int_equal(utf8_cut(cuts[i].text, strlen(cuts[i].text), cuts[i].limit), cuts[i].length);
}

static void test_error_texts(void **state)
{
    (void)state;
    struct errbuf err;
    assert_false(errbuf_set(&err, "%s: %d", "a%s%n\x1b[31m\nb", 7));
    assert_string_equal(err.text, "a%s%n?[31m b: 7");
    assert_false(errbuf_prefix(&err, "file %s", "x"));
    assert_string_equal(err.text, "file x: a%s%n?[31m b: 7");
    assert_false(errbuf_set(&err, "again %s", err.text));
    assert_string_equal(err.text, "again file x: a%s%n?[31m b: 7");
    assert_false(errbuf_set(NULL, "nobody wants to know"));
}

static void test_long_error_texts_are_cut_between_characters(void **state)
{
    (void)state;
    for (size_t shift = 0; shift < 4; shift++) {
        struct errbuf err;
        char text[2000];
        for (size_t i = 0; i < sizeof text; i++)
            text[i] = "\xF0\x9F\x98\x80"[i % 4];
        text[1996] = '\0';
        errbuf_set(&err, "%.*s%s", (int)shift, "abc", text);
        size_t len = strlen(err.text);
        assert_true(len < sizeof err.text && len > sizeof err.text - 8);
        assert_string_equal(err.text + len - 3, "...");
        for (size_t i = 0; i < len;) {
            size_t size = utf8_decode(err.text + i, len - i, NULL);
            assert_true(size > 0);
            i += size;
        }
    }
}

static void test_tokens(void **state)
{
    (void)state;
    char first[RANDOM_TOKEN_SIZE];
    char second[RANDOM_TOKEN_SIZE];
    assert_int_equal(strspn(random_token(first), "0123456789abcdef"), 32);
    assert_int_equal(strlen(random_token(second)), 32);
    assert_string_not_equal(first, second);
}

/* Each of the 16 digits comes at each place: the bytes that are printed are not those that are already overwritten. */
static void test_hex_of_every_size(void **state)
{
    (void)state;
    char text[42];
    for (size_t size = 1; size < sizeof text; size += 2) {
        unsigned seen[sizeof text] = {0};
        for (int round = 0; round < 400; round++) {
            memset(text, 'x', sizeof text);
            random_hex(text, size);
            assert_int_equal(strlen(text), size - 1);
            assert_int_equal(text[size], 'x');
            for (size_t i = 0; i + 1 < size; i++) {
                const char *digit = strchr("0123456789abcdef", text[i]);
                assert_non_null(digit);
                seen[i] |= 1U << (digit - "0123456789abcdef");
            }
        }
        for (size_t i = 0; i + 1 < size; i++)
            assert_int_equal(seen[i], 0xffff);
    }
}

static void test_bounds(void **state)
{
    (void)state;
    bool seen[3] = {false};
    for (int round = 0; round < 2000; round++) {
        uint32_t number = random_below(COUNT(seen));
        assert_in_range(number, 0, COUNT(seen) - 1);
        seen[number] = true;
    }
    assert_true(seen[0] && seen[1] && seen[2]);
    assert_int_equal(random_below(0), 0);
    assert_int_equal(random_below(1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_characters),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_error_texts),
        cmocka_unit_test(test_long_error_texts_are_cut_between_characters),
        cmocka_unit_test(test_hex_of_every_size),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
