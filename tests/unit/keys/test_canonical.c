/* SPDX-License-Identifier: MIT */
/* RFC 8785: the examples that it publishes, 10,000 numbers as node writes them, and what its text implies. */
#include "tests/unit/keys/locales.h"

#include "keys/canonical.h"
#include "keys/canonical_read.h"

static json_t *load(const char *text)
{
    json_error_t error;
    json_t *value = json_loads(text, JSON_DECODE_ANY, &error);
    if (!value) fail_msg("%s: %s", text, error.text);
    return value;
}

static void assert_canonical(const char *in, const char *out)
{
    json_t *value = load(in);
    size_t len;
    char *text = canonical_write(value, &len);
    assert_string_equal(text, out);
    assert_int_equal(len, strlen(out));
    free(text);
    json_decref(value);
}

static double double_of_bits(uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof(number));
    return number;
}

/* RFC 8785, appendix B, and three more. Its two lines that are not numbers are refused before they could come here. */
static void test_numbers_of_the_rfc(void **state)
{
    (void)state;
    static const struct {
        uint64_t bits;
        const char *text;
    } cases[] = {
        {0x0000000000000000, "0"},
        {0x8000000000000000, "0"},
        {0x0000000000000001, "5e-324"},
        {0x8000000000000001, "-5e-324"},
        {0x7fefffffffffffff, "1.7976931348623157e+308"},
        {0xffefffffffffffff, "-1.7976931348623157e+308"},
        {0x4340000000000000, "9007199254740992"},
        {0xc340000000000000, "-9007199254740992"},
        {0x4430000000000000, "295147905179352830000"},
        {0x44b52d02c7e14af5, "9.999999999999997e+22"},
        {0x44b52d02c7e14af6, "1e+23"},
        {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
        {0x444b1ae4d6e2ef4e, "999999999999999700000"},
        {0x444b1ae4d6e2ef4f, "999999999999999900000"},
        {0x444b1ae4d6e2ef50, "1e+21"},
        {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
        {0x3eb0c6f7a0b5ed8d, "0.000001"},
        {0x41b3de4355555553, "333333333.3333332"},
        {0x41b3de4355555554, "333333333.33333325"},
        {0x41b3de4355555555, "333333333.3333333"},
        {0x41b3de4355555556, "333333333.3333334"},
        {0x41b3de4355555557, "333333333.33333343"},
        {0xbecbf647612f3696, "-0.0000033333333333333333"},
        {0x43143ff3c1cb0959, "1424953923781206.2"},
        {0x433fffffffffffff, "9007199254740991"},
        {0x4340000000000001, "9007199254740994"},
        {0xbff0000000000000, "-1"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char out[CANONICAL_NUMBER_BYTES];
        size_t len = canonical_number(double_of_bits(cases[i].bits), out);
        assert_string_equal(out, cases[i].text);
        assert_int_equal(len, strlen(cases[i].text));
    }
}

/* doubles.txt: the bits of a double and what JSON.stringify makes of it; doubles.js wrote it. */
static void test_numbers_of_node(void **state)
{
    (void)state;
    FILE *file = fopen(TREE "/tests/unit/keys/doubles.txt", "r");
    char line[80];
    size_t count = 0;

    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        char out[CANONICAL_NUMBER_BYTES];
        char *text;
        double number = double_of_bits(strtoull(line, &text, 16));
        assert_int_equal(*text++, ' ');
        text[strcspn(text, "\n")] = '\0';
        canonical_number(number, out);
        if (strcmp(out, text) != 0) fail_msg("line %zu: %s, node writes %s", count + 1, out, text);
        count++;
    }
    fclose(file);
    assert_true(count > 10000);
}

/* RFC 8785, section 3.2.2, and the bytes of section 3.2.4. */
static void test_literals_and_strings_of_the_rfc(void **state)
{
    (void)state;
    static const unsigned char bytes[] = {
        0x7b, 0x22, 0x6c, 0x69, 0x74, 0x65, 0x72, 0x61, 0x6c, 0x73, 0x22, 0x3a, 0x5b, 0x6e, 0x75, 0x6c, 0x6c,
        0x2c, 0x74, 0x72, 0x75, 0x65, 0x2c, 0x66, 0x61, 0x6c, 0x73, 0x65, 0x5d, 0x2c, 0x22, 0x6e, 0x75, 0x6d,
        0x62, 0x65, 0x72, 0x73, 0x22, 0x3a, 0x5b, 0x33, 0x33, 0x33, 0x33, 0x33, 0x33, 0x33, 0x33, 0x33, 0x2e,
        0x33, 0x33, 0x33, 0x33, 0x33, 0x33, 0x33, 0x2c, 0x31, 0x65, 0x2b, 0x33, 0x30, 0x2c, 0x34, 0x2e, 0x35,
        0x2c, 0x30, 0x2e, 0x30, 0x30, 0x32, 0x2c, 0x31, 0x65, 0x2d, 0x32, 0x37, 0x5d, 0x2c, 0x22, 0x73, 0x74,
        0x72, 0x69, 0x6e, 0x67, 0x22, 0x3a, 0x22, 0xe2, 0x82, 0xac, 0x24, 0x5c, 0x75, 0x30, 0x30, 0x30, 0x66,
        0x5c, 0x6e, 0x41, 0x27, 0x42, 0x5c, 0x22, 0x5c, 0x5c, 0x5c, 0x5c, 0x5c, 0x22, 0x2f, 0x22, 0x7d, 0x00};
    assert_canonical("{\n"
                     "  \"numbers\": [333333333.33333329, 1E30, 4.50,\n"
                     "              2e-3, 0.000000000000000000000000001],\n"
                     "  \"string\": \"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\",\n"
                     "  \"literals\": [null, true, false]\n"
                     "}",
                     (const char *)bytes);
}

/* RFC 8785, section 3.2.3: a character beyond U+FFFF comes before U+FB33, because its surrogates do. */
static void test_order_of_the_rfc(void **state)
{
    (void)state;
    assert_canonical("{\n"
                     "  \"\\u20ac\": \"Euro Sign\",\n"
                     "  \"\\r\": \"Carriage Return\",\n"
                     "  \"\\ufb33\": \"Hebrew Letter Dalet With Dagesh\",\n"
                     "  \"1\": \"One\",\n"
                     "  \"\\ud83d\\ude00\": \"Emoji: Grinning Face\",\n"
                     "  \"\\u0080\": \"Control\",\n"
                     "  \"\\u00f6\": \"Latin Small Letter O With Diaeresis\"\n"
                     "}",
                     "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xc2\x80\":\"Control\","
                     "\"\xc3\xb6\":\"Latin Small Letter O With Diaeresis\",\"\xe2\x82\xac\":\"Euro Sign\","
                     "\"\xf0\x9f\x98\x80\":\"Emoji: Grinning Face\","
                     "\"\xef\xac\xb3\":\"Hebrew Letter Dalet With Dagesh\"}");
}

static void test_values(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        const char *out;
    } cases[] = {
        {"{}", "{}"},
        {"[]", "[]"},
        {" [ [ ] , { } , [ { \"a\" : [ ] } ] ] ", "[[],{},[{\"a\":[]}]]"},
        {"\"\"", "\"\""},
        {"null", "null"},
        {"-0.0", "0"},
        {"-0", "0"},
        /* one number, however it is written */
        {"[1,1.0,1e0,10e-1,0.1e1]", "[1,1,1,1,1]"},
        {"[0.1,1e-1]", "[0.1,0.1]"},
        {"[100000000000000000000.0,1e21,-1e-7]", "[100000000000000000000,1e+21,-1e-7]"},
        {"[9007199254740991,-9007199254740991]", "[9007199254740991,-9007199254740991]"},
        /* members of any order, arrays of theirs */
        {"{\"b\":2,\"a\":1}", "{\"a\":1,\"b\":2}"},
        {"{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":2}"},
        {"{\"x\":{\"d\":[{\"z\":0,\"y\":0}],\"c\":0}}", "{\"x\":{\"c\":0,\"d\":[{\"y\":0,\"z\":0}]}}"},
        {"[2,1]", "[2,1]"},
        {"{\"aa\":0,\"a\":0,\"\":0,\"B\":0,\"_\":0}", "{\"\":0,\"B\":0,\"_\":0,\"a\":0,\"aa\":0}"},
        /* the letters that a collation would move */
        {"{\"i\":0,\"I\":0,\"\xc4\xb1\":0,\"\xc4\xb0\":0,\"z\":0,\"\xc3\xa4\":0}",
         "{\"I\":0,\"i\":0,\"z\":0,\"\xc3\xa4\":0,\"\xc4\xb0\":0,\"\xc4\xb1\":0}"},
        /* names that differ only behind a common start, on both sides of the surrogates */
        {"{\"x\xef\xbf\xbf\":0,\"x\xf0\x90\x80\x80\":0,\"x\xee\x80\x80\":0,\"x\xed\x9f\xbf\":0}",
         "{\"x\xed\x9f\xbf\":0,\"x\xf0\x90\x80\x80\":0,\"x\xee\x80\x80\":0,\"x\xef\xbf\xbf\":0}"},
        {"{\"\xf0\x9f\x98\x81\":0,\"\xf0\x9f\x98\x80\":0}", "{\"\xf0\x9f\x98\x80\":0,\"\xf0\x9f\x98\x81\":0}"},
        /* one string, however it is escaped */
        {"\"\\u00e9\\/\"", "\"\xc3\xa9/\""},
        {"\"\xc3\xa9/\"", "\"\xc3\xa9/\""},
        {"\"\\u0061\\u0022\\u005C\"", "\"a\\\"\\\\\""},
        {"\"\\u0001\\b\\t\\n\\u000B\\f\\r\\u001F\\u007f\\u2028\"",
         "\"\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f\x7f\xe2\x80\xa8\""},
        /* text is not normalised: two spellings stay two */
        {"[\"caf\xc3\xa9\",\"cafe\xcc\x81\"]", "[\"caf\xc3\xa9\",\"cafe\xcc\x81\"]"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_canonical(cases[i].in, cases[i].out);
}

/* Strings are looked through in blocks of sixteen bytes, or four of them: every byte at every place of these, and two
 * in a string. */
static void test_bytes_at_every_place(void **state)
{
    (void)state;
    static const char *const bytes[][2] = {{"\x1f", "\\u001f"},
                                           {"\n", "\\n"},
                                           {"\"", "\\\""},
                                           {"\\", "\\\\"},
                                           {" ", " "},
                                           {"!", "!"},
                                           {"#", "#"},
                                           {"[", "["},
                                           {"]", "]"},
                                           {"\x7f", "\x7f"},
                                           {"\xc2\x80", "\xc2\x80"},
                                           {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"}};
    char plain[141];
    memset(plain, 'a', sizeof plain - 1);
    plain[sizeof plain - 1] = '\0';
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
        for (int before = 0; before < 140; before++) {
            for (int after = 0; after < 34; after++) {
                char raw[256], expected[256];
                size_t len;
                snprintf(raw, sizeof raw, "%.*s%s%.*s%s", before, plain, bytes[i][0], after, plain, bytes[i][0]);
                snprintf(expected, sizeof expected, "\"%.*s%s%.*s%s\"", before, plain, bytes[i][1], after, plain,
                         bytes[i][1]);
                json_t *value = json_string(raw);
                char *text = canonical_write(value, &len);
                assert_string_equal(text, expected);
                json_t *read = canonical_read(text, len);
                assert_true(json_equal(read, value));
                free(text);
                json_decref(read);
                json_decref(value);
            }
        }
    }
}

/* What is written is up to six times as long as what is read. */
static void test_strings_of_escapes(void **state)
{
    (void)state;
    char raw[301], expected[6 * 300 + 3];
    for (size_t count = 1; count <= 300; count++) {
        size_t len, at = 0;
        memset(raw, 1, count);
        raw[count] = '\0';
        expected[at++] = '"';
        for (size_t i = 0; i < count; i++, at += 6)
            memcpy(expected + at, "\\u0001", 6);
        memcpy(expected + at, "\"", 2);
        json_t *value = json_string(raw);
        char *text = canonical_write(value, &len);
        assert_string_equal(text, expected);
        assert_int_equal(len, strlen(expected));
        free(text);
        json_decref(value);
    }
}

static void test_deep_and_wide(void **state)
{
    (void)state;
    char deep[2 * CANONICAL_DEPTH_MAX + 1] = "";
    memset(deep, '[', CANONICAL_DEPTH_MAX);
    memset(deep + CANONICAL_DEPTH_MAX, ']', CANONICAL_DEPTH_MAX);
    assert_canonical(deep, deep);

    /* 2,000 members, put in from the last to the first */
    json_t *object = json_object();
    for (int i = 1999; i >= 0; i--) {
        char name[16];
        snprintf(name, sizeof(name), "m%04d", i);
        assert_int_equal(json_object_set_new(object, name, json_integer(i)), 0);
    }
    size_t len;
    char *text = canonical_write(object, &len);
    char *at = text;
    for (int i = 0; i < 2000; i++) {
        char member[32];
        int n = snprintf(member, sizeof(member), "%c\"m%04d\":%d", i ? ',' : '{', i, i);
        assert_memory_equal(at, member, (size_t)n);
        at += n;
    }
    assert_string_equal(at, "}");
    free(text);
    json_decref(object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_of_the_rfc),
        cmocka_unit_test(test_numbers_of_node),
        cmocka_unit_test(test_literals_and_strings_of_the_rfc),
        cmocka_unit_test(test_order_of_the_rfc),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_bytes_at_every_place),
        cmocka_unit_test(test_strings_of_escapes),
        cmocka_unit_test(test_deep_and_wide),
    };
    return RUN_IN_ALL_LOCALES(tests);
}
