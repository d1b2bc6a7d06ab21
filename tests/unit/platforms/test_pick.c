/* SPDX-License-Identifier: MIT */
/* A pick and jq side by side: what a pick gives is what jq gives, in the same order. */
#include "support.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>

#include "keys/canonical.h"
#include "platforms/pick.h"
#include "platforms/program.h"
#include "runtime/die.h"

#define TEXTS_MAX  2000
#define SOUP_TRIES 60000
#define SOUP_WORDS 7

static const char *const inputs[] = {
    "{}",
    "{'a': {'b': {'c': 'deep'}, 'b c': [1, 2]}, 'x': 'text', 'n': null, 'f': false, 't': true, 'i': 7}",
    "{'a': 'a text', 'x': 9007199254740993, 'n': 2.5, 'f': 3.0, 't': -0.0, 'i': 1e300}",
    "{'a': {'b': null}, 'x': {'z': 1, 'y': {'d': 1, 'c': [{'b': 2, 'a': 3}]}, 'Z': '\\u00e4\\u0001', '\\u00e4': 5}}",
    "{'a': [1], 'x': '', 'n': {}, 'f': [], 'part': 'theirs'}",
    "{'a': null, 'x': null, 'n': 'Gr\\u00fc\\u00dfe \\ud83d\\ude00', 'f': {'b': false}, 't': {'b': 'x'}}",
};

/* Texts that are compared: each a pick and, behind a pipe, a program of jq's. */
struct texts {
    struct pick *picks[TEXTS_MAX];
    struct program_part parts[TEXTS_MAX];
    size_t count;
};

static void texts_add(struct texts *texts, const char *text)
{
    struct pick *pick = pick_new(text);
    assert_true(texts->count < TEXTS_MAX);
    if (!pick) return;
    texts->picks[texts->count] = pick;
    texts->parts[texts->count] = (struct program_part){xformat("p%zu", texts->count), xformat("(%s) | .", text)};
    texts->count++;
}

static void texts_fini(struct texts *texts)
{
    for (size_t i = 0; i < texts->count; i++) {
        pick_free(&texts->picks[i]);
        free((char *)texts->parts[i].path);
        free((char *)texts->parts[i].text);
    }
}

/* True if the pick gave something; then it is what jq gives, the order of members included. */
static bool compare(const struct texts *texts, size_t i, struct program *program, const char *input)
{
    struct errbuf err;
    json_t *in = json_of(input), *wanted = NULL;
    struct program_input *seen = program_input_new(in);
    json_t *got = pick_run(texts->picks[i], seen, PROGRAM_RESULT_MAX_BYTES, PROGRAM_RESULT_DEPTH_MAX);
    struct canonical_text printed = {0};
    bool prints = pick_print(texts->picks[i], seen, PROGRAM_RESULT_MAX_BYTES, PROGRAM_RESULT_DEPTH_MAX, &printed);
    if (prints != (got != NULL)) fail_msg("%s over %s: is it a value or not?", texts->parts[i].text, input);
    if (got) {
        if (!program_run(program, texts->parts[i].path, in, &wanted, &err))
            fail_msg("%s over %s: jq says %s", texts->parts[i].text, input, err.text);
        char *a = json_dumps(got, JSON_ENCODE_ANY), *b = json_dumps(wanted, JSON_ENCODE_ANY);
        if (strcmp(a, b) != 0) fail_msg("%s over %s: %s, jq gives %s", texts->parts[i].text, input, a, b);
        free(a);
        free(b);
        size_t len;
        a = canonical_write(wanted, &len);
        if (printed.len != len || memcmp(printed.bytes, a, len) != 0)
            fail_msg("%s over %s: %.*s, jq gives %s", texts->parts[i].text, input, (int)printed.len, printed.bytes, a);
        free(a);
    }
    free(printed.bytes);
    program_input_free(&seen);
    json_decref(in);
    json_decref(wanted);
    json_decref(got);
    return prints;
}

