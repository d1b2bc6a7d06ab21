/* SPDX-License-Identifier: MIT */
/*
 * From an item to frozen bytes and back: what is refused and in which words, that the same input gives the same bytes,
 * and that bytes which somebody changed are not taken.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "platforms/answer.h"
#include "platforms/channel.h"
#include "platforms/form.h"
#include "platforms/program_input.h"
#include "platforms/request.h"
#include "runtime/die.h"

static struct channel channel;

static int make_channel(void **state)
{
    (void)state;
    struct errbuf err = {{0}};
    struct descriptor *d = NULL;
    if (!descriptor_load(TREE "/tests/unit/platforms/data/withid.json", &d, &err)) fail_msg("%s", err.text);
    channel = (struct channel){.name = "withid/brand", .account = "brand", .descriptor = d, .auth = d->auth};
    channel.settings =
        json_pack("{s:s, s:i, s:s}", "instance", "https://m.example", "max_graphemes", 40, "visibility", "public");
    return 0;
}

static int free_channel(void **state)
{
    (void)state;
    json_decref(channel.settings);
    descriptor_free(&channel.descriptor);
    return 0;
}

static json_t *parse(const char *text)
{
    json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_non_null(json);
    return json;
}

#define FAMILY "\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7\xe2\x80\x8d\xf0\x9f\x91\xa6"
#define TEN    FAMILY FAMILY FAMILY FAMILY FAMILY FAMILY FAMILY FAMILY FAMILY FAMILY

static void what_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *item;
        enum render_result result;
        const char *words;
    } cases[] = {
        {"{\"id\":\"1\",\"url\":\"https://b.example/1\",\"content_text\":\"short\"}", RENDER_OK, ""},
        {"{\"id\":\"1\",\"url\":\"https://b.example/1\",\"title\":\"short\"}", RENDER_OK, ""},
        {"{\"id\":\"1\",\"url\":\"https://b.example/1\"}", RENDER_UNFIT,
         "the item has no content_text or title, which Answers with an id needs"},
        {"{\"id\":\"1\",\"url\":\"https://b.example/1\",\"title\":\"\",\"content_text\":null}", RENDER_UNFIT,
         "the item has no content_text or title, which Answers with an id needs"},
        {"{\"id\":\"1\",\"title\":\"x\"}", RENDER_UNFIT, "the item has no url, which Answers with an id needs"},
        /* a link counts 23, whatever its length; with the space between there is room for 16 */
        {"{\"url\":\"https://b.example/a/very/long/path/that/goes/on/and/on/for/"
         "ever\",\"content_text\":\"1234567890123456\"}",
         RENDER_OK, ""},
        {"{\"url\":\"https://b.example/1\",\"content_text\":\"12345678901234567\"}", RENDER_UNFIT,
         "text has 41 graphemes, the channel takes 40"},
        {"{\"url\":\"https://b.example/1\",\"content_text\":\"" TEN FAMILY FAMILY FAMILY FAMILY FAMILY FAMILY "\"}",
         RENDER_OK, ""},
        {"{\"url\":\"https://b.example/1\",\"content_text\":\"" TEN FAMILY FAMILY FAMILY FAMILY FAMILY FAMILY FAMILY
         "\"}",
         RENDER_UNFIT, "text has 41 graphemes, the channel takes 40"},
        {"{\"url\":\"https://b.example/"
         "1\",\"content_text\":\"x\",\"title\":"
         "\"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\"}",
         RENDER_OK, ""},
        {"{\"url\":\"https://b.example/"
         "1\",\"content_text\":\"x\",\"title\":"
         "\"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\"}",
         RENDER_UNFIT, "title has 22 bytes, the channel takes 20"},
        {"{\"url\":\"https://b.example/1\",\"content_text\":\"x\",\"title\":7}", RENDER_BROKEN, NULL},
        {"{\"url\":\"https://b.example/1\",\"content_text\":7}", RENDER_BROKEN, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct errbuf err = {{0}};
        json_t *item = parse(cases[i].item);
        enum render_result result = request_check(&channel, item, &err);
        if (result != cases[i].result) print_error("case %zu: %s\n", i, err.text);
        assert_int_equal(result, cases[i].result);
        if (cases[i].words)
            assert_string_equal(err.text, cases[i].words);
        else
            assert_true(err.text[0] != '\0');
        json_decref(item);
    }
}

