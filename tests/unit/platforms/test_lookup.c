/* SPDX-License-Identifier: MIT */
/* One post by its id or by our key: found, gone, or nothing can be said. */
#include "tests/unit/platforms/search_kit.h"

#include "platforms/lookup.h"

static const char reads[] = "{'by_id': {'request': {'method': 'GET', 'url': '\\'https://p.test/posts/\\' + .ext_id'},"
                            "  'found': '.answer.body.post', 'gone': '.answer.body.error? == \\'NoSuchPost\\''},"
                            " 'by_key': {'request': {'method': 'GET', 'url': '\\'https://p.test/keys/\\' + .key'},"
                            "  'found': '.answer.body[0]', 'gone': '.answer.status == 200 and .answer.body == []'}}";

static const struct {
    const char *name;
    enum lookup_by by;
    int status;
    const char *headers;
    const char *body;
    enum lookup_kind kind;
    const char *id;
    const char *url;
    int64_t wait_ms;
} cases[] = {
    {"found", LOOKUP_BY_ID, 200, NULL, "{'post': {'id': '7', 'url': 'https://p.test/7'}}", LOOKUP_FOUND, "7",
     "https://p.test/7", 0},
    {"a number beyond doubles", LOOKUP_BY_ID, 200, NULL, "{'post': {'id': 9007199254740993}}", LOOKUP_FOUND,
     "9007199254740993", "", 0},
    {"found without an id", LOOKUP_BY_ID, 200, NULL, "{'post': {'url': 'https://p.test/7'}}", LOOKUP_UNSEEN, "", "", 0},
    {"the platform's own word", LOOKUP_BY_ID, 404, NULL, "{'error': 'NoSuchPost'}", LOOKUP_GONE, "", "", 0},
    {"a 404 of somebody else", LOOKUP_BY_ID, 404, "content-type: text/html", "<h1>404</h1>", LOOKUP_UNSEEN, "", "", 0},
    {"a post in a refusal", LOOKUP_BY_ID, 404, NULL, "{'post': {'id': '7'}}", LOOKUP_UNSEEN, "", "", 0},
    {"success without the post", LOOKUP_BY_ID, 200, NULL, "{}", LOOKUP_UNSEEN, "", "", 0},
    {"a login page", LOOKUP_BY_ID, 200, "content-type: text/html", "<html>", LOOKUP_UNSEEN, "", "", 0},
    {"an error of the server", LOOKUP_BY_ID, 500, NULL, "{'error': 'NoSuchPost'}", LOOKUP_UNSEEN, "", "", 0},
    {"no answer", LOOKUP_BY_ID, 0, NULL, "", LOOKUP_UNSEEN, "", "", 0},
    {"a limit", LOOKUP_BY_ID, 429, "retry-after: 7", "{}", LOOKUP_WAIT, "", "", 7000},
    {"a limit that says nothing", LOOKUP_BY_ID, 429, NULL, "{}", LOOKUP_WAIT, "", "", 0},
    {"an outage", LOOKUP_BY_ID, 503, NULL, "{}", LOOKUP_WAIT, "", "", 0},
    {"a limit in another dress", LOOKUP_BY_ID, 403, "retry-after: 60", "{}", LOOKUP_WAIT, "", "", 60000},
    {"a credential", LOOKUP_BY_ID, 403, NULL, "{'error': 'NoSuchPost'}", LOOKUP_CREDENTIAL, "", "", 0},
    {"a session", LOOKUP_BY_ID, 401, NULL, "{}", LOOKUP_SESSION, "", "", 0},
    {"a session, by its rule", LOOKUP_BY_ID, 400, NULL, "{'error': 'ExpiredToken'}", LOOKUP_SESSION, "", "", 0},
    {"a redirect", LOOKUP_BY_ID, 302, "location: /login", "", LOOKUP_UNSEEN, "", "", 0},
    {"by key", LOOKUP_BY_KEY, 200, NULL, "[{'id': '7'}]", LOOKUP_FOUND, "7", "", 0},
    {"no such key", LOOKUP_BY_KEY, 200, NULL, "[]", LOOKUP_GONE, "", "", 0},
    {"an error in a success", LOOKUP_BY_KEY, 200, NULL, "{'error': 'x'}", LOOKUP_UNSEEN, "", "", 0},
    {"an entry of another shape", LOOKUP_BY_KEY, 200, NULL, "['x']", LOOKUP_UNSEEN, "", "", 0},
};

static json_t *session_auth(void)
{
    return parse("{'kind': 'session', 'login': {'method': 'POST', 'url': '\\'https://p.test/login\\''},"
                 " 'token': '.answer.body.token'}");
}

