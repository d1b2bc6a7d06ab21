/* SPDX-License-Identifier: MIT */
#include "support.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platforms/program.h"
#include "runtime/die.h"

/* Compile one part and run it over the input; *result NULL where it failed, err then says why. */
static bool try_text(const char *text, const json_t *input, json_t **result, struct errbuf *err)
{
    struct program_part part = {"test", text};
    struct program *program;
    *result = NULL;
    if (!program_new("file.json", &part, 1, &program, err)) return false;
    bool ok = program_run(program, "test", input, result, err);
    program_free(&program);
    return ok;
}

static void expect_one(const char *text, const char *input, const char *expected)
{
    struct errbuf err;
    json_t *in = json_of(input), *wanted = json_of(expected), *got;
    if (!try_text(text, in, &got, &err)) fail_msg("%s: %s", text, err.text);
    assert_json_equal(got, wanted, text);
    json_decref(in);
    json_decref(wanted);
    json_decref(got);
}

/* As it stands, and as a program that jq alone can run. */
static void expect(const char *text, const char *input, const char *expected)
{
    char *piped = xformat("(%s\n) | .", text);
    expect_one(text, input, expected);
    expect_one(piped, input, expected);
    free(piped);
}

static void expect_error(const char *text, const char *input, const char *message)
{
    struct errbuf err;
    json_t *in = json_of(input), *got;
    if (try_text(text, in, &got, &err)) fail_msg("%s gave a result", text);
    assert_null(got);
    assert_has(err.text, "file.json: $.test: ");
    assert_has(err.text, message);
    json_decref(in);
}

static void test_values_come_through(void **state)
{
    (void)state;
    expect(".a", "{'a': {'b': [1, 2.5, -3, true, false, null, '']}}", "{'b': [1, 2.5, -3, true, false, null, '']}");
    expect(".a", "{'a': 0.1}", "0.1");
    expect("1e3", "{}", "1000");
    expect("nan", "{}", "null");
    expect(".part", "{'part': 'theirs'}", "'test'");
    expect("[.a | explode[]] | implode", "{'a': 'Grüße 😀'}", "'Grüße 😀'");
}

/* The same program gives the same bytes, whatever order jq keeps members in. */
static void test_members_are_sorted(void **state)
{
    (void)state;
    struct errbuf err;
    json_t *input = json_object(), *got;
    assert_true(try_text("{b: 1, z: 2, a: 3, \"10\": 4}", input, &got, &err));
    char *text = json_dumps(got, JSON_COMPACT);
    assert_string_equal(text, "{\"10\":4,\"a\":3,\"b\":1,\"z\":2}");
    free(text);
    json_decref(got);
    json_decref(input);
}

/* 2^53 is the last integer whose neighbours a double can tell apart. */
static void test_large_integers_are_strings(void **state)
{
    (void)state;
    expect(".a", "{'a': 9007199254740992}", "9007199254740992");
    expect(".a", "{'a': -9007199254740992}", "-9007199254740992");
    expect(".a", "{'a': 9007199254740993}", "'9007199254740993'");
    expect(".a", "{'a': 117100000000000001}", "'117100000000000001'");
    expect(".a", "{'a': -9223372036854775808}", "'-9223372036854775808'");
}

static void test_nul_characters(void **state)
{
    (void)state;
    struct errbuf err;
    json_t *input = json_pack("{s:s#}", "a", "x\0y", 3), *got;
    assert_true(try_text(".a", input, &got, &err));
    assert_int_equal(json_string_length(got), 3);
    json_decref(got);
    assert_true(try_text(".a | length", input, &got, &err));
    assert_int_equal(json_integer_value(got), 3);
    json_decref(got);
    json_decref(input);
    expect_error("{\"a\\u0000b\": 1}", "{}", "a NUL in a name");
}

static void test_exactly_one_result(void **state)
{
    (void)state;
    expect_error("empty", "{}", "gave no result");
    expect_error("1, 2", "{}", "gave more than one result");
    expect_error("1, error(\"late\")", "{}", "late");
    expect_error("error(null)", "{}", ""); /* nothing in jq 1.6, an error in 1.7 */
    expect_error("error({code: 7})", "{}", "{\"code\":7}");
    expect_error("infinite", "{}", "infinite number");
    expect_error(".a.b", "{'a': 1}", "Cannot index number with ");
}

