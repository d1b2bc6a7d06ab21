/* SPDX-License-Identifier: MIT */
/* Keys: the published vectors, the shape of each format, and what a configuration may ask for. */
#include "tests/unit/keys/locales.h"

#include "keys/canonical.h"
#include "keys/content.h"
#include "keys/key.h"

static char *read_file(const char *path, size_t *len)
{
    FILE *file = fopen(path, "rb");
    char *text = malloc(CANONICAL_INPUT_MAX_BYTES);
    if (!file) fail_msg("%s cannot be opened", path);
    *len = fread(text, 1, CANONICAL_INPUT_MAX_BYTES, file);
    fclose(file);
    return text;
}

static json_t *load_vectors(void)
{
    char err[KEYS_ERR_BYTES] = "";
    size_t len;
    json_t *vectors;
    char *text = read_file(TREE "/keys/vectors.json", &len);
    if (!canonical_parse(text, len, &vectors, err)) fail_msg("%s", err);
    free(text);
    return vectors;
}

static const char *string_of(const json_t *object, const char *name)
{
    const char *value = json_string_value(json_object_get(object, name));
    if (!value) fail_msg("no string \"%s\" in a vector", name);
    return value;
}

static void check_vector(const json_t *vector)
{
    struct content content;
    char err[KEYS_ERR_BYTES] = "";
    const char *channel = string_of(vector, "channel");

    if (!content_merge(json_object_get(vector, "item"), channel, &content, err))
        fail_msg("%s: %s", string_of(vector, "name"), err);
    assert_string_equal(content.canonical, string_of(vector, "content"));
    assert_string_equal(content.hash, string_of(vector, "content_hash"));

    const struct key_input input = {
        .prefix = string_of(vector, "prefix"),
        .instance = string_of(vector, "instance"),
        .account = identity_account(channel),
        .operation = string_of(vector, "operation"),
        .id = content.id,
        .generation = (unsigned)json_integer_value(json_object_get(vector, "generation")),
        .content = content.canonical,
        .content_len = content.canonical_len,
        .approved_at_ms = json_integer_value(json_object_get(vector, "approved_at_ms")),
    };
    for (enum key_format format = 0; format < KEY_FORMAT_COUNT; format++) {
        char key[KEY_BYTES];
        if (!key_make(&input, format, key, err)) fail_msg("%s: %s", string_of(vector, "name"), err);
        assert_string_equal(key, string_of(json_object_get(vector, "keys"), key_format_name(format)));
    }
    content_fini(&content);
}

static void test_vectors(void **state)
{
    (void)state;
    json_t *file = load_vectors();
    const json_t *vectors = json_object_get(file, "vectors");
    assert_true(json_array_size(vectors) >= 17);
    for (size_t i = 0; i < json_array_size(vectors); i++)
        check_vector(json_array_get(vectors, i));
    json_decref(file);
}

static void test_tids(void **state)
{
    (void)state;
    json_t *file = load_vectors();
    const json_t *tids = json_object_get(file, "tids");
    assert_true(json_array_size(tids) >= 5);
    for (size_t i = 0; i < json_array_size(tids); i++) {
        const json_t *vector = json_array_get(tids, i);
        char tid[KEY_TID_BYTES];
        key_tid((uint64_t)json_integer_value(json_object_get(vector, "us")),
                (unsigned)json_integer_value(json_object_get(vector, "clock_id")), tid);
        assert_string_equal(tid, string_of(vector, "tid"));
    }
    json_decref(file);
}

static const struct key_input example = {
    .prefix = NULL,
    .instance = "https://m.example",
    .account = "brand",
    .operation = KEY_OPERATION_PUBLISH,
    .id = "2026/hello",
    .generation = 0,
    .content = "{\"id\":\"2026/hello\"}",
    .content_len = 19,
    .approved_at_ms = 1790000000000,
};

static void make(const struct key_input *input, enum key_format format, char key[KEY_BYTES])
{
    char err[KEYS_ERR_BYTES] = "";
    if (!key_make(input, format, key, err)) fail_msg("%s", err);
}

/* Every field changes the hash, and moving a byte from one field to the next does, too. */
static void test_every_field_counts(void **state)
{
    (void)state;
    struct key_input inputs[] = {example, example, example, example, example, example, example, example};
    char keys[COUNT(inputs)][KEY_BYTES];

    inputs[1].instance = "https://m.exampl";
    inputs[2].account = "ebrand";
    inputs[3].operation = "delete";
    inputs[4].id = "2026/Hello";
    inputs[5].generation = 1;
    inputs[6].content_len = 18;
    inputs[7].instance = "https://m.exampl";
    inputs[7].account = "ebrand";
    for (size_t i = 0; i < COUNT(inputs); i++) {
        make(&inputs[i], KEY_HEX24, keys[i]);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(keys[i], keys[k]);
    }
}