static void test_answers(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, parse(reads), session_auth());
    const struct channel_facts facts_of_row = {.ext_id = "7", .key = "k-1"};
    json_t *input = channel_input(kit.channel, &facts_of_row);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct answer answer;
        struct transfer_facts facts;
        struct lookup out;
        answer_of(&answer, &facts, cases[i].status, cases[i].headers, cases[i].body);
        lookup_take_answer(kit.channel, cases[i].by, input, &facts, &answer, FROM, &out);
        if (out.kind != cases[i].kind || strcmp(out.id, cases[i].id) != 0 || strcmp(out.url, cases[i].url) != 0 ||
            out.wait_ms != cases[i].wait_ms)
            fail_msg("%s: %d \"%s\" \"%s\" %lld (%s)", cases[i].name, out.kind, out.id, out.url, (long long)out.wait_ms,
                     out.detail.text);
        if (out.kind == LOOKUP_UNSEEN && out.detail.text[0] == '\0') fail_msg("%s: does not say why", cases[i].name);
        answer_fini(&answer);
    }
    json_decref(input);
    kit_close(&kit);
}

/* An entry may name another post of the same delivery. */
static void test_duplicate(void **state)
{
    (void)state;
    static const struct {
        const char *body, *duplicate;
    } answers[] = {{"[{'id': '7'}]", ""},
                   {"[{'id': '7', 'duplicate': null}]", ""},
                   {"[{'id': '7', 'duplicate': '8'}]", "8"},
                   {"[{'id': '7', 'duplicate': 9007199254740993}]", "9007199254740993"}};
    struct kit kit;
    kit_open(&kit, parse(reads), NULL);
    json_t *input = json_object();
    for (size_t i = 0; i < COUNT(answers); i++) {
        struct answer answer;
        struct transfer_facts facts;
        struct lookup out;
        answer_of(&answer, &facts, 200, NULL, answers[i].body);
        lookup_take_answer(kit.channel, LOOKUP_BY_KEY, input, &facts, &answer, FROM, &out);
        assert_int_equal(out.kind, LOOKUP_FOUND);
        assert_string_equal(out.duplicate, answers[i].duplicate);
        answer_fini(&answer);
    }
    json_decref(input);
    kit_close(&kit);
}

/* A transfer that broke off after the whole body is no answer. */
static void test_incomplete(void **state)
{
    (void)state;
    struct kit kit;
    kit_open(&kit, parse(reads), NULL);
    static const char *const bodies[] = {"{'post': {'id': '7'}}", "{'error': 'NoSuchPost'}"};
    json_t *input = json_object();
    for (size_t i = 0; i < COUNT(bodies); i++) {
        struct answer answer;
        struct transfer_facts facts;
        struct lookup out;
        answer_of(&answer, &facts, 200, NULL, bodies[i]);
        facts.complete = false;
        lookup_take_answer(kit.channel, LOOKUP_BY_ID, input, &facts, &answer, FROM, &out);
        assert_int_equal(out.kind, LOOKUP_UNSEEN);
        assert_string_equal(out.detail.text, "no complete answer");
        answer_fini(&answer);
    }
    json_decref(input);
    kit_close(&kit);
}

static void test_requests(void **state)
{
    (void)state;
    struct kit kit;
    struct form form;
    struct errbuf err;
    kit_open(&kit, parse(reads), NULL);
    const struct channel_facts facts_of_row = {.ext_id = "7", .key = "k-1"};
    json_t *input = channel_input(kit.channel, &facts_of_row);
    static const char *const urls[] = {"https://p.test/posts/7", "https://p.test/keys/k-1"};
    for (int by = LOOKUP_BY_ID; by <= LOOKUP_BY_KEY; by++) {
        assert_true(lookup_given(kit.channel, (enum lookup_by)by));
        assert_true(lookup_request(kit.channel, (enum lookup_by)by, input, &form, &err));
        char *url = url_of(&form);
        assert_string_equal(url, urls[by]);
        free(url);
        form_fini(&form);
    }
    json_decref(input);
    kit_close(&kit);
}

static void test_not_given(void **state)
{
    (void)state;
    struct kit kit;
    struct form form;
    struct errbuf err;
    json_t *only_key = parse(reads);
    json_object_del(only_key, "by_id");
    kit_open(&kit, only_key, NULL);
    assert_false(lookup_given(kit.channel, LOOKUP_BY_ID));
    json_t *input = json_object();
    assert_false(lookup_request(kit.channel, LOOKUP_BY_ID, input, &form, &err));
    assert_contains(err.text, "t/a");
    assert_contains(err.text, "by id");
    json_decref(input);
    kit_close(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),  cmocka_unit_test(test_duplicate), cmocka_unit_test(test_incomplete),
        cmocka_unit_test(test_requests), cmocka_unit_test(test_not_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
