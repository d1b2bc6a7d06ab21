/* SPDX-License-Identifier: MIT */
#include "support.h"

#include <stdio.h>

#include "platforms/answer.h"
#include "platforms/answer_json.h"

static json_t *parse(const char *text, size_t len, char reason[160])
{
    reason[0] = '\0';
    json_t *json = answer_json_parse(text, len, reason, 160);
    assert_true((json == NULL) == (reason[0] != '\0'));
    return json;
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"[0, -0, 7, -12, 1.5, 1e3, 2E-2]", "[0, 0, 7, -12, 1.5, 1000.0, 0.02]"},
        {"[9007199254740992, -9007199254740992]", "[9007199254740992, -9007199254740992]"},
        /* an even one above 2^53 fits a double, but ids must not change their type with their last digit */
        {"[9007199254740993, 9007199254740994]", "['9007199254740993', '9007199254740994']"},
        {"{'id':117100000000000001}", "{'id': '117100000000000001'}"},
        {"[123456789012345678901234567890]", "['123456789012345678901234567890']"},
        {"[-123456789012345678901234567890]", "['-123456789012345678901234567890']"},
        {"[1e400, -1e400]", "['1e400', '-1e400']"},
        {"[0.1, 0.30000000000000004, 0.1234567890123456789]", "[0.1, 0.30000000000000004, '0.1234567890123456789']"},
        {"['9007199254740993', '[9007199254740993']", "['9007199254740993', '[9007199254740993']"},
        {"7", "7"},
        {"117100000000000001", "'117100000000000001'"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[200], reason[160];
        snprintf(text, sizeof(text), "%s", cases[i].text);
        for (char *at = text; *at; at++)
            if (*at == '\'') *at = '"';
        json_t *got = parse(text, strlen(text), reason), *expected = json_of(cases[i].expected);
        if (!got) fail_msg("%s: %s", text, reason);
        json_t *number = json_array_get(got, 1); /* -0 and 0 are one number */
        if (i == 0 && json_is_integer(number)) json_integer_set(number, 0);
        assert_json_equal(got, expected, text);
        json_decref(got);
        json_decref(expected);
    }
}

static void test_what_is_taken(void **state)
{
    (void)state;
    char reason[160];
    json_t *got = parse("{\"a\":1,\"a\":2}", 13, reason);
    assert_int_equal(json_integer_value(json_object_get(got, "a")), 2);
    json_decref(got);
    got = parse("\xEF\xBB\xBF{}", 5, reason);
    assert_non_null(got);
    json_decref(got);
    const char *quoted = "[\"a\\\"9007199254740993,\\\\\", 1]"; /* a string that holds a quote, then a backslash */
    got = parse(quoted, strlen(quoted), reason);
    assert_string_equal(json_string_value(json_array_get(got, 0)), "a\"9007199254740993,\\");
    json_decref(got);
    got = parse("\"a\\u0000b\"", 10, reason);
    assert_int_equal(json_string_length(got), 3);
    json_decref(got);
}

static void test_what_is_not(void **state)
{
    (void)state;
    static const char *const broken[] = {"<html>",
                                         "{",
                                         "[1,]",
                                         "{\"a\":01}",
                                         "[1] x",
                                         "[-]",
                                         "[1.]",
                                         "[.5]",
                                         "[1e]",
                                         "nul",
                                         "'a'",
                                         "[\"\xff\"]",
                                         "[\"\xed\xa0\x80\"]",
                                         "[\"\\ud800\"]",
                                         "\"secret-token",
                                         "[\"a\nb\"]"};
    char reason[160];
    for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
        if (parse(broken[i], strlen(broken[i]), reason)) fail_msg("%s was taken", broken[i]);
        assert_has(reason, "the body is not JSON (line ");
        assert_null(strstr(reason, "secret"));
    }
    assert_null(parse("", 0, reason));
    assert_string_equal(reason, "the body is empty");
    assert_null(parse(" \r\n\t", 4, reason));
    assert_string_equal(reason, "the body is empty");
    assert_null(parse("[\"a\0b\"]", 7, reason));
}

static void test_depth(void **state)
{
    (void)state;
    char text[2 * ANSWER_DEPTH_MAX + 10], reason[160];
    for (int depth = ANSWER_DEPTH_MAX; depth <= ANSWER_DEPTH_MAX + 1; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        json_t *got = parse(text, 2 * (size_t)depth, reason);
        assert_true((got != NULL) == (depth == ANSWER_DEPTH_MAX));
        json_decref(got);
    }
    assert_has(reason, "nested deeper");
}

static void feed(struct answer *answer, const char *line)
{
    answer_header_line(answer, line, strlen(line));
}

static void test_headers(void **state)
{
    (void)state;
    struct answer answer;
    answer_init(&answer, 1000);
    feed(&answer, "HTTP/1.1 103 Early Hints\r\n");
    feed(&answer, "Link: </a>\r\n");
    feed(&answer, "\r\n");
    feed(&answer, "HTTP/2 200\r\n");
    feed(&answer, "Content-Type:  application/problem+json; charset=utf-8 \r\n");
    feed(&answer, "X-Several: a\r\n");
    feed(&answer, "x-several:b\r\n");
    feed(&answer, "Set-Cookie: session=geheim\r\n");
    feed(&answer, " folded: away\r\n");
    feed(&answer, "no header at all\r\n");
    feed(&answer, "X-Odd: caf\xe9\r\n");
    feed(&answer, "X-Empty:\r\n");
    feed(&answer, "\r\n");
    assert_int_equal(answer.status, 200);
    assert_true(answer.json_type);
    assert_false(answer.headers_cut);
    assert_null(answer_header(&answer, "link"));
    assert_null(answer_header(&answer, "set-cookie"));
    assert_null(answer_header(&answer, "folded"));
    assert_string_equal(answer_header(&answer, "x-several"), "a, b");
    assert_string_equal(answer_header(&answer, "x-odd"), "caf\xEF\xBF\xBD");
    assert_string_equal(answer_header(&answer, "x-empty"), "");
    answer_clear(&answer);
    assert_int_equal(answer.status, 0);
    assert_int_equal(json_object_size(answer.headers), 0);
    feed(&answer, "HTTP/1.1 2x0 no\r\n");
    assert_int_equal(answer.status, 0);
    feed(&answer, "HTTP/1.1 20");
    assert_int_equal(answer.status, 0);
    answer_fini(&answer);
}

