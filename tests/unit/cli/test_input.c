/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "cli/input.h"
#include "runtime/die.h"

#define MAX_BYTES 4096

/* Everything that an input gives, as one text: "line:bytes|", "line!|" for what is bad, "END". */
static void read_all(const void *bytes, size_t len, bool whole, char *out, size_t out_size)
{
    char path[32];
    struct input *input;
    struct errbuf err;
    bytes_file(bytes, len, path);
    assert_true(input_open(path, whole, MAX_BYTES, &input, &err));
    size_t used = 0;
    for (int calls = 0;; calls++) {
        const char *text;
        size_t text_len, line;
        enum input_result result = input_next(input, &text, &text_len, &line, &err);
        assert_true(calls < 10000);
        assert_true(result != INPUT_FAILED);
        if (result == INPUT_END) break;
        if (result == INPUT_BAD) assert_true(err.text[0] != '\0');
        if (used >= out_size) continue;
        used += result == INPUT_BAD ? (size_t)snprintf(out + used, out_size - used, "%zu!|", line)
                                    : (size_t)snprintf(out + used, out_size - used, "%zu:%.*s|", line,
                                                       (int)(text_len < 60 ? text_len : 60), text);
    }
    if (used < out_size) snprintf(out + used, out_size - used, "END");
    input_close(&input);
    unlink(path);
}

static const struct {
    const char *name, *in, *out;
} cases[] = {
    {"nothing", "", "END"},
    {"white space", " \n\r\n\t", "END"},
    {"lines", "{\"a\":1}\n{\"b\":2}\n", "1:{\"a\":1}|2:{\"b\":2}|END"},
    {"no last line feed", "{\"a\":1}\n{\"b\":2}", "1:{\"a\":1}|2:{\"b\":2}|END"},
    {"empty lines, CR LF, BOM", "\xef\xbb\xbf{\"a\":1}\r\n\r\n  {\"b\":2}\r\n", "1:{\"a\":1}|3:{\"b\":2}|END"},
    {"a line that is no object", "{\"a\":1}\nhello\n{\"b\":2}\n", "1:{\"a\":1}|2!|3:{\"b\":2}|END"},
    {"the first is none", "hello\n{\"b\":2}\n", "1!|2:{\"b\":2}|END"},
    {"an array among lines", "{\"a\":1}\n[{\"x\":1}]\n{\"b\":2}\n", "1:{\"a\":1}|2!|3:{\"b\":2}|END"},
    {"a cut line", "{\"a\":1}\n{\"b\":\n{\"c\":3}\n", "1:{\"a\":1}|2!|3:{\"c\":3}|END"},
    {"the first is cut behind a value", "{\"a\":1\n{\"b\":2}\n{\"c\":3}\n", "1!|2:{\"b\":2}|3:{\"c\":3}|END"},
    {"the first is cut behind a comma", "{\"a\":1,\n{\"b\":2}\n", "1!|2:{\"b\":2}|END"},
    {"the first is cut in a string", "{\"a\":\"xy\n{\"b\":2}\n", "1!|2:{\"b\":2}|END"},
    {"the first is cut where an object may begin", "{\"a\":[\n{\"b\":2}\n{\"c\":3}\n",
     "1!|2:{\"b\":2}|3:{\"c\":3}|END"},
    {"the last is cut", "{\"a\":1}\n{\"b\":2", "1:{\"a\":1}|2!|END"},
    {"more behind a value", "{\"a\":1} {\"b\":2} x\n{\"c\":3}\n", "1:{\"a\":1}|1:{\"b\":2}|1!|2:{\"c\":3}|END"},
    {"laid out", "{\n \"a\": 1\n}\n{\n \"b\": \"}\\\"{\"\n}\n", "1:{\n \"a\": 1\n}|4:{\n \"b\": \"}\\\"{\"\n}|END"},
    {"an array", "[{\"a\":1},\n {\"b\":[1,{}]} ,\n{\"c\":3}]\n", "1:{\"a\":1}|2:{\"b\":[1,{}]} |3:{\"c\":3}|END"},
    {"an empty array", "[]\n", "END"},
    {"an array of other things", "[1, \"a,]\", [2,3], {}]", "1:1|1:\"a,]\"|1:[2,3]|1:{}|END"},
    {"an array without end", "[{\"a\":1},{\"b\":2}", "1:{\"a\":1}|1!|END"},
    {"an array closed by a brace", "[{\"a\":1}}, {\"b\":2}]", "1!|END"},
    {"two arrays", "[{\"a\":1}]\n[{\"b\":2}]", "1:{\"a\":1}|2:{\"b\":2}|END"},
    {"a feed", "{\"version\":\"v\",\n\"items\":[{\"id\":\"1\"},\n{\"id\":\"2\"}],\n\"x\":{\"items\":[{}]}}\n",
     "2:{\"id\":\"1\"}|3:{\"id\":\"2\"}|END"},
    {"a feed in one line", "{\"items\":[{\"id\":\"1\"}]}", "1:{\"id\":\"1\"}|END"},
    {"a feed without end", "{\"items\":[{\"id\":\"1\"}],\"x\":", "1:{\"id\":\"1\"}|1!|END"},
    {"items that are no array", "{\"items\":{\"a\":[1]}}", "1:{\"items\":{\"a\":[1]}}|END"},
    {"a name that begins like items", "{\"itemsX\":[1]}", "1:{\"itemsX\":[1]}|END"},
    {"items further in", "{\"x\":{\"items\":[1]}}\n", "1:{\"x\":{\"items\":[1]}}|END"},
    {"a document that is cut", "{\n  \"a\": 1,\n  \"b\"", "1!|END"},
    {"wrong bracket", "{]\n{\"a\":1}\n", "1:{]|2:{\"a\":1}|END"},
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char out[1000] = "";
        read_all(cases[i].in, strlen(cases[i].in), false, out, sizeof(out));
        if (strcmp(out, cases[i].out) != 0) fail_msg("%s: %s\nexpected %s", cases[i].name, out, cases[i].out);
    }
}

