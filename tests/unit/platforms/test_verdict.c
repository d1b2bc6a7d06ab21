/* SPDX-License-Identifier: MIT */
/*
 * Every line of the table of outcomes, every kind of accept rule, every cell of the error surface's table, and answers
 * that try to be believed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/secret.h"
#include "platforms/program_input.h"
#include "verdict_fixture.h"

struct given {
    struct descriptor *descriptor;
    const char *head, *body;
    struct transfer_facts facts;
    struct verdict_context context;
};

static struct outcome judge(struct given g)
{
    struct channel channel = {.name = "test/x", .descriptor = g.descriptor};
    struct answer answer;
    struct outcome out;
    memset(&out, 0x55, sizeof out);
    answer_of(&answer, g.head, g.body);
    g.facts.status = answer.status;
    if (g.context.now_ms == 0) g.context.now_ms = NOW;
    verdict(&channel, &g.facts, &answer, &g.context, &out);
    answer_fini(&answer);
    assert_non_null(memchr(out.ext_id, '\0', sizeof out.ext_id));
    assert_non_null(memchr(out.url, '\0', sizeof out.url));
    assert_non_null(memchr(out.detail, '\0', sizeof out.detail));
    assert_true(out.kind >= EV_COMMITTED && out.kind <= EV_CONFLICT);
    assert_true(out.reason < RS_COUNT);
    if (out.kind == EV_COMMITTED)
        assert_true(!g.descriptor->gives_id || out.ext_id[0]);
    else
        assert_string_equal(out.ext_id, "");
    return out;
}

static struct outcome judge_answer(struct descriptor *descriptor, const char *head, const char *body)
{
    return judge((struct given){
        .descriptor = descriptor, .head = head, .body = body, .facts = {.reached = true, .complete = true}});
}

struct line {
    int status;
    const char *body;
    enum delivery_event kind;
    enum delivery_reason reason;
    const char *ext_id;
};

static void check_lines(struct descriptor *descriptor, const struct line *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char head[64];
        snprintf(head, sizeof head, "HTTP/1.1 %d X\nContent-Type: application/json", lines[i].status);
        struct outcome out = judge_answer(descriptor, head, lines[i].body);
        if (out.kind != lines[i].kind || out.reason != lines[i].reason)
            print_error("line %zu (%d %.60s): %s %s\n", i, lines[i].status, lines[i].body,
                        delivery_event_name(out.kind), delivery_reason_name(out.reason));
        assert_int_equal(out.kind, lines[i].kind);
        assert_int_equal(out.reason, lines[i].reason);
        assert_int_equal(out.status, lines[i].status);
        assert_string_equal(out.ext_id, lines[i].ext_id ? lines[i].ext_id : "");
    }
}

static void the_table(void **state)
{
    (void)state;
    static const struct line lines[] = {
        {200, "{\"id\":\"7\"}", EV_COMMITTED, RS_NONE, "7"},
        {202, "{\"id\":\"7\"}", EV_COMMITTED, RS_NONE, "7"}, /* not named by a rule, but the id is there */
        {200, "{}", EV_NO_ID, RS_NO_ID, NULL},
        {202, "", EV_NO_ID, RS_NO_ID, NULL},
        {204, "", EV_NO_ID, RS_NO_ID, NULL},
        {300, "{}", EV_UNKNOWN, RS_NO_ANSWER, NULL},
        {301, "{}", EV_REFUSED, RS_REDIRECTED, NULL},
        {302, "{}", EV_UNKNOWN, RS_NO_ANSWER, NULL},
        {303, "{\"id\":\"7\"}", EV_UNKNOWN, RS_NO_ANSWER, NULL},
        {304, "{}", EV_UNKNOWN, RS_NO_ANSWER, NULL},
        {307, "{}", EV_REFUSED, RS_REDIRECTED, NULL},
        {308, "{}", EV_REFUSED, RS_REDIRECTED, NULL},
        {400, "{\"error\":\"Other\"}", EV_REFUSED, RS_NONE, NULL},
        {401, "{}", EV_CREDENTIAL, RS_NONE, NULL},
        {402, "{}", EV_UNKNOWN, RS_NO_ANSWER, NULL},
        {403, "{}", EV_CREDENTIAL, RS_NONE, NULL},
        {404, "{}", EV_REFUSED, RS_NONE, NULL},
        {405, "{}", EV_REFUSED, RS_NONE, NULL},
        {406, "{}", EV_UNKNOWN, RS_NO_ANSWER, NULL},
        {408, "{}", EV_UNKNOWN, RS_NO_ANSWER, NULL},
        {409, "{}", EV_CONFLICT, RS_NONE, NULL},
        {410, "{}", EV_REFUSED, RS_NONE, NULL},
        {413, "<html>", EV_REFUSED, RS_NONE, NULL},
        {414, "", EV_REFUSED, RS_NONE, NULL},
        {415, "{}", EV_REFUSED, RS_NONE, NULL},
        {418, "{}", EV_UNKNOWN, RS_NO_ANSWER, NULL},
        {422, "{\"error\":\"too long\"}", EV_REFUSED, RS_NONE, NULL},
        {425, "{}", EV_UNKNOWN, RS_NO_ANSWER, NULL},
        {429, "{}", EV_WAIT, RS_NONE, NULL},
        {431, "{}", EV_REFUSED, RS_NONE, NULL},
        {451, "{}", EV_REFUSED, RS_NONE, NULL},
        {500, "{}", EV_UNKNOWN, RS_NO_ANSWER, NULL},
        {500, "{\"id\":\"7\"}", EV_UNKNOWN, RS_NO_ANSWER, NULL},
        {502, "<html>bad gateway</html>", EV_UNKNOWN, RS_NO_ANSWER, NULL},
        {503, "", EV_UNKNOWN, RS_NO_ANSWER, NULL},
        {504, "", EV_UNKNOWN, RS_NO_ANSWER, NULL},
        {599, "", EV_UNKNOWN, RS_NO_ANSWER, NULL},
        {999, "", EV_UNKNOWN, RS_NO_ANSWER, NULL}};
    check_lines(with_id, lines, sizeof lines / sizeof lines[0]);
}

