/* SPDX-License-Identifier: MIT */
/* The strict reader: what it refuses and with which words, and that it takes all that the writer writes. */
#include "tests/unit/keys/locales.h"

#include "keys/canonical.h"

#define A10 "aaaaaaaaaa"
#define A50 A10 A10 A10 A10 A10

/* error NULL: taken; len 0: strlen */
static const struct {
    const char *text;
    const char *error;
    size_t len;
} cases[] = {
    /* numbers that a double holds, in many spellings */
    {"[0,-0,0.0,-0.0e5,0e999999999999]", NULL, 0},
    {"[1,1.0,1.50,10,100e-2,1E+2,0.1,1e-7,123456789.125]", NULL, 0},
    {"[9007199254740992,9007199254740991,-9007199254740991,9007199254740994]", NULL, 0},
    {"[1e308,1.7976931348623157e308,5e-324,2.2250738585072014e-308]", NULL, 0},
    {"[0.000000000000000000000000000001e30]", NULL, 0},
    {"[100000000000000000000000000000e-29]", NULL, 0},
    /* exact, and beyond a 64-bit integer */
    {"[100000000000000000000,1152921504606847000,-18446744073709552000]", NULL, 0},

    /* numbers that it does not hold, with their path */
    {"9007199254740993", "$: \"9007199254740993\" is a number that a double does not hold exactly", 0},
    {"[1,[-9007199254740993]]", "$[1][0]: \"-9007199254740993\"", 0},
    {"{\"a\":{\"b_c\":[{},1e400]}}", "$.a.b_c[1]: \"1e400\"", 0},
    {"{\"a\":0.1234567890123456789}", "$.a: \"0.1234567890123456789\"", 0},
    {"{\"x\":\"}]{[\\\"\",\"a b\":1e-400}", "$[\"a b\"]: \"1e-400\"", 0},
    {"{\"\":1e400}", "$[\"\"]: ", 0},
    {"{\"\xc3\xa9\\n\":1e400}", "$[\"\\xc3\\xa9\\\\n\"]: ", 0},
    {"{\"" A50 A50 A50 "\":[[[1e400]]]}", "$[\"aaaa", 0},
    {"[18446744073709551615]", "send it as a string", 0},
    {"[1152921504606846976]", "$[0]: ", 0}, /* a power of two, but written shorter: two texts, one key */
    {"[333333333.33333329]", "$[0]: ", 0},
    {"[1e99999999999999999999999999999999999]", "$[0]: ", 0},
    {"[-1e-99999999999999999999999999999999999]", "$[0]: ", 0},
    {"[1.00000000000000000000000000000000000001]", "$[0]: ", 0},
    {"[179769313486231580793728971405301e276]", "$[0]: ", 0},
    {"[0,{\"a\":[1,2,3],\"b\":4},5,{\"c\":6,\"d\":[7,1e400]}]", "$[3].d[1]: ", 0},

    /* a member twice, however its name is spelt */
    {"{\"a\":1,\"a\":1}", "two members of one object have the same name", 0},
    {"{\"x\":[{\"a\":1,\"b\":2,\"\\u0061\":3}]}", "line 1, column", 0},
    {"{\"caf\xc3\xa9\":1,\"caf\\u00e9\":2}", "keep one of them", 0},

    /* U+0000, which C would take for the end */
    {"[\"a\\u0000b\"]", "a string holds the character U+0000", 0},
    {"{\"a\\u0000\":1}", "U+0000", 0},
    {"[\"a\0b\"]", "not valid JSON", 7},
    {"[1]\0", "end of the JSON value", 4},

    /* not UTF-8, or not a character */
    {"[\"\xff\"]", "not UTF-8", 0},
    {"[\"\xc0\xaf\"]", "not UTF-8", 0},
    {"[\"\xed\xa0\x80\"]", "not UTF-8", 0},
    {"[\"\xf4\x90\x80\x80\"]", "not UTF-8", 0},
    {"[\"\xe2\x82\"]", "not UTF-8", 0},
    {"[\"\\ud800\"]", "not valid JSON", 0},
    {"[\"\\udc00\\ud800\"]", "not valid JSON", 0},
    {"[\"\\ud83dx\"]", "not valid JSON", 0},

    /* the grammar */
    {"", "ends too early", 0},
    {" ", "ends too early", 0},
    {"[1,", "ends too early", 0},
    {"{\"a\":\"b", "ends too early", 0},
    {"\"\\", "not valid JSON", 0},
    {"[1,]", "not valid JSON", 0},
    {"[1] 2", "something follows the end", 0},
    {"]", "not valid JSON", 0},
    {"}}}}[", "not valid JSON", 0},
    {"{'a':1}", "not valid JSON", 0},
    {"{a:1}", "not valid JSON", 0},
    {"[NaN]", "not valid JSON", 0},
    {"[Infinity]", "not valid JSON", 0},
    {"[01]", "not valid JSON", 0},
    {"[+1]", "not valid JSON", 0},
    {"[.5]", "not valid JSON", 0},
    {"[1.]", "not valid JSON", 0},
    {"[-]", "not valid JSON", 0},
    {"[1,5]]", "something follows the end", 0},
    {"[\"a\nb\"]", "not valid JSON", 0},
    {"\xef\xbb\xbf[]", "not valid JSON", 0},
    {"[\x1b[31m]", "\"[\\x1b\"", 0},
};