/* Returns how often picks gave something. */
static size_t compare_all(const struct texts *texts)
{
    struct program *program;
    struct errbuf err;
    size_t given = 0;
    if (!program_new("test", texts->parts, texts->count, &program, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < texts->count; i++)
        for (size_t k = 0; k < sizeof inputs / sizeof *inputs; k++)
            given += compare(texts, i, program, inputs[k]);
    program_free(&program);
    return given;
}

static void test_what_is_known(void **state)
{
    (void)state;
    static const char *const known[] = {
        ".a",
        ".a.b.c",
        ".a[\"b c\"]",
        ".a.b?",
        ".a.b.c? // .x // \"none\"",
        ".a.nosuch",
        "\"a\" + \"b\\n\\\"\\\\\\/\" + .x",
        "null + null",
        "null + .n",
        "(.x)",
        "{}",
        "[]",
        "[.x]",
        "[[.a.b]]",
        "{b: .a, a: .x, \"c d\": {z: 1, y: [true]}}",
        "{a: (.x // \"-\")}",
        "{a: (\"<\" + .x + \">\"), b: .a}",
        ".x // false",
        "0",
        "123456789012345",
        "{\"\": null}",
        "\"\\t\\r\"",
        ".f // .n",
    };
    struct texts texts = {.count = 0};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t before = texts.count;
        texts_add(&texts, known[i]);
        if (texts.count != before + 1) fail_msg("%s is not known", known[i]);
    }
    assert_true(compare_all(&texts) > texts.count * 3);
    texts_fini(&texts);
}

static void test_what_is_not_known(void **state)
{
    (void)state;
    static const char *const unknown[] = {
        "",
        ".",
        "..",
        ".a.",
        ".a .b",
        ".a [\"b\"]",
        "\"\xe3 d\"",
        "{\"\xe3 d\": .a}",
        ".a[0]",
        ".a[]",
        ".a[\"b\"",
        ".\"a\"",
        ".a?.b",
        ".a | .b",
        ".a, .b",
        ".a - .b",
        ".a / .b",
        ".a == .b",
        ".a and .b",
        "-1",
        "1.5",
        "1e3",
        "01",
        "1234567890123456",
        "nan",
        "empty",
        "nullx",
        "\"\\(.a)\"",
        "\"\\u0041\"",
        "\"open",
        "\"a\" \"b\"",
        "\"a\"[0]",
        "{a}",
        "{(.a): 1}",
        "{a: 1, a: 2}",
        "{a: .b + .c}",
        "{a: 1,}",
        "{\"a\": 1}.a",
        "[.a][0]",
        "[1, 2]",
        "[.a",
        "(.a",
        ".a)",
        "# .a",
        ".a\r",
        "{\"\xee\x80\x80\": 1}", /* jq and canonical JSON sort it in other ways */
        ".a #",
        "$x",
        ".part",
        "@base64 \"x\"",
        "if .a then 1 else 2 end",
        ".a += 1",
        ".a //= 1",
        ".a?//.b",
        "try .a",
        ".a as $x | $x",
    };
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        struct pick *pick = pick_new(unknown[i]);
        if (pick) fail_msg("%s is taken", unknown[i]);
    }
}

static void add_strings(struct texts *texts, const json_t *value)
{
    const char *name;
    json_t *member;
    size_t i;
    if (json_is_string(value) && json_string_value(value)[0] == '.') texts_add(texts, json_string_value(value));
    if (json_is_string(value) && json_string_value(value)[0] == '{') texts_add(texts, json_string_value(value));
    json_object_foreach((json_t *)value, name, member)
    {
        add_strings(texts, member);
    }
    json_array_foreach((json_t *)value, i, member)
    {
        add_strings(texts, member);
    }
}

static void test_programs_that_are_shipped(void **state)
{
    (void)state;
    struct texts texts = {.count = 0};
    DIR *folder = opendir(DESCRIPTORS);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[600];
        if (!strstr(entry->d_name, ".json")) continue;
        snprintf(path, sizeof path, "%s/%s", DESCRIPTORS, entry->d_name);
        json_t *document = json_file(path);
        add_strings(&texts, document);
        json_decref(document);
    }
    closedir(folder);
    assert_true(texts.count > 100);
    compare_all(&texts);
    texts_fini(&texts);
}