static void the_rules(void **state)
{
    (void)state;
    static const struct line lines[] = {
        {203, "{\"ok\":true,\"id\":\"8\"}", EV_COMMITTED, RS_NONE, "8"},
        {203, "{\"ok\":false,\"id\":\"8\"}", EV_UNKNOWN, RS_BAD_ANSWER, NULL}, /* a success that says it is none */
        {203, "{\"ok\":\"true\",\"id\":\"8\"}", EV_UNKNOWN, RS_BAD_ANSWER, NULL},
        {400, "{\"error\":\"TooLong\"}", EV_REFUSED, RS_NONE, NULL},
        {400, "{\"error\":\"Busy\"}", EV_NOT_COMMITTED, RS_NONE, NULL},
        {422, "{\"error\":\"url is taken\"}", EV_CONFLICT, RS_NONE, NULL},
        {460, "{}", EV_WAIT, RS_NONE, NULL},
        {461, "{}", EV_CREDENTIAL, RS_NONE, NULL},
        {462, "{}", EV_UNKNOWN, RS_VERIFY, NULL},
        {463, "{\"id\":\"7\"}", EV_NO_ID, RS_NO_ID, NULL},
        /* a rule stumbles over an answer of another shape: nobody knows what it means */
        {400, "[1,2]", EV_UNKNOWN, RS_BAD_ANSWER, NULL},
        {400, "\"no\"", EV_UNKNOWN, RS_BAD_ANSWER, NULL},
        {422, "{\"error\":{\"url\":\"taken\"}}", EV_UNKNOWN, RS_BAD_ANSWER, NULL},
        {422, "{\"error\":null}", EV_UNKNOWN, RS_BAD_ANSWER, NULL},
    };
    check_lines(with_id, lines, sizeof lines / sizeof lines[0]);
    struct given replay = {.descriptor = with_id,
                           .head = "HTTP/1.1 400 X",
                           .body = "{\"error\":\"Replayed\"}",
                           .facts = {.reached = true, .complete = true}};
    assert_int_equal(judge(replay).kind, EV_REFUSED);
    replay.context.replay = true;
    assert_int_equal(judge(replay).kind, EV_CONFLICT);
}