static struct program_input *input_of(const char *content)
{
    struct errbuf err = {{0}};
    struct request_row row = {.key = "lf-1-abc", .generation = 2, .approved_at_ms = 1795980673000};
    struct program_input *input = NULL;
    json_t *item = parse(content);
    if (request_input(&channel, item, &row, &input, &err) != RENDER_OK) fail_msg("%s", err.text);
    json_decref(item);
    return input;
}

#define ITEM "{\"id\":\"1\",\"url\":\"https://b.example/1\",\"content_text\":\"Hello & welcome\"}"

static void render(struct program_input *input, struct form *form)
{
    struct errbuf err = {{0}};
    if (!request_render(&channel, input, form, &err)) fail_msg("%s", err.text);
}

static void what_programs_see(void **state)
{
    (void)state;
    struct program_input *input = input_of(ITEM);
    assert_string_equal(json_string_value(program_input_get(input, "text")), "Hello & welcome https://b.example/1");
    assert_int_equal(json_integer_value(json_object_get(program_input_get(input, "text_facts"), "bytes")), 35);
    assert_string_equal(json_string_value(program_input_get(input, "key")), "lf-1-abc");
    assert_int_equal(json_integer_value(program_input_get(input, "gen")), 2);
    assert_true(json_is_object(program_input_get(input, "prepared")));
    program_input_free(&input);
}

static void frozen_and_thawed(void **state)
{
    (void)state;
    static const char frozen[] = "{\"body\":[\"{\\\"at\\\":1795980673000,\\\"text\\\":\\\"Hello & welcome "
                                 "https://b.example/1\\\",\\\"ticket\\\":null,\\\"visibility\\\":\\\"public\\\"}\"],"
                                 "\"headers\":[[\"Idempotency-Key\",[\"lf-1-abc\"]],[\"Content-Type\",[\"application/"
                                 "json\"]],[\"Authorization\",[\"Bearer \",{\"hole\":\"secret\"}]]],"
                                 "\"method\":\"POST\",\"url\":[\"https://m.example/posts\"],\"v\":1}";
    char *first = NULL, *second = NULL, hash[HASH_HEX_BYTES], again[HASH_HEX_BYTES];
    size_t first_len, second_len;
    struct errbuf err = {{0}};
    struct form form, thawed;
    struct program_input *input = input_of(ITEM);
    render(input, &form);
    assert_true(request_freeze(&form, &first, &first_len, hash, &err));
    assert_string_equal(first, frozen);
    if (!request_thaw(first, first_len, hash, &thawed, &err)) fail_msg("%s", err.text);
    assert_true(request_agrees(&thawed, &form));
    assert_true(request_freeze(&thawed, &second, &second_len, again, &err));
    assert_string_equal(second, first);
    assert_string_equal(again, hash);
    free(first);
    free(second);
    form_fini(&form);
    form_fini(&thawed);
    program_input_free(&input);
}