/* A copy of exactly this length, so that a sanitizer sees a read behind the end. */
static bool parse_copy(const char *text, size_t len, json_t **out, char err[KEYS_ERR_BYTES])
{
    char *copy = malloc(len ? len : 1);
    memcpy(copy, text, len);
    bool ok = canonical_parse(copy, len, out, err);
    free(copy);
    return ok;
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        json_t *value = NULL;
        char err[KEYS_ERR_BYTES] = "";
        bool ok = parse_copy(cases[i].text, cases[i].len ? cases[i].len : strlen(cases[i].text), &value, err);
        if (ok != !cases[i].error) fail_msg("%s: %s", cases[i].text, ok ? "was taken" : err);
        if (ok) {
            json_decref(value);
        } else {
            assert_clean_text(err);
            assert_contains(err, cases[i].error);
        }
    }
}

/* Every start of a valid text is refused or taken without reading behind its end. */
static void test_every_start(void **state)
{
    (void)state;
    static const char text[] =
        "{\"a\":[1,-2.5e+3,\"\\u00e9\\\"\\\\\",{\"b\":[true,false,null]}],\"\xf0\x9f\x9a\x80\":\"\"}";
    for (size_t len = 0; len < sizeof(text) - 1; len++) {
        json_t *value;
        char err[KEYS_ERR_BYTES] = "";
        assert_false(parse_copy(text, len, &value, err));
        assert_clean_text(err);
    }
}

static bool parse_nested(size_t depth, const char *open, const char *inside, const char *close,
                         char err[KEYS_ERR_BYTES])
{
    size_t unit = strlen(open) + strlen(close);
    char *text = calloc(depth * unit + strlen(inside) + 1, 1);
    char *at = text;
    json_t *value = NULL;

    for (size_t i = 0; i < depth; i++)
        at = mempcpy(at, open, strlen(open));
    at = mempcpy(at, inside, strlen(inside));
    for (size_t i = 0; i < depth; i++)
        at = mempcpy(at, close, strlen(close));
    bool ok = canonical_parse(text, (size_t)(at - text), &value, err);
    if (ok) json_decref(value);
    free(text);
    return ok;
}

static void test_depth(void **state)
{
    (void)state;
    char err[KEYS_ERR_BYTES] = "";
    assert_true(parse_nested(CANONICAL_DEPTH_MAX, "[", "1", "]", err));
    assert_true(parse_nested(CANONICAL_DEPTH_MAX, "{\"a\":", "1", "}", err));
    assert_false(parse_nested(CANONICAL_DEPTH_MAX + 1, "[", "", "]", err));
    assert_contains(err, "more than 64 levels");
    assert_false(parse_nested(CANONICAL_DEPTH_MAX + 1, "{\"a\":", "1", "}", err));
    assert_contains(err, "$.a.a.a");
    assert_clean_text(err);
    assert_false(parse_nested(100000, "[", "", "", err));
}