/* The prefix and the time of approval are not hashed: a key of a generation stays the same wherever it is built. */
static void test_what_is_not_hashed(void **state)
{
    (void)state;
    struct key_input other = example;
    char a[KEY_BYTES];
    char b[KEY_BYTES];
    other.prefix = "other";
    other.approved_at_ms = 5;
    make(&example, KEY_UUID, a);
    make(&other, KEY_UUID, b);
    assert_string_equal(a, b);
}

static void test_readable_part(void **state)
{
    (void)state;
    static const struct {
        const char *id;
        const char *start;
    } cases[] = {
        {"a", "lf-a-"},
        {"2026/Hello, World!", "lf-2026-hello-world-"},
        {"https://blog.example/posts/short", "lf-example-posts-short-"},
        {"12345678901234567890", "lf-12345678901234567890-"},
        {"x12345678901234567890", "lf-12345678901234567890-"},
        {"x/1234567890123456789", "lf-1234567890123456789-"},
        {"a/...///b", "lf-a-b-"},
        {"...a...", "lf-a-"},
        {"A_B", "lf-a-b-"},
        {"\xc3\x9c"
         "ber",
         "lf-ber-"},
        {"\xed\x95\x9c", "lf-"},
        {"\"\\\x7f\n", "lf-"},
        {".", "lf-"},
        {"ISTANBUL", "lf-istanbul-"}, /* the C library's lower case would differ in Turkish */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct key_input input = example;
        char key[KEY_BYTES];
        char hex[KEY_BYTES];
        size_t start_len = strlen(cases[i].start);
        input.id = cases[i].id;
        make(&input, KEY_PLAIN, key);
        make(&input, KEY_HEX24, hex);
        if (strncmp(key, cases[i].start, start_len) != 0) fail_msg("%s does not begin with %s", key, cases[i].start);
        assert_memory_equal(key + start_len, hex, 24);
        assert_int_equal(strlen(key), start_len + 32);
    }
}