/* The bytes of a header end where the caller says, and with no NUL: a reader that looks for one reads what is not ours.
 */
static void test_a_cookie_at_the_end_of_its_bytes(void **state)
{
    (void)state;
    static const char line[] = "Set-Cookie: session=abc";
    const size_t len = sizeof line - 1;
    struct answer answer;
    answer_init(&answer, 1000);
    char *exact = malloc(len);
    assert_non_null(exact);
    memcpy(exact, line, len);
    answer_header_line(&answer, exact, len);
    free(exact);
    answer_header_line(&answer, "Set-Cookie: other=1; path=/", strlen("Set-Cookie: other=1"));
    assert_string_equal(json_string_value(json_object_get(answer.cookies, "session")), "abc");
    assert_string_equal(json_string_value(json_object_get(answer.cookies, "other")), "1");
    answer_fini(&answer);
}

static void test_content_types(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        bool json;
    } cases[] = {{"application/json", true},
                 {"Application/JSON;charset=utf-8", true},
                 {"application/vnd.api+json", true},
                 {"text/html", false},
                 {"application/jsonp", false},
                 {"application/json-seq", false},
                 {"text/json5", false},
                 {"+json", false},
                 {"", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct answer answer;
        char line[100];
        answer_init(&answer, 1000);
        snprintf(line, sizeof(line), "content-type: %s\r\n", cases[i].type);
        feed(&answer, line);
        if (answer.json_type != cases[i].json) fail_msg("%s", cases[i].type);
        answer_fini(&answer);
    }
}

static void test_bounds(void **state)
{
    (void)state;
    struct answer answer;
    answer_init(&answer, 10);
    for (int i = 0; i < ANSWER_HEADERS_MAX + 5; i++) {
        char line[40];
        snprintf(line, sizeof(line), "x-%d: y\r\n", i);
        feed(&answer, line);
    }
    assert_int_equal(json_object_size(answer.headers), ANSWER_HEADERS_MAX);
    assert_true(answer.headers_cut);
    static char large[ANSWER_HEADER_MAX_BYTES + 20] = "x-1: ";
    memset(large + 5, 'z', ANSWER_HEADER_MAX_BYTES + 1);
    feed(&answer, large);
    assert_string_equal(answer_header(&answer, "x-1"), "y");
    assert_true(answer_body(&answer, "{\"a\":1}", 7));
    assert_false(answer_body(&answer, "    ", 4));
    answer_finish(&answer);
    assert_null(answer.json);
    assert_has(answer.json_error, "longer than 10 bytes");
    answer_fini(&answer);
}

static void test_for_programs(void **state)
{
    (void)state;
    struct answer answer;
    answer_init(&answer, 1 << 20);
    feed(&answer, "HTTP/1.1 502 Bad Gateway\r\n");
    feed(&answer, "Server: x\r\n");
    assert_true(answer_body(&answer, "<\0\xff>", 4));
    answer_finish(&answer);
    json_t *got = answer_to_json(&answer);
    json_t *expected =
        json_of("{'status': 502, 'headers': {'server': 'x'}, 'body': null, 'text': '<\xEF\xBF\xBD\xEF\xBF\xBD>'}");
    assert_json_equal(got, expected, "of no JSON");
    json_decref(got);
    json_decref(expected);

    answer_clear(&answer);
    static char body[ANSWER_TEXT_MAX_BYTES + 100];
    memset(body, ' ', sizeof(body));
    memcpy(body, "{\"id\": 117100000000000001}", 26);
    memcpy(body + ANSWER_TEXT_MAX_BYTES - 1, "\xc3\xa9", 2); /* a character across the cut */
    assert_true(answer_body(&answer, body, ANSWER_TEXT_MAX_BYTES - 1));
    answer_finish(&answer);
    got = answer_to_json(&answer);
    assert_string_equal(json_string_value(json_object_get(json_object_get(got, "body"), "id")), "117100000000000001");
    json_decref(got);
    assert_true(answer_body(&answer, body + ANSWER_TEXT_MAX_BYTES - 1, 50));
    got = answer_to_json(&answer);
    assert_int_equal(json_string_length(json_object_get(got, "text")), ANSWER_TEXT_MAX_BYTES - 1);
    json_decref(got);
    answer_fini(&answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),       cmocka_unit_test(test_what_is_taken),
        cmocka_unit_test(test_what_is_not),   cmocka_unit_test(test_depth),
        cmocka_unit_test(test_headers),       cmocka_unit_test(test_a_cookie_at_the_end_of_its_bytes),
        cmocka_unit_test(test_content_types), cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_for_programs),
    };
    return cmocka_run_group_tests_name("answer", tests, NULL, NULL);
}