static void what_is_not_thawed(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "null",
        "[]",
        "{}",
        "{\"headers\":[],\"method\":\"POST\",\"url\":[\"https://m.ex/\"],\"v\":2}",
        "{\"headers\":[],\"method\":\"POST\",\"url\":[\"https://m.ex/\"],\"v\":\"1\"}",
        "{\"headers\":[],\"method\":\"POST\",\"url\":[\"https://m.ex/\"],\"v\":1,\"x\":1}",
        "{\"headers\":[],\"method\":\"BREW\",\"url\":[\"https://m.ex/\"],\"v\":1}",
        "{\"headers\":[],\"method\":\"POST\",\"url\":[\"file:///etc/passwd\"],\"v\":1}",
        "{\"headers\":[],\"method\":\"POST\",\"url\":[\"https://\",{\"hole\":\"secret\"},\".example/\"],\"v\":1}",
        "{\"headers\":[],\"method\":\"PUT\",\"url\":[\"https://m.ex/\",{\"as\":\"json\",\"hole\":\"x\"}],\"v\":1}",
        "{\"headers\":[[\"X\",[\"a\\r\\nY: b\"]]],\"method\":\"POST\",\"url\":[\"https://m.ex/\"],\"v\":1}",
        "{\"headers\":[[\"X Y\",[\"a\"]]],\"method\":\"POST\",\"url\":[\"https://m.ex/\"],\"v\":1}",
        "{\"headers\":[[\"Host\",[\"a\"]]],\"method\":\"POST\",\"url\":[\"https://m.ex/\"],\"v\":1}",
        "{\"body\":[7],\"headers\":[],\"method\":\"POST\",\"url\":[\"https://m.ex/\"],\"v\":1}",
        /* fine, but not written as we write */
        "{\"headers\":[],\"method\":\"POST\",\"url\":[\"https://m.ex/\"], \"v\":1}",
        "{\"v\":1,\"headers\":[],\"method\":\"POST\",\"url\":[\"https://m.ex/\"]}",
        "{\"headers\":[],\"method\":\"POST\",\"url\":[\"https:\\/\\/m.ex/\"],\"v\":1}",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct errbuf err = {{0}};
        struct form form;
        char hash[HASH_HEX_BYTES];
        hash_bytes_hex(cases[i], strlen(cases[i]), hash);
        if (request_thaw(cases[i], strlen(cases[i]), hash, &form, &err)) fail_msg("case %zu was taken", i);
        assert_memory_equal(err.text, "frozen request", 14);
    }
    static const char good[] = "{\"headers\":[],\"method\":\"POST\",\"url\":[\"https://m.ex/\"],\"v\":1}";
    struct errbuf err = {{0}};
    struct form form;
    char hash[HASH_HEX_BYTES];
    hash_bytes_hex(good, strlen(good), hash);
    assert_true(request_thaw(good, strlen(good), hash, &form, &err));
    form_fini(&form);
    assert_false(request_thaw(good, strlen(good) - 1, hash, &form, &err));
    hash[0] = hash[0] == '0' ? '1' : '0';
    assert_false(request_thaw(good, strlen(good), hash, &form, &err));
}

/* A frozen request may differ in its texts, not in where it goes and where secrets stand. */
static void what_agrees(void **state)
{
    (void)state;
#define FORM(method, url, headers, body)                                                                               \
    "{\"body\":" body ",\"headers\":" headers ",\"method\":\"" method "\",\"url\":" url ",\"v\":1}"
#define AUTH "[[\"A\",[\"Bearer \",{\"hole\":\"secret\"}]]]"
#define URL  "[\"https://m.example/posts\"]"
    static const char base[] = FORM("POST", URL, AUTH, "[\"x\"]");
    static const struct {
        const char *text;
        bool agrees;
    } cases[] = {
        {FORM("POST", URL, AUTH, "[\"another text\"]"), true},
        {FORM("POST", "[\"https://m.example/posts?again\"]", AUTH, "[\"x\"]"), true},
        {FORM("POST", URL, "[[\"X\",[\"1\"]],[\"a\",[\"Bearer \",{\"hole\":\"secret\"}]]]", "[\"x\"]"), true},
        {FORM("PUT", URL, AUTH, "[\"x\"]"), false},
        {FORM("POST", "[\"https://evil.example/posts\"]", AUTH, "[\"x\"]"), false},
        {FORM("POST", "[\"http://m.example/posts\"]", AUTH, "[\"x\"]"), false},
        {FORM("POST", "[\"https://m.example:444/posts\"]", AUTH, "[\"x\"]"), false},
        {FORM("POST", "[\"https://m.example.evil/posts\"]", AUTH, "[\"x\"]"), false},
        {FORM("POST", "[\"https://m.example\",\".evil/posts\"]", AUTH, "[\"x\"]"), false},
        {FORM("POST", URL, "[]", "[\"x\"]"), false},
        {FORM("POST", URL, "[[\"B\",[\"Bearer \",{\"hole\":\"secret\"}]]]", "[\"x\"]"), false},
        {FORM("POST", URL, "[[\"A\",[\"Bearer \",{\"hole\":\"session.access\"}]]]", "[\"x\"]"), false},
        {FORM("POST", URL, AUTH, "[\"x\",{\"as\":\"json\",\"hole\":\"secret\"}]"), false},
        {FORM("POST", "[\"https://m.example/\",{\"as\":\"percent\",\"hole\":\"secret\"}]", AUTH, "[\"x\"]"), false},
    };
    struct errbuf err = {{0}};
    struct form rendered;
    json_t *json = parse(base);
    assert_true(form_parse(json, &rendered, &err));
    json_decref(json);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct form frozen;
        json = parse(cases[i].text);
        if (!form_parse(json, &frozen, &err)) fail_msg("case %zu: %s", i, err.text);
        json_decref(json);
        if (request_agrees(&frozen, &rendered) != cases[i].agrees) fail_msg("case %zu", i);
        form_fini(&frozen);
    }
    form_fini(&rendered);
}