/* Success statuses for something that was refused, and the like. */
/* A success may betray another post of the same delivery. */
static void a_second_post(void **state)
{
    (void)state;
    const char *head = "HTTP/1.1 200 OK\nContent-Type: application/json";
    assert_string_equal(judge_answer(with_id, head, "{\"id\":\"7\",\"other\":\"6\"}").duplicate, "6");
    assert_string_equal(judge_answer(with_id, head, "{\"id\":\"7\",\"other\":null}").duplicate, "");
    assert_string_equal(judge_answer(with_id, head, "{\"id\":\"7\",\"other\":{}}").duplicate, "");
    assert_string_equal(judge_answer(with_id, head, "{\"other\":\"6\"}").duplicate, "");
}

static void what_is_no_success(void **state)
{
    (void)state;
    static const struct line lines[] = {
        {200, "{\"errors\":[\"title is too long\"]}", EV_NO_ID, RS_NO_ID, NULL},
        {200, "<html><body>Please log in</body></html>", EV_UNKNOWN, RS_BAD_ANSWER, NULL},
        {201, "{\"id\":\"7", EV_UNKNOWN, RS_BAD_ANSWER, NULL},
        {201, "\x1f\x8b\x08 no text at all", EV_UNKNOWN, RS_BAD_ANSWER, NULL},
        {200, "{\"id\":\"\"}", EV_NO_ID, RS_NO_ID, NULL},
        {200, "{\"id\":null}", EV_NO_ID, RS_NO_ID, NULL},
        {200, "{\"id\":false}", EV_NO_ID, RS_NO_ID, NULL},
        {200, "{\"id\":[\"7\"]}", EV_NO_ID, RS_NO_ID, NULL},
        {200, "{\"id\":{\"id\":\"7\"}}", EV_NO_ID, RS_NO_ID, NULL},
        {200, "{\"id\":\"a\\nb\"}", EV_NO_ID, RS_NO_ID, NULL},
        {200, "{\"id\":\"a\\u007fb\"}", EV_NO_ID, RS_NO_ID, NULL},
        {200, "{\"id\":\"a\\u0085b\"}", EV_NO_ID, RS_NO_ID, NULL},
        {200, "{\"id\":\"a\\u0000b\"}", EV_NO_ID, RS_NO_ID, NULL},
        {200, "{\"id\":\"  \"}", EV_NO_ID, RS_NO_ID, NULL},
        {200, "{\"id\":1.5}", EV_NO_ID, RS_NO_ID, NULL},
        {200, "[]", EV_NO_ID, RS_NO_ID, NULL}, /* the program for the id fails */
        {200, "{\"id\":7}", EV_COMMITTED, RS_NONE, "7"},
        {200, "{\"id\":117100000000000001}", EV_COMMITTED, RS_NONE, "117100000000000001"},
        {200, "{\"id\":\"at://did:plc:x/app.bsky.feed.post/3k\"}", EV_COMMITTED, RS_NONE,
         "at://did:plc:x/app.bsky.feed.post/3k"},
        {400, "", EV_UNKNOWN, RS_BAD_ANSWER, NULL},
        {400, "<html>Bad Request</html>", EV_UNKNOWN, RS_BAD_ANSWER, NULL},
        {422, "<html>", EV_UNKNOWN, RS_BAD_ANSWER, NULL},
        {500, "<html>", EV_UNKNOWN, RS_NO_ANSWER, NULL},
    };
    check_lines(with_id, lines, sizeof lines / sizeof lines[0]);
    char body[1024] = "{\"id\":\"";
    memset(body + 7, 'x', 513);
    memcpy(body + 7 + 513, "\"}", 3);
    assert_int_equal(judge_answer(with_id, "HTTP/1.1 200 X", body).kind, EV_NO_ID);
    memcpy(body + 7 + 512, "\"}", 3);
    assert_int_equal(judge_answer(with_id, "HTTP/1.1 200 X", body).kind, EV_COMMITTED);
}