static void test_whole(void **state)
{
    (void)state;
    char out[500] = "";
    static const char in[] = "[1,\n2]\n{\"items\":[3]}\n7\n\"x\"\n";
    read_all(in, sizeof(in) - 1, true, out, sizeof(out));
    assert_string_equal(out, "1:[1,\n2]|3:{\"items\":[3]}|4:7|5:\"x\"|END");
}

static void test_nul_and_invalid(void **state)
{
    (void)state;
    char out[500] = "";
    static const char in[] = "{\"a\":\"\0\xff\"}\n\0\n{\"b\":2}\n";
    read_all(in, sizeof(in) - 1, false, out, sizeof(out));
    assert_non_null(strstr(out, "2!|3:{\"b\":2}|END"));
}

static void test_huge(void **state)
{
    (void)state;
    const size_t len = 300000;
    char *in = malloc(len);
    char out[500] = "";
    memset(in, 'x', len);
    memcpy(in, "{\"a\":\"", 6);
    memcpy(in + 200000, "\"}\n{\"b\":2}\n{\"c\":\"", 17); /* too long; good; too long and cut */
    read_all(in, len, false, out, sizeof(out));
    assert_string_equal(out, "1!|2:{\"b\":2}|3!|END");
    memset(out, 0, sizeof(out));
    memcpy(in, "[{\"a\":\"", 7);
    memcpy(in + 200000, "\"},{\"b\":2},{\"c\":\"", 17); /* the same in an array */
    memcpy(in + len - 3, "\"}]", 3);
    read_all(in, len, false, out, sizeof(out));
    assert_string_equal(out, "1!|1:{\"b\":2}|1!|END");
    free(in);
}

/* Behind a first line that was cut, more whole lines than fit into memory. */
static void test_many_behind_a_cut_line(void **state)
{
    (void)state;
    static const char line[] = "{\"b\":2}\n";
    const size_t lines = 3 * MAX_BYTES / (sizeof(line) - 1);
    char *in = malloc(10 + lines * sizeof(line)), *out = malloc(lines * 20);
    size_t len = 7;
    memcpy(in, "{\"a\":1\n", len);
    for (size_t i = 0; i < lines; i++, len += sizeof(line) - 1)
        memcpy(in + len, line, sizeof(line) - 1);
    read_all(in, len, false, out, lines * 20);
    size_t taken = 0;
    for (const char *at = out; (at = strstr(at, ":{\"b\":2}|")) != NULL; at++)
        taken++;
    assert_int_equal(taken, lines);
    assert_int_equal(strncmp(out, "1!|2:", 5), 0);
    free(in);
    free(out);
}

/* Any bytes come to an end, and no line number runs away. */
static void test_noise(void **state)
{
    (void)state;
    static const char letters[] = "{}[]\",:\\\n \xff\0items1a";
    unsigned seed = 12345;
    for (int run = 0; run < 3000; run++) {
        char in[200], out[5000] = "";
        size_t len = 0;
        for (; len < (size_t)run % sizeof(in); len++) {
            seed = seed * 1103515245u + 12345u;
            in[len] = letters[(seed >> 16) % (sizeof(letters) - 1)];
        }
        read_all(in, len, run % 5 == 0, out, sizeof(out));
    }
}

static void test_unreadable(void **state)
{
    (void)state;
    struct input *input;
    struct errbuf err;
    const char *text;
    size_t len, line;
    assert_false(input_open("/nonexistent/x", false, MAX_BYTES, &input, &err));
    assert_contains(err.text, "/nonexistent/x");
    assert_true(input_open("/", false, MAX_BYTES, &input, &err));
    assert_int_equal(input_next(input, &text, &len, &line, &err), INPUT_FAILED);
    assert_contains(err.text, "directory");
    input_close(&input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases),
                                       cmocka_unit_test(test_whole),
                                       cmocka_unit_test(test_nul_and_invalid),
                                       cmocka_unit_test(test_huge),
                                       cmocka_unit_test(test_many_behind_a_cut_line),
                                       cmocka_unit_test(test_noise),
                                       cmocka_unit_test(test_unreadable)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