/* Words in any order: what is taken of them, jq compiles and gives the same. */
static void test_any_words(void **state)
{
    (void)state;
    static const char *const words[] = {".a",  ".b",    "[\"b\"]", ".x", ".n", ".f",      "?",    "+",   "//",
                                        "{a:", "x: ",   ", b:",    "}",  "[",  "]",       "(",    ")",   "\"t\"",
                                        "7",   "null ", "true",    " ",  ".",  "{\"q\":", "\"\"", ",\n", ".i"};
    struct texts texts = {.count = 0};
    uint32_t seed = 1;
    for (int tries = 0; tries < SOUP_TRIES && texts.count < TEXTS_MAX - 1; tries++) {
        char text[SOUP_WORDS * 8 + 1] = "";
        for (size_t i = 0, at = 0; i < SOUP_WORDS; i++) {
            seed = seed * 1664525 + 1013904223;
            size_t which = (seed >> 8) % (sizeof words / sizeof *words + 6); /* beyond them: a shorter text */
            if (which < sizeof words / sizeof *words)
                at += (size_t)snprintf(text + at, sizeof text - at, "%s", words[which]);
        }
        if (strlen(text) > 4) texts_add(&texts, text);
    }
    assert_true(texts.count > 300);
    assert_true(compare_all(&texts) > texts.count);
    texts_fini(&texts);
}

static void test_what_it_looks_at(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool hole;
    } cases[] = {{".hole.secret", true},
                 {"{a: [.b], c: (\"x\" + .hole[\"session.token\"])}", true},
                 {".b // .hole", true},
                 {".b.hole", false},
                 {"{hole: .b, a: \".hole\"}", false},
                 {"\"hole\"", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pick *pick = pick_new(cases[i].text);
        assert_non_null(pick);
        if (pick_names(pick, "hole") != cases[i].hole) fail_msg("%s", cases[i].text);
        pick_free(&pick);
    }
}

/* Deeper or larger than what comes out of jq: jq is asked, and says so. */
static void test_bounds(void **state)
{
    (void)state;
    struct pick *pick = pick_new("[.a]");
    json_t *json = json_of("{'a': [['0123456789']]}"), *got;
    struct program_input *input = program_input_new(json), *list;
    struct canonical_text text = {0};
    canonical_put(&text, "-", 1);
    assert_non_null(pick);
    assert_null(pick_run(pick, input, 1000, 3));
    assert_null(pick_run(pick, input, 60, 10));
    assert_false(pick_print(pick, input, 1000, 3, &text));
    assert_false(pick_print(pick, input, 60, 10, &text));
    assert_int_equal(text.len, 1);
    assert_true(pick_print(pick, input, 1000, 10, &text));
    assert_string_equal(text.bytes, "-[[[\"0123456789\"]]]");
    got = pick_run(pick, input, 1000, 10);
    assert_true(json_is_array(got) && json_array_get(got, 0) != json_object_get(json, "a")); /* a copy */
    list = program_input_new(got);
    assert_null(pick_run(pick, list, 1000, 10)); /* no object */
    assert_false(pick_print(pick, list, 1000, 10, &text));
    program_input_free(&list);
    program_input_free(&input);
    free(text.bytes);
    json_decref(got);
    json_decref(json);
    pick_free(&pick);
    char *deep = xmalloc(201);
    memset(deep, '[', 100);
    memset(deep + 100, ']', 100);
    deep[200] = '\0';
    assert_null(pick_new(deep));
    free(deep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_known),
        cmocka_unit_test(test_what_is_not_known),
        cmocka_unit_test(test_programs_that_are_shipped),
        cmocka_unit_test(test_any_words),
        cmocka_unit_test(test_what_it_looks_at),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