/* Nothing of the process, its files, its clock; nothing that ends it. */
static void test_cage(void **state)
{
    (void)state;
    static const char *const forbidden[] = {
        "env",
        "env.HOME",
        "input",
        "inputs",
        "[inputs]",
        "first(inputs)",
        "debug",
        "stderr",
        "halt",
        "halt_error",
        "\"x\" | halt_error(3)",
        "now",
        "0 | localtime",
        "0 | strflocaltime(\"%Z\")",
        "get_search_list",
        "\"a\" | modulemeta",
        "input_line_number",
        "input_filename",
        "debug(\"x\")",
    };
    for (size_t i = 0; i < sizeof(forbidden) / sizeof(*forbidden); i++)
        expect_error(forbidden[i], "{}", "is not available in a descriptor");
    expect("$ENV", "{}", "null");
    expect("{env: 1, now: 2} | .env + .now", "{}", "3");
    expect("try env catch .", "{}", "'env is not available in a descriptor'");
    expect_error("import \"a\" as a; 1", "{}", "jq does not compile it: syntax error");
    expect_error("include \"a\"; 1", "{}", "jq does not compile it: syntax error");
    expect_error("$__prog_args", "{}", "jq does not compile it");
}

/* What libjq 1.6 or 1.7 asserts on. */
static void test_values_that_abort_libjq(void **state)
{
    (void)state;
    expect_error("1e20 | todate", "{}", "not a time");
    expect_error("-1e20 | gmtime", "{}", "not a time");
    expect_error("1e300 | strftime(\"%Y\")", "{}", "not a time");
    expect_error("nan | todate", "{}", "not a time");
    expect_error("dateadd(\"seconds\"; 1e20)", "{'a': 1}", "");
    expect("0 | todate", "{}", "'1970-01-01T00:00:00Z'");
    expect("0 | strftime(\"%Y-%m-%d\")", "{}", "'1970-01-01'");
    expect("\"2015-03-05T23:51:47Z\" | fromdate", "{}", "1425599507");
    expect_error("[1114112] | implode", "{}", "code points");
    expect_error("[55296] | implode", "{}", "code points");
    expect_error("[-1] | implode", "{}", "code points");
    expect("[128512] | implode", "{}", "'😀'");
}

static void test_brackets_cannot_be_left(void **state)
{
    (void)state;
    static const char *const broken[] = {"1) | (2", "(1", "[1)", "{a: 1", "\"open", "\"\\(1\"", ")(", "1 # (\n )"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++)
        expect_error(broken[i], "{}", "do not balance");
    expect("1 # a comment with ) and \" in it", "{}", "1");
    expect("\") \\(\"a\" + \"(\") \\\"\"", "{}", "') a( \\\"'");
    expect("[{a: (1)}] | .[0].a", "{}", "1");
    expect_error("1 end else 2", "{}", "jq does not compile it");
}

static void test_compile_error_names_the_part(void **state)
{
    (void)state;
    struct program_part parts[] = {{"a.b[0]", ".x"}, {"c.d", ".x | nosuch"}, {"e", "1 |"}};
    struct program *program;
    struct errbuf err;
    assert_false(program_new("file.json", parts, 3, &program, &err));
    assert_null(program);
    assert_has(err.text, "file.json: $.c.d: jq does not compile it: nosuch/0 is not defined");
    assert_false(program_new("file.json", parts + 2, 1, &program, &err));
    assert_has(err.text, "$.e: jq does not compile it: syntax error");
}

static void test_parts(void **state)
{
    (void)state;
    struct program_part parts[] = {{"a.b[0]", ".x"}, {"c", ".x + 1"}};
    struct program *program;
    struct errbuf err;
    json_t *input = json_of("{'x': 1}"), *got;
    assert_true(program_new("file.json", parts, 2, &program, &err));
    assert_true(program_run(program, "c", input, &got, &err));
    assert_int_equal(json_integer_value(got), 2);
    json_decref(got);
    assert_true(program_run(program, "a.b[0]", input, &got, &err));
    assert_int_equal(json_integer_value(got), 1);
    json_decref(got);
    assert_false(program_run(program, "d", input, &got, &err));
    assert_has(err.text, "$.d: there is no such program");
    assert_null(json_object_get(input, "part"));
    program_free(&program);
    assert_null(program);
    json_decref(input);
}