static void steps(void **state)
{
    (void)state;
    struct errbuf err = {{0}};
    struct form form;
    struct answer answer;
    struct request_files files = {0};
    struct program_input *input = input_of(ITEM);
    assert_true(request_render_step(&channel, 0, 0, input, &files, &form, &err));
    assert_string_equal(form.url.segments[0].text, "https://m.example/tickets");
    form_fini(&form);
    answer_init(&answer, 1000);
    answer_header_line(&answer, "HTTP/1.1 500 X", 14);
    answer_finish(&answer);
    assert_false(request_keep_step(&channel, 0, 0, &answer, input, &files, &err));
    assert_string_equal(err.text, "Answers with an id answered 500 without what the step ticket needs");
    answer_clear(&answer);
    answer_header_line(&answer, "HTTP/1.1 200 X", 14);
    answer_body(&answer, "{\"ticket\":\"t-9\"}", 16);
    answer_finish(&answer);
    assert_true(request_keep_step(&channel, 0, 0, &answer, input, &files, &err));
    answer_fini(&answer);
    render(input, &form);
    assert_non_null(strstr(form.body.segments[0].text, "\"ticket\":\"t-9\""));
    form_fini(&form);
    program_input_free(&input);
}

static void a_step_that_is_not_wanted(void **state)
{
    (void)state;
    struct errbuf err = {{0}};
    bool wanted = false;
    struct program_input *input = input_of(ITEM);
    assert_true(request_step_wanted(&channel, 0, 0, input, &wanted, &err));
    assert_true(wanted);
    assert_null(json_object_get(program_input_get(input, "prepared"), "ticket"));
    json_t *item = json_copy(program_input_get(input, "item"));
    json_object_set_new(item, "no_ticket", json_true());
    program_input_put(input, "item", item);
    assert_true(request_step_wanted(&channel, 0, 0, input, &wanted, &err));
    assert_false(wanted);
    assert_true(json_is_null(json_object_get(program_input_get(input, "prepared"), "ticket")));
    program_input_free(&input);
}

/* The whole body, for free(). */
static char *body_of(const struct form *form, size_t *len)
{
    char *out = xcalloc(1, 4096);
    *len = 0;
    for (size_t i = 0; i < form->body.count; i++) {
        memcpy(out + *len, form->body.segments[i].text, form->body.segments[i].len);
        *len += form->body.segments[i].len;
    }
    return out;
}