static void a_platform_without_ids(void **state)
{
    (void)state;
    static const struct line lines[] = {{200, "", EV_COMMITTED, RS_NONE, NULL},
                                        {200, " ok", EV_COMMITTED, RS_NONE, NULL},
                                        {202, "", EV_COMMITTED, RS_NONE, NULL},
                                        {204, "", EV_COMMITTED, RS_NONE, NULL},
                                        {200, "<html>", EV_COMMITTED, RS_NONE, NULL},
                                        {207, "{\"failed\":0}", EV_COMMITTED, RS_NONE, NULL},
                                        {207, "{\"failed\":1}", EV_UNKNOWN, RS_BAD_ANSWER, NULL},
                                        {400, "", EV_REFUSED, RS_NONE, NULL},
                                        {422, "<html>", EV_REFUSED, RS_NONE, NULL},
                                        {403, "", EV_CREDENTIAL, RS_NONE, NULL},
                                        {429, "", EV_WAIT, RS_NONE, NULL},
                                        {503, "", EV_UNKNOWN, RS_NO_ANSWER, NULL}};
    check_lines(without_id, lines, sizeof lines / sizeof lines[0]);
}

/* What the transfer says comes before what the status says. */
static void the_transfer_before_the_status(void **state)
{
    (void)state;
    static const char *const heads[] = {"",
                                        "HTTP/1.1 200 OK",
                                        "HTTP/1.1 201 X",
                                        "HTTP/1.1 400 X",
                                        "HTTP/1.1 404 X",
                                        "HTTP/1.1 429 X",
                                        "HTTP/1.1 500 X"};
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        struct given g = {.descriptor = with_id,
                          .head = heads[i],
                          .body = "{\"id\":\"7\"}",
                          .facts = {.error = "transfer closed with 36 bytes remaining"}};
        assert_int_equal(judge(g).kind, EV_NOT_SENT);
        g.facts.reached = true;
        struct outcome out = judge(g);
        assert_int_equal(out.kind, EV_UNKNOWN);
        assert_int_equal(out.reason, RS_NO_ANSWER);
        assert_string_equal(out.detail, "transfer closed with 36 bytes remaining: {\"id\":\"7\"}");
        g.facts.head_cut = true;
        assert_int_equal(judge(g).kind, EV_UNKNOWN);
        g.facts = (struct transfer_facts){.reached = true, .resend_stopped = true};
        assert_int_equal(judge(g).kind, EV_UNKNOWN);
    }
}

