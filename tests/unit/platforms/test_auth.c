/* SPDX-License-Identifier: MIT */
#include "support.h"

#include <stdio.h>

#include "platforms/auth.h"
#include "platforms/transfer.h"

static struct test_channels channels;

static struct channel *bluesky(void)
{
    return channel_find(channels.set, "bluesky/brand");
}

static int open_channels(void **state)
{
    (void)state;
    setenv("TEST_TOKEN", "app-password", 1);
    setenv("TEST_CLIENT", "client-1", 1);
    test_channels_open(&channels, DESCRIPTORS,
                       json_of("{'bluesky/brand': {'platform': 'bluesky', 'settings': {'identifier': 'brand.example'},"
                               "'credential': {'env': 'TEST_TOKEN'}}, 'forem/me': {'platform': 'forem', 'credential': "
                               "{'env': 'TEST_TOKEN'}}, 'x/brand': {'platform': 'x', 'credentials': {"
                               "'refresh_token': {'env': 'TEST_TOKEN'}, 'client_id': {'env': 'TEST_CLIENT'}}}}"));
    return 0;
}

static int close_channels(void **state)
{
    (void)state;
    test_channels_close(&channels);
    return 0;
}

static void set_answer(struct answer *answer, int status, const char *body)
{
    char line[40];
    answer_clear(answer);
    snprintf(line, sizeof(line), "HTTP/1.1 %d X", status);
    answer_header_line(answer, line, strlen(line));
    for (const char *at = body; *at; at++)
        assert_true(answer_body(answer, *at == '\'' ? "\"" : at, 1));
    answer_finish(answer);
}

static enum auth_took take(int step, int status, const char *body, struct session *session, int64_t *wait_ms)
{
    struct answer answer;
    struct errbuf err = {{0}};
    const struct transfer_facts facts = {.reached = true, .complete = true, .status = status};
    answer_init(&answer, 100000);
    set_answer(&answer, status, body);
    enum auth_took took = auth_take(bluesky(), DESCRIPTOR_WRITE, step, &facts, &answer, 1000, session, wait_ms, &err);
    answer_fini(&answer);
    assert_null(strstr(err.text, "secret-answer"));
    return took;
}

static void test_a_login_and_its_lifetime(void **state)
{
    (void)state;
    struct session session;
    struct errbuf err;
    int64_t wait_ms;
    session_init(&session);
    assert_false(channel_has_session(channel_find(channels.set, "forem/me")));
    assert_true(auth_can_login(bluesky()));
    assert_false(session_is_whole(bluesky(), &session));

    struct form form;
    struct http_request request;
    assert_true(auth_form(bluesky(), DESCRIPTOR_READ, 0, &form, &err));
    struct form_fill fill = {.credentials = &bluesky()->credentials};
    assert_true(form_fill(&form, &fill, &request, &err));
    assert_string_equal(request.body, "{\"identifier\":\"brand.example\",\"password\":\"app-password\"}");
    assert_int_equal(request.header_count, 1); /* no Authorization */
    http_request_fini(&request);
    form_fini(&form);

    assert_int_equal(take(0, 200, "{'accessJwt':'a.b.c','refreshJwt':'r.s'}", &session, &wait_ms), AUTH_TOOK_ALL);
    assert_string_equal(secret_text(session_get(&session, "token")), "a.b.c");
    assert_true(session_is_whole(bluesky(), &session));
    assert_int_equal(session.until_ms, 1000 + 6480000); /* 7200 s, the last tenth left out */
    session_fini(&session);
    assert_null(session_get(&session, "token"));
}

static void test_what_becomes_of_a_login(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *body;
        enum auth_took took;
    } cases[] = {
        {200, "{'accessJwt':''}", AUTH_LOST},
        {200, "{'accessJwt':7}", AUTH_LOST},
        {200, "{}", AUTH_LOST},
        {200, "<html>", AUTH_LOST},
        {200, "{'accessJwt':'a\\nb','refreshJwt':'r'}", AUTH_LOST},
        {200, "'secret-answer'", AUTH_LOST},
        {200, "{'accessJwt':'a'}", AUTH_LOST}, /* not whole */
        {302, "{}", AUTH_FAILED},
        {400, "{}", AUTH_REFUSED},
        {401, "{}", AUTH_REFUSED},
        {403, "{}", AUTH_REFUSED},
        {404, "{}", AUTH_REFUSED},
        {408, "{}", AUTH_FAILED},
        {429, "{}", AUTH_WAIT},
        {500, "{}", AUTH_FAILED},
        {502, "{}", AUTH_LOST},
        {503, "{}", AUTH_FAILED},
        {504, "{}", AUTH_LOST},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct session session;
        int64_t wait_ms;
        session_init(&session);
        if (take(0, cases[i].status, cases[i].body, &session, &wait_ms) != cases[i].took)
            fail_msg("%d %s", cases[i].status, cases[i].body);
        session_fini(&session);
    }
}