static void test_size(void **state)
{
    (void)state;
    char *text = malloc(CANONICAL_INPUT_MAX_BYTES + 1);
    json_t *value;
    char err[KEYS_ERR_BYTES] = "";

    memset(text, 'x', CANONICAL_INPUT_MAX_BYTES + 1);
    text[0] = text[CANONICAL_INPUT_MAX_BYTES - 1] = '"';
    assert_true(canonical_parse(text, CANONICAL_INPUT_MAX_BYTES, &value, err));
    json_decref(value);
    text[CANONICAL_INPUT_MAX_BYTES] = ' ';
    assert_false(canonical_parse(text, CANONICAL_INPUT_MAX_BYTES + 1, &value, err));
    assert_contains(err, "make it shorter");

    /* a number as long as the input may be: refused by its digits, not by counting for ever */
    memset(text, '7', CANONICAL_INPUT_MAX_BYTES);
    assert_false(canonical_parse(text, CANONICAL_INPUT_MAX_BYTES, &value, err));
    assert_clean_text(err);
    assert_contains(err, "does not hold exactly");

    /* a million zeros and the exponent that takes them away */
    memset(text, '0', CANONICAL_INPUT_MAX_BYTES);
    memcpy(text, "0.", 2);
    int n = snprintf(text + 1000002, 32, "1e1000001");
    text[1000002 + n] = ' ';
    assert_true(canonical_parse(text, (size_t)(1000002 + n), &value, err));
    assert_true(json_number_value(value) == 1.0);
    json_decref(value);
    free(text);
}

/* All numbers that the writer can write are read again as the same number. */
static void test_reads_what_is_written(void **state)
{
    (void)state;
    FILE *file = fopen(TREE "/tests/unit/keys/doubles.txt", "r");
    char line[80];
    char err[KEYS_ERR_BYTES] = "";

    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        char *text;
        uint64_t bits = strtoull(line, &text, 16);
        double number;
        json_t *value;
        memcpy(&number, &bits, sizeof(number));
        text[strcspn(text, "\n")] = '\0';
        if (!canonical_parse(text, strlen(text), &value, err)) fail_msg("%s: %s", text, err);
        if (json_number_value(value) != number) fail_msg("%s became another number", text);
        json_decref(value);
    }
    fclose(file);
}

static uint64_t random_bits(void)
{
    static uint64_t seed = 0x9e3779b97f4a7c15;
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* One to four bytes replaced, mostly by bytes that mean something in JSON. */
static void mutate(char *text, size_t len)
{
    static const char bytes[] = "{}[]:,\"\\0123456789.-+eEu ntf\x80\xc0\xed\xf4\x00\x1f";
    for (uint64_t n = random_bits() % 4 + 1; n > 0; n--)
        text[random_bits() % len] = bytes[random_bits() % sizeof(bytes)];
}

/* Damaged texts: refused with a clean error, or taken, and then written and read again without a change. */
static void test_damaged_texts(void **state)
{
    (void)state;
    static const char seed[] =
        "{\"a\":[12.5e-3,-0.1,1e20,{\"b\":\"\\u00e9\\\"\\ud83d\\ude00\"}],\"\xc3\xa9\":[true,null,[]]}";
    size_t taken = 0;
    for (int i = 0; i < 20000; i++) {
        char text[sizeof(seed)];
        char err[KEYS_ERR_BYTES] = "";
        json_t *value;
        memcpy(text, seed, sizeof(seed));
        mutate(text, sizeof(seed) - 1);
        if (!parse_copy(text, sizeof(seed) - 1, &value, err)) {
            assert_clean_text(err);
            continue;
        }
        taken++;
        size_t len;
        size_t again_len;
        char *written = canonical_write(value, &len);
        json_decref(value);
        if (!parse_copy(written, len, &value, err)) fail_msg("%s: %s", written, err);
        char *again = canonical_write(value, &again_len);
        assert_string_equal(written, again);
        json_decref(value);
        free(written);
        free(again);
    }
    assert_in_range(taken, 500, 19500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_every_start),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_reads_what_is_written),
        cmocka_unit_test(test_damaged_texts),
    };
    return RUN_IN_ALL_LOCALES(tests);
}