/* A body that was cut: the status decides as far as it can, and no rule that looks into the body does. */
static void a_body_that_was_cut(void **state)
{
    (void)state;
    static const struct {
        bool gives_id;
        const char *head;
        enum delivery_event kind;
    } cases[] = {
        {true, "HTTP/1.1 200 OK", EV_UNKNOWN},   {true, "HTTP/1.1 202 OK", EV_UNKNOWN},
        {true, "HTTP/1.1 400 X", EV_UNKNOWN},    {true, "HTTP/1.1 422 X", EV_UNKNOWN},
        {true, "HTTP/1.1 404 X", EV_REFUSED},    {true, "HTTP/1.1 413 X", EV_REFUSED},
        {true, "HTTP/1.1 429 X", EV_WAIT},       {true, "HTTP/1.1 500 X", EV_UNKNOWN},
        {true, "HTTP/1.1 401 X", EV_CREDENTIAL}, {false, "HTTP/1.1 200 X", EV_COMMITTED},
        {false, "HTTP/1.1 207 X", EV_UNKNOWN},   {false, "HTTP/1.1 204 X", EV_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct given g = {.descriptor = cases[i].gives_id ? with_id : without_id,
                          .head = cases[i].head,
                          .body = "{\"id\":\"7\", \"failed\":0, \"error\":\"TooLong",
                          .facts = {.reached = true, .body_cut = true}};
        assert_int_equal(judge(g).kind, cases[i].kind);
    }
}

#define SURFACE(state, kind)                                                                                           \
    "{\"error\":{\"code\":\"x\",\"retry\":{\"kind\":\"" kind                                                           \
    "\",\"after_seconds\":7}},\"meta\":{\"commit_state\":\"" state "\"},\"id\":\"5\"}"
#define ROW(state, e1, e2, e3, e4, e5, reason, id)                                                                     \
    {500, SURFACE(state, "retry_identical"), e1, reason, id},                                                          \
        {500, SURFACE(state, "wait_then_retry"), e2, reason, id},                                                      \
        {500, SURFACE(state, "fix_request"), e3, reason, id},                                                          \
        {500, SURFACE(state, "provide_credential"), e4, reason, id},                                                   \
    {                                                                                                                  \
        500, SURFACE(state, "none"), e5, reason, id                                                                    \
    }

static void an_answer_that_states_its_commit(void **state)
{
    (void)state;
    static const struct line lines[] = {
        ROW("not_committed", EV_NOT_COMMITTED, EV_WAIT, EV_REFUSED, EV_CREDENTIAL, EV_REFUSED, RS_NONE, NULL),
        ROW("unknown", EV_UNKNOWN, EV_UNKNOWN, EV_UNKNOWN, EV_UNKNOWN, EV_UNKNOWN, RS_NO_ANSWER, NULL),
        ROW("committed", EV_COMMITTED, EV_COMMITTED, EV_COMMITTED, EV_COMMITTED, EV_COMMITTED, RS_NONE, "5"),
        /* words that nobody knows are unknown and none */
        ROW("perhaps", EV_UNKNOWN, EV_UNKNOWN, EV_UNKNOWN, EV_UNKNOWN, EV_UNKNOWN, RS_NO_ANSWER, NULL),
        {500, SURFACE("not_committed", "later"), EV_REFUSED, RS_NONE, NULL},
        /* it wins over the table */
        {404, SURFACE("unknown", "fix_request"), EV_UNKNOWN, RS_NO_ANSWER, NULL},
        {429, SURFACE("unknown", "wait_then_retry"), EV_UNKNOWN, RS_NO_ANSWER, NULL},
        {409, SURFACE("not_committed", "retry_identical"), EV_NOT_COMMITTED, RS_NONE, NULL},
        /* one half of it is missing */
        {404, "{\"error\":{\"retry\":{\"kind\":\"fix_request\"}}}", EV_UNKNOWN, RS_NO_ANSWER, NULL},
        {500, "{\"meta\":{\"commit_state\":\"not_committed\"}}", EV_REFUSED, RS_NONE, NULL},
        {500, "{\"meta\":{\"commit_state\":\"committed\"}}", EV_NO_ID, RS_NO_ID, NULL},
        /* of another shape */
        {500, "{\"meta\":{\"commit_state\":7},\"error\":{\"retry\":{\"kind\":[]}}}", EV_UNKNOWN, RS_NO_ANSWER, NULL},
        {404, "{\"meta\":[],\"error\":\"retry\"}", EV_REFUSED, RS_NONE, NULL},
        {404, "{\"meta\":{\"commit_state\":null}}", EV_UNKNOWN, RS_NO_ANSWER, NULL},
    };
    check_lines(with_id, lines, sizeof lines / sizeof lines[0]);
    assert_int_equal(judge_answer(with_id, "HTTP/1.1 500 X", SURFACE("not_committed", "wait_then_retry")).wait_ms,
                     7000);
    assert_int_equal(judge_answer(without_id, "HTTP/1.1 500 X", "{\"meta\":{\"commit_state\":\"committed\"}}").kind,
                     EV_COMMITTED);
    static const char *const waits[] = {"-5", "0", "1e300", "\"7\"", "null", "[]"};
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        char body[256];
        snprintf(body, sizeof body,
                 "{\"error\":{\"retry\":{\"kind\":\"wait_then_retry\",\"after_seconds\":%s}},\"meta\":{\"commit_"
                 "state\":\"not_committed\"}}",
                 waits[i]);
        struct outcome out = judge_answer(with_id, "HTTP/1.1 500 X", body);
        assert_int_equal(out.kind, EV_WAIT);
        assert_int_equal(out.wait_ms, 0);
    }
}

static void sessions(void **state)
{
    (void)state;
    struct given g = {
        .descriptor = with_id, .head = "HTTP/1.1 401 X", .body = "{}", .facts = {.reached = true, .complete = true}};
    assert_false(judge(g).session_expired);
    g.context.session = true;
    assert_true(judge(g).session_expired);
    g.head = "HTTP/1.1 403 X";
    assert_false(judge(g).session_expired);
}

