/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "runtime/plain.h"

static void test_escape(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"plain text, \xc3\xa4\xe2\x82\xac", "plain text, \xc3\xa4\xe2\x82\xac"},
        {"a\nb\tc", "a\\nb\\tc"},
        {"\x1b[2J\r\x07", "\\x1b[2J\\x0d\\x07"},
        {"\x7f", "\\x7f"},
        {"\xc2\x9b"
         "31m",
         "\\u{009b}31m"}, /* CSI as one character */
        {"\xe2\x80\xae"
         "evil",
         "\\u{202e}evil"},                   /* right-to-left override */
        {"\xe2\x81\xa6x", "\\u{2066}x"},     /* isolate */
        {"\xff\xc3", "\\xff\\xc3"},          /* not UTF-8 */
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"}, /* surrogate */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf out;
        buf_init(&out, 1000);
        plain_escape(&out, cases[i].in, strlen(cases[i].in));
        assert_string_equal(buf_text(&out), cases[i].out);
        buf_fini(&out);
    }
}

static void test_line_is_one_line(void **state)
{
    (void)state;
    char *text = NULL;
    size_t len = 0;
    FILE *file = open_memstream(&text, &len);
    plain_line(file, "%s: %d", "a\nb", 7);
    assert_int_equal(fclose(file), 0);
    assert_string_equal(text, "a\\nb: 7\n");
    free(text);
}

static void test_json_takes_any_bytes(void **state)
{
    (void)state;
    json_t *value = plain_json_bytes("a\xff\0\x1b", 4);
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    assert_string_equal(text, "\"a\\uFFFD\\u0000\\u001B\"");
    free(text);
    json_decref(value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_escape), cmocka_unit_test(test_line_is_one_line),
                                       cmocka_unit_test(test_json_takes_any_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