/* Shape and length of all formats, for ids of every length and every byte that an id can have. */
static void test_shapes(void **state)
{
    (void)state;
    struct key_input input = example;
    char id[IDENTITY_ID_BYTES];
    input.id = id;
    input.prefix = "prefix-010";
    for (size_t len = 1; len < sizeof(id); len++) {
        char key[KEY_BYTES];
        char quoted[KEY_BYTES];
        for (size_t i = 0; i < len; i++)
            id[i] = (char)(1 + (len * 7 + i) % 255);
        id[len] = '\0';

        make(&input, KEY_PLAIN, key);
        assert_int_equal(strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789-"), strlen(key));
        assert_true(strlen(key) <= KEY_PLAIN_MAX_BYTES);
        make(&input, KEY_SF_STRING, quoted);
        assert_true(quoted[0] == '"' && quoted[strlen(quoted) - 1] == '"' && strlen(quoted) == strlen(key) + 2);
        assert_memory_equal(quoted + 1, key, strlen(key));

        make(&input, KEY_HEX24, key);
        assert_int_equal(strspn(key, "0123456789abcdef"), 24);
        assert_int_equal(strlen(key), 24);

        make(&input, KEY_UUID, key);
        assert_int_equal(strlen(key), 36);
        for (size_t i = 0; i < 36; i++) {
            bool dash = i == 8 || i == 13 || i == 18 || i == 23;
            assert_true(dash ? key[i] == '-' : strchr("0123456789abcdef", key[i]) != NULL);
        }
        assert_int_equal(key[14], '8');
        assert_non_null(strchr("89ab", key[19]));

        make(&input, KEY_TID, key);
        assert_int_equal(strlen(key), 13);
        assert_memory_equal(key, "3mvzvh4f", 8); /* the millisecond, as far as the thousands cannot change it */
        assert_int_equal(strspn(key, "234567abcdefghijklmnopqrstuvwxyz"), 13);
    }
}

/* TIDs sort as text in the order of approval, whatever the hash. */
static void test_tids_sort(void **state)
{
    (void)state;
    struct key_input input = example;
    char last[KEY_BYTES] = "";
    for (int i = 0; i < 2000; i++) {
        char id[16];
        char key[KEY_BYTES];
        snprintf(id, sizeof(id), "post-%d", i);
        input.id = id;
        input.approved_at_ms = 1790000000000 + i;
        make(&input, KEY_TID, key);
        assert_true(strcmp(key, last) > 0);
        memcpy(last, key, sizeof(last));
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *prefix;
        int64_t approved_at_ms;
        enum key_format format;
        const char *error;
    } cases[] = {
        {"", 1, KEY_PLAIN, "key prefix \"\" must be"},
        {"Lf", 1, KEY_PLAIN, "key prefix \"Lf\" must be"},
        {"1f", 1, KEY_PLAIN, "beginning with a letter"},
        {"-f", 1, KEY_PLAIN, "beginning with a letter"},
        {"l.f", 1, KEY_PLAIN, "must be 1 to 10 of"},
        {"l_f", 1, KEY_UUID, "must be 1 to 10 of"},
        {"abcdefghijk", 1, KEY_PLAIN, "must be 1 to 10 of"},
        {"l\nf", 1, KEY_PLAIN, "\"l\\x0af\""},
        {"lf", 0, KEY_TID, "needs the time of approval"},
        {"lf", -1, KEY_TID, "not -1"},
        {"lf", 9007199254740, KEY_TID, "needs the time of approval"},
        {"lf", INT64_MAX, KEY_TID, "needs the time of approval"},
        {"lf", 9007199254739, KEY_TID, NULL},
        {"lf", 0, KEY_PLAIN, NULL},
        {"abcdefghij", 0, KEY_PLAIN, NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct key_input input = example;
        char key[KEY_BYTES];
        char err[KEYS_ERR_BYTES] = "";
        input.prefix = cases[i].prefix;
        input.approved_at_ms = cases[i].approved_at_ms;
        bool ok = key_make(&input, cases[i].format, key, err);
        if (ok != !cases[i].error) fail_msg("case %zu: %s", i, ok ? key : err);
        if (ok) continue;
        assert_clean_text(err);
        assert_contains(err, cases[i].error);
    }
}

static void test_format_names(void **state)
{
    (void)state;
    static const char *const names[] = {"plain", "sf_string", "uuid", "hex24", "tid"};
    char err[KEYS_ERR_BYTES] = "";
    enum key_format format;

    assert_int_equal(COUNT(names), KEY_FORMAT_COUNT);
    for (size_t i = 0; i < COUNT(names); i++) {
        assert_true(key_format_parse(names[i], &format, err));
        assert_int_equal(format, i);
        assert_string_equal(key_format_name(format), names[i]);
    }
    assert_false(key_format_parse("UUID", &format, err));
    assert_string_equal(err, "key format \"UUID\" is not known; there are plain sf_string uuid hex24 tid");
    assert_false(key_format_parse("", &format, err));
}

static void test_lengths_for_a_configuration(void **state)
{
    (void)state;
    static const struct {
        enum key_format format;
        const char *prefix;
        size_t max_bytes;
        const char *error;
    } cases[] = {
        {KEY_PLAIN, NULL, 0, NULL},
        {KEY_PLAIN, NULL, 255, NULL},
        {KEY_PLAIN, NULL, 56, NULL},
        {KEY_PLAIN, NULL, 55, "keys of format plain have up to 56 bytes, the platform takes 55"},
        {KEY_PLAIN, "abcdefghij", 64, NULL},
        {KEY_PLAIN, "abcdefghij", 63, "up to 64 bytes"},
        {KEY_PLAIN, NULL, 25, "use hex24"},
        {KEY_SF_STRING, NULL, 58, NULL},
        {KEY_SF_STRING, NULL, 57, "up to 58 bytes"},
        {KEY_UUID, NULL, 36, NULL},
        {KEY_UUID, NULL, 35, "up to 36 bytes"},
        {KEY_HEX24, "abcdefghij", 24, NULL},
        {KEY_HEX24, NULL, 23, "up to 24 bytes"},
        {KEY_TID, NULL, 13, NULL},
        {KEY_TID, NULL, 12, "up to 13 bytes"},
        {KEY_PLAIN, "Lf", 0, "key prefix \"Lf\""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char err[KEYS_ERR_BYTES] = "";
        bool ok = key_format_check(cases[i].format, cases[i].prefix, cases[i].max_bytes, err);
        if (ok != !cases[i].error) fail_msg("case %zu: %s", i, ok ? "was taken" : err);
        if (!ok) assert_contains(err, cases[i].error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_tids),
        cmocka_unit_test(test_every_field_counts),
        cmocka_unit_test(test_what_is_not_hashed),
        cmocka_unit_test(test_readable_part),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_tids_sort),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_format_names),
        cmocka_unit_test(test_lengths_for_a_configuration),
    };
    return RUN_IN_ALL_LOCALES(tests);
}