static void what_people_read(void **state)
{
    (void)state;
    struct outcome out = judge_answer(with_id, "HTTP/1.1 404 X", "line\none\x1b[31m\xff\xc3\xa4\xe2\x80\xae end");
    assert_string_equal(out.detail, "line one [31m \xc3\xa4 end");
    out = judge_answer(with_id, "HTTP/1.1 308 X\nLocation: https://other.example/a?token=verysecret", "");
    assert_string_equal(out.detail, "redirects to https://other.example/a");
    struct secret *secret = secret_new("hunter2hunter2", 14);
    out = judge_answer(with_id, "HTTP/1.1 404 X", "you sent hunter2hunter2, which is wrong");
    assert_string_equal(out.detail, "you sent ***, which is wrong");
    out = judge_answer(with_id, "HTTP/1.1 308 X\nLocation: https://other.example/hunter2hunter2/x", "");
    assert_string_equal(out.detail, "redirects to https://other.example/***/x");
    secret_free(&secret);
    char *body = calloc(1, 100001);
    memset(body, 0xff, 100000);
    judge_answer(with_id, "HTTP/1.1 404 X", body);
    for (size_t i = 0; i + 1 < 100000; i += 2)
        memcpy(body + i, "\xc3\xa4", 2);
    out = judge_answer(with_id, "HTTP/1.1 404 X", body);
    assert_int_equal(strlen(out.detail), 510);
    free(body);
}

static void addresses(void **state)
{
    (void)state;
    static const struct {
        const char *given, *kept;
    } cases[] = {
        {"\"https://m.example/@lf/1\"", "https://m.example/@lf/1"},
        {"\"http://m.example/1\"", "http://m.example/1"},
        {"\"javascript:alert(1)\"", ""},
        {"\"https://m.example/a b\"", ""},
        {"\"https://m.example/\\u000a\"", ""},
        {"7", ""},
        {"null", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[256];
        snprintf(body, sizeof body, "{\"id\":\"7\",\"url\":%s}", cases[i].given);
        struct outcome out = judge_answer(with_id, "HTTP/1.1 200 X", body);
        assert_int_equal(out.kind, EV_COMMITTED);
        assert_string_equal(out.url, cases[i].kept);
    }
}

static void another_text_than_was_sent(void **state)
{
    (void)state;
    static const struct {
        const char *shown;
        bool changed;
    } cases[] = {
        {"{\"text\":\"Hello  w\xc3\xb6rld &co https://ex.test/a?x=1&y=2\"}", false},
        {"{\"html\":\"<p>Hello wo\xcc\x88rld &amp;co <a href='https://ex.test/a?x=1&amp;y=2'><span>https://</span>"
         "<span>ex.test/a?x=1&amp;y=2</span></a></p>\"}",
         false},
        {"{\"text\":\"Hello w\xc3\xb6rld\"}", true},
        {"{\"html\":\"<p>Hello w\xc3\xb6rld &amp;c</p>\"}", true},
        {"{\"text\":\"\"}", false},
        {"{\"text\":null,\"html\":7}", false},
        {"\"Hello\"", false},
        {"null", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[512];
        json_t *input = json_pack("{s:s}", "text", "Hello w\xc3\xb6rld &co https://ex.test/a?x=1&y=2");
        struct program_input *seen = program_input_new(input);
        snprintf(body, sizeof body, "{\"id\":\"7\",\"shown\":%s}", cases[i].shown);
        struct outcome out = judge((struct given){.descriptor = with_id,
                                                  .head = "HTTP/1.1 200 X",
                                                  .body = body,
                                                  .facts = {.reached = true, .complete = true},
                                                  .context = {.input = seen}});
        assert_int_equal(out.kind, EV_COMMITTED);
        if (out.changed != cases[i].changed) fail_msg("%s: changed is %d", cases[i].shown, out.changed);
        program_input_free(&seen);
        json_decref(input);
    }
    assert_false(judge_answer(with_id, "HTTP/1.1 200 X", "{\"id\":\"7\",\"shown\":{\"text\":\"x\"}}").changed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table),
        cmocka_unit_test(the_rules),
        cmocka_unit_test(a_second_post),
        cmocka_unit_test(what_is_no_success),
        cmocka_unit_test(a_platform_without_ids),
        cmocka_unit_test(the_transfer_before_the_status),
        cmocka_unit_test(a_body_that_was_cut),
        cmocka_unit_test(an_answer_that_states_its_commit),
        cmocka_unit_test(sessions),
        cmocka_unit_test(what_people_read),
        cmocka_unit_test(addresses),
        cmocka_unit_test(another_text_than_was_sent),
    };
    return cmocka_run_group_tests(tests, load_all, free_all);
}