static void test_a_login_without_an_answer(void **state)
{
    (void)state;
    struct session session;
    struct answer answer;
    struct errbuf err;
    int64_t wait_ms;
    session_init(&session);
    answer_init(&answer, 100);
    for (int reached = 0; reached <= 1; reached++) {
        const struct transfer_facts facts = {.reached = reached, .error = "gone"};
        assert_int_equal(auth_take(bluesky(), DESCRIPTOR_WRITE, 0, &facts, &answer, 1000, &session, &wait_ms, &err),
                         reached ? AUTH_LOST : AUTH_FAILED);
        assert_has(err.text, "bluesky/brand: the login had no answer: gone");
    }
    answer_fini(&answer);
}

/* A refresh need not bring everything anew. */
static void test_what_a_refresh_does_not_name_stays(void **state)
{
    (void)state;
    struct channel *x = channel_find(channels.set, "x/brand");
    struct session session;
    struct answer answer;
    struct errbuf err;
    struct form form;
    struct http_request request;
    int64_t wait_ms;
    const struct transfer_facts facts = {.reached = true, .complete = true, .status = 200};
    session_init(&session);
    assert_false(auth_can_login(x));
    assert_false(auth_can_refresh(x, &session));
    auth_seed(x, &session);
    assert_true(auth_can_refresh(x, &session) && !session_is_whole(x, &session));
    assert_true(auth_form(x, DESCRIPTOR_READ, AUTH_REFRESH, &form, &err));
    const struct form_fill fill = {.credentials = &x->credentials, .session = &session};
    assert_true(form_fill(&form, &fill, &request, &err));
    assert_has(request.body, "grant_type=refresh_token");
    assert_has(request.body, "refresh_token=app-password");
    http_request_fini(&request);
    form_fini(&form);

    answer_init(&answer, 100000);
    set_answer(&answer, 200, "{'access_token':'at-1','expires_in':100,'token_type':'bearer'}");
    assert_int_equal(auth_take(x, DESCRIPTOR_READ, AUTH_REFRESH, &facts, &answer, 1000, &session, &wait_ms, &err),
                     AUTH_TOOK_ALL);
    assert_string_equal(secret_text(session_get(&session, "token")), "at-1");
    assert_string_equal(secret_text(session_get(&session, "refresh_token")), "app-password");
    assert_int_equal(session.until_ms, 1000 + 90000);
    answer_fini(&answer);
    session_fini(&session);
}

static void test_expired(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *body;
        bool expired;
    } cases[] = {{400, "{'error':'ExpiredToken','message':'Token has expired'}", true},
                 {400, "{'error':'InvalidToken'}", true},
                 {401, "{'error':'ExpiredToken'}", true},
                 {400, "{'error':'InvalidRequest'}", false},
                 {200, "{'error':'ExpiredToken'}", false},
                 {400, "<html>", false},
                 {500, "", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        for (enum descriptor_half half = 0; half < DESCRIPTOR_HALVES; half++) {
            struct answer answer;
            struct errbuf err;
            bool expired;
            answer_init(&answer, 1000);
            set_answer(&answer, cases[i].status, cases[i].body);
            if (!auth_expired(bluesky(), half, &answer, &expired, &err)) fail_msg("%s", err.text);
            if (expired != cases[i].expired) fail_msg("%d %s", cases[i].status, cases[i].body);
            answer_fini(&answer);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_login_and_its_lifetime),
        cmocka_unit_test(test_what_becomes_of_a_login),
        cmocka_unit_test(test_a_login_without_an_answer),
        cmocka_unit_test(test_what_a_refresh_does_not_name_stays),
        cmocka_unit_test(test_expired),
    };
    return cmocka_run_group_tests_name("auth", tests, open_channels, close_channels);
}