static void a_file_for_each_element(void **state)
{
    (void)state;
    struct errbuf err = {{0}};
    struct request_files files = {0};
    struct form form;
    struct answer answer;
    bool wanted = false;
    struct program_input *input = input_of("{\"id\":\"1\",\"url\":\"https://b.example/1\",\"content_text\":\"x\","
                                           "\"pictures\":[\"https://p.example/1\",\"https://p.example/2\"]}");
    for (size_t at = 0; at < 2; at++) {
        assert_true(request_step_wanted(&channel, 1, at, input, &wanted, &err) && wanted);
        assert_true(request_render_step(&channel, 1, at, input, &files, &form, &err));
        assert_string_equal(form.url.segments[0].text, at == 0 ? "https://p.example/1" : "https://p.example/2");
        form_fini(&form);
        answer_init(&answer, 1000);
        answer_header_line(&answer, "HTTP/1.1 200 X", 14);
        answer_body(&answer, at == 0 ? "\0--\r\n" : "two", at == 0 ? 5 : 3);
        answer_finish(&answer);
        assert_true(request_keep_step(&channel, 1, at, &answer, input, &files, &err));
        answer_fini(&answer);
    }
    assert_true(request_step_wanted(&channel, 1, 2, input, &wanted, &err) && !wanted);
    assert_int_equal(2, json_array_size(json_object_get(program_input_get(input, "prepared"), "fetched")));

    size_t len;
    assert_true(request_step_wanted(&channel, 2, 0, input, &wanted, &err) && wanted);
    assert_true(request_render_step(&channel, 2, 0, input, &files, &form, &err));
    char *body = body_of(&form, &len);
    const struct form_header *type = &form.headers[form.header_count - 1];
    for (size_t i = 0; i < form.header_count; i++)
        if (strcmp(form.headers[i].name, "Content-Type") == 0) type = &form.headers[i];
    const char *boundary = strstr(type->value.segments[0].text, "boundary=") + 9;
    char expected[1024];
    int n = snprintf(expected, sizeof expected,
                     "--%s\r\nContent-Disposition: form-data; name=\"description\"\r\n\r\nnumber 1\r\n--%s\r\n"
                     "Content-Disposition: form-data; name=\"file\"; filename=\"picture\"\r\nContent-Type: "
                     "image/png\r\n\r\n",
                     boundary, boundary);
    assert_memory_equal(expected, body, n);
    assert_memory_equal("\0--\r\n", body + n, 5);
    assert_int_equal(n + 5 + (int)strlen(boundary) + 8, (int)len);
    free(body);
    form_fini(&form);

    assert_true(request_step_wanted(&channel, 3, 1, input, &wanted, &err) && wanted);
    assert_true(request_render_step(&channel, 3, 1, input, &files, &form, &err));
    body = body_of(&form, &len);
    assert_int_equal(3, len);
    assert_memory_equal("two", body, 3);
    free(body);
    form_fini(&form);
    request_files_fini(&files);
    assert_false(request_render_step(&channel, 3, 1, input, &files, &form, &err));
    assert_non_null(strstr(err.text, "prepare[3].request.body.file: must give {from: a step that kept bytes, type}"));
    program_input_free(&input);
}

static void too_long_to_freeze(void **state)
{
    (void)state;
    struct errbuf err = {{0}};
    char hash[HASH_HEX_BYTES], *bytes;
    size_t len;
    char *text = xcalloc(1, REQUEST_FROZEN_MAX_BYTES + 1);
    memset(text, 'x', REQUEST_FROZEN_MAX_BYTES);
    struct form_segment url = {.text = text, .len = 20}, body = {.text = text, .len = REQUEST_FROZEN_MAX_BYTES};
    struct form form = {.method = "POST", .url = {&url, 1}, .has_body = true, .body = {&body, 1}};
    assert_false(request_freeze(&form, &bytes, &len, hash, &err));
    assert_null(bytes);
    assert_non_null(strstr(err.text, "a request may have 1048576"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(what_programs_see),
        cmocka_unit_test(frozen_and_thawed),
        cmocka_unit_test(what_is_not_thawed),
        cmocka_unit_test(what_agrees),
        cmocka_unit_test(steps),
        cmocka_unit_test(too_long_to_freeze),
        cmocka_unit_test(a_step_that_is_not_wanted),
        cmocka_unit_test(a_file_for_each_element),
    };
    return cmocka_run_group_tests(tests, make_channel, free_channel);
}
