/* SPDX-License-Identifier: MIT */
/* How bytes from outside are quoted in error texts. */
#include "tests/unit/keys/test.h"

#include "keys/base.h"

static void test_quote(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        size_t len;
        const char *out;
    } cases[] = {
        {"", 0, "\"\""},
        {"plain text", 10, "\"plain text\""},
        {"a\0b", 3, "\"a\\x00b\""},
        {"\"\\", 2, "\"\\\"\\\\\""},
        {"\x1b[2J\r\n\t\x7f", 8, "\"\\x1b[2J\\x0d\\x0a\\x09\\x7f\""},
        {"\xc3\xa9\xff", 3, "\"\\xc3\\xa9\\xff\""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char out[KEYS_QUOTE_BYTES];
        assert_string_equal(keys_quote(cases[i].in, cases[i].len, out), cases[i].out);
    }
}

/* Whatever the length, the result fits, ends with a quote, and shows that something was cut. */
static void test_quote_is_cut(void **state)
{
    (void)state;
    static const char fills[] = {'x', '\n'};
    for (size_t f = 0; f < COUNT(fills); f++) {
        for (size_t len = 0; len < 2 * KEYS_QUOTE_BYTES; len++) {
            char in[2 * KEYS_QUOTE_BYTES];
            char out[KEYS_QUOTE_BYTES];
            memset(in, fills[f], sizeof(in));
            keys_quote(in, len, out);
            size_t whole = len * (fills[f] == 'x' ? 1 : 4);
            size_t out_len = strlen(out);
            assert_clean_text(out);
            assert_true(out_len < KEYS_QUOTE_BYTES && out[out_len - 1] == '"');
            if (strstr(out, "...\""))
                assert_true(whole + 2 > KEYS_QUOTE_BYTES - 8);
            else
                assert_int_equal(out_len, whole + 2);
        }
    }
}

static void test_fail(void **state)
{
    (void)state;
    char err[KEYS_ERR_BYTES];
    char longer[2 * KEYS_ERR_BYTES];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    assert_false(keys_fail(err, "%s %d", "a", 7));
    assert_string_equal(err, "a 7");
    assert_false(keys_fail(err, "%s", longer));
    assert_int_equal(strlen(err), KEYS_ERR_BYTES - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quote),
        cmocka_unit_test(test_quote_is_cut),
        cmocka_unit_test(test_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