/* A run that failed leaves nothing behind for the next one. */
static void test_runs_are_apart(void **state)
{
    (void)state;
    struct program_part part = {"p", "if .fail then error(\"no\") else .value end"};
    struct program *program;
    struct errbuf err;
    json_t *bad = json_of("{'fail': true}"), *good = json_of("{'value': [1]}"), *got;
    assert_true(program_new("file.json", &part, 1, &program, &err));
    for (int i = 0; i < 3; i++) {
        assert_false(program_run(program, "p", bad, &got, &err));
        assert_true(program_run(program, "p", good, &got, &err));
        json_decref(got);
    }
    program_free(&program);
    json_decref(bad);
    json_decref(good);
}

/* One input for several parts and programs: none sees what another one did to it. */
static void test_an_input_for_several_runs(void **state)
{
    (void)state;
    struct program_part parts[] = {
        {"a", ".list += [2] | .x = 1 | .list"}, {"b", "[.x, .list, .part]"}, {"c", "error(.x)"}};
    struct program *program, *other;
    struct errbuf err;
    json_t *json = json_of("{'x': 0, 'list': [1]}"), *got, *wanted = json_of("[0, [1], 'b']");
    assert_true(program_new("file.json", parts, 3, &program, &err));
    assert_true(program_new("other.json", parts, 2, &other, &err));
    struct program_input *input = program_input_new(json);
    for (int i = 0; i < 3; i++) {
        assert_true(program_run_over(program, "a", input, &got, &err));
        assert_int_equal(json_array_size(got), 2);
        json_decref(got);
        assert_false(program_run_over(program, "c", input, &got, &err));
        assert_false(program_run_over(program, "d", input, &got, &err));
        assert_has(err.text, "$.d: there is no such program");
        assert_true(program_run_over(other, "b", input, &got, &err));
        assert_true(json_equal(got, wanted));
        json_decref(got);
    }
    program_input_free(&input);
    assert_null(input);
    program_input_free(&input);
    input = program_input_new(wanted); /* no object */
    assert_false(program_run_over(program, "a", input, &got, &err));
    assert_has(err.text, "$.a: its input is larger");
    program_input_free(&input);
    program_free(&program);
    program_free(&other);
    json_decref(wanted);
    json_decref(json);
}

static void test_bounds(void **state)
{
    (void)state;
    struct errbuf err;
    json_t *got, *deep = json_array();
    for (int i = 0; i < PROGRAM_INPUT_DEPTH_MAX + 2; i++)
        deep = json_pack("[o]", deep);
    json_t *input = json_pack("{s:o}", "a", deep);
    assert_false(try_text("1 | .", input, &got, &err));
    assert_has(err.text, "deeper than");
    json_decref(input);
    char *large = xmalloc(PROGRAM_INPUT_MAX_BYTES + 1);
    memset(large, 'x', PROGRAM_INPUT_MAX_BYTES);
    large[PROGRAM_INPUT_MAX_BYTES] = '\0';
    input = json_pack("{s:s}", "a", large);
    assert_false(try_text("1 | .", input, &got, &err));
    assert_has(err.text, "is larger than");
    json_decref(input);
    free(large);
    expect_error("\"0123456789\" * 1000000", "{}", "too large");
    expect_error("reduce range(100) as $i (1; [.])", "{}", "too deep");
    input = json_array();
    assert_false(try_text("1 | .", input, &got, &err));
    json_decref(input);
}

/* libjq reads ~/.jq, where a user may have redefined what descriptors use. */
static void test_home_is_not_read(void **state)
{
    (void)state;
    char dir[] = "/tmp/program.XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/.jq", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("def length: 42; def stolen: 43;", file);
    fclose(file);
    char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
    setenv("HOME", dir, 1);
    expect("[] | length", "{}", "0");
    expect_error("stolen", "{}", "stolen/0 is not defined");
    assert_string_equal(getenv("HOME"), dir);
    if (home)
        setenv("HOME", home, 1);
    else
        unsetenv("HOME");
    free(home);
    unlink(path);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_come_through),
        cmocka_unit_test(test_members_are_sorted),
        cmocka_unit_test(test_large_integers_are_strings),
        cmocka_unit_test(test_nul_characters),
        cmocka_unit_test(test_exactly_one_result),
        cmocka_unit_test(test_cage),
        cmocka_unit_test(test_values_that_abort_libjq),
        cmocka_unit_test(test_brackets_cannot_be_left),
        cmocka_unit_test(test_compile_error_names_the_part),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_runs_are_apart),
        cmocka_unit_test(test_an_input_for_several_runs),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_home_is_not_read),
    };
    return cmocka_run_group_tests_name("program", tests, NULL, NULL);
}
