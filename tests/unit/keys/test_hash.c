/* SPDX-License-Identifier: MIT */
/* The hash against digests that "b2sum -l 128" and Python's hashlib print. */
#include "tests/unit/keys/test.h"

#include "keys/hash.h"

static void test_one_buffer(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *digest;
    } cases[] = {
        {"", "cae66941d9efbd404e4d88758ea67670"},
        {"abc", "cf4ab791c62b8d2b2109c90275287816"},
        {"The quick brown fox jumps over the lazy dog", "249df9a49f517ddcd37f5c897620ec73"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char hex[HASH_HEX_BYTES];
        hash_bytes_hex(cases[i].text, strlen(cases[i].text), hex);
        assert_string_equal(hex, cases[i].digest);
    }
}

static void hash_texts(const char *const *texts, size_t count, char hex[HASH_HEX_BYTES])
{
    struct hash_field fields[4];
    unsigned char digest[HASH_BYTES];
    for (size_t i = 0; i < count; i++)
        fields[i] = (struct hash_field){texts[i], strlen(texts[i])};
    hash_fields(fields, count, digest);
    hash_hex(digest, hex);
}

static void test_fields(void **state)
{
    (void)state;
    char a[HASH_HEX_BYTES];
    char b[HASH_HEX_BYTES];

    /* "a" and "bc", each behind its length, as one buffer */
    hash_texts((const char *[]){"a", "bc"}, 2, a);
    hash_bytes_hex("\1\0\0\0\0\0\0\0a\2\0\0\0\0\0\0\0bc", 19, b);
    assert_string_equal(a, b);

    hash_texts((const char *[]){"ab", "c"}, 2, b);
    assert_string_not_equal(a, b);
    hash_texts((const char *[]){"a", "bc", ""}, 3, b);
    assert_string_not_equal(a, b);
    hash_texts((const char *[]){"abc"}, 1, b);
    assert_string_not_equal(a, b);
}

/* The length goes in as eight bytes, the low one first: 300 is 2c 01. */
static void test_length_is_little_endian(void **state)
{
    (void)state;
    unsigned char framed[308] = {0x2c, 0x01};
    char a[HASH_HEX_BYTES];
    char b[HASH_HEX_BYTES];
    unsigned char digest[HASH_BYTES];

    memset(framed + 8, 'x', 300);
    hash_fields(&(struct hash_field){framed + 8, 300}, 1, digest);
    hash_hex(digest, a);
    hash_bytes_hex(framed, sizeof(framed), b);
    assert_string_equal(a, b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_buffer),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_length_is_little_endian),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
