/* SPDX-License-Identifier: MIT */
#include "support.h"

#include <stdio.h>

#include "platforms/auth.h"

static struct test_channels channels;

static struct channel *bluesky(void)
{
    return channel_find(channels.set, "bluesky/brand");
}

static int open_channels(void **state)
{
    (void)state;
    setenv("TEST_TOKEN", "app-password", 1);
    test_channels_open(&channels, DESCRIPTORS,
                       json_of("{'bluesky/brand': {'platform': 'bluesky', 'settings': {'identifier': 'brand.example'},"
                               "'credential': {'env': 'TEST_TOKEN'}}, 'forem/me': {'platform': 'forem', 'credential': "
                               "{'env': 'TEST_TOKEN'}}}"));
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

static bool take(struct session *session, int status, const char *body, int64_t retry_after_ms, int64_t now,
                 struct errbuf *err)
{
    struct answer answer;
    answer_init(&answer, 100000);
    set_answer(&answer, status, body);
    session_login_begun(session);
    bool ok = auth_take_session(bluesky(), DESCRIPTOR_WRITE, &answer, retry_after_ms, now, session, err);
    answer_fini(&answer);
    return ok;
}

static void test_login_and_lifetime(void **state)
{
    (void)state;
    struct session session;
    struct errbuf err;
    session_init(&session);
    assert_int_equal(session_state(channel_find(channels.set, "forem/me"), &session, 0), SESSION_NOT_NEEDED);
    assert_int_equal(session_state(bluesky(), &session, 1000), SESSION_LOGIN);

    struct form form;
    struct http_request request;
    assert_true(auth_login_form(bluesky(), DESCRIPTOR_READ, &form, &err));
    struct form_fill fill = {.credentials = &bluesky()->credentials};
    assert_true(form_fill(&form, &fill, &request, &err));
    assert_string_equal(request.body, "{\"identifier\":\"brand.example\",\"password\":\"app-password\"}");
    assert_int_equal(request.header_count, 1); /* no Authorization */
    http_request_fini(&request);
    form_fini(&form);

    session_login_begun(&session);
    assert_int_equal(session_state(bluesky(), &session, 1000), SESSION_WAIT); /* one login in flight */
    if (!take(&session, 200, "{'accessJwt':'a.b.c','refreshJwt':'r'}", 0, 1000, &err)) fail_msg("%s", err.text);
    assert_string_equal(secret_text(session_get(&session, "token")), "a.b.c");
    assert_null(session_get(&session, "refresh"));
    assert_int_equal(session_state(bluesky(), &session, 1000), SESSION_READY);
    /* 7200 s, the last tenth left out */
    assert_int_equal(session_state(bluesky(), &session, 1000 + 6480000 - 1), SESSION_READY);
    assert_int_equal(session_state(bluesky(), &session, 1000 + 6480000), SESSION_LOGIN);
    session_drop(&session);
    assert_int_equal(session_state(bluesky(), &session, 1000), SESSION_LOGIN);
    session_fini(&session);
}

static void test_failed_logins_wait(void **state)
{
    (void)state;
    static const char *const bad[] = {"{'accessJwt':''}",      "{'accessJwt':7}", "{}",  "[]", "<html>", "",
                                      "{'accessJwt':'a\\nb'}", "'secret-answer'", "null"};
    struct session session;
    struct errbuf err;
    session_init(&session);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        if (take(&session, 200, bad[i], 0, 1000, &err)) fail_msg("%s gave a session", bad[i]);
        assert_has(err.text, "bluesky/brand: the login was answered with status 200 and no token");
        assert_null(strstr(err.text, "secret-answer"));
        assert_int_equal(session.count, 0);
        assert_int_equal(session_state(bluesky(), &session, 1000), SESSION_WAIT);
        assert_true(session.not_before_boot_ms <= 1000 + AUTH_LOGIN_BACKOFF_MAX_MS);
    }
    assert_int_equal(session.failures, sizeof(bad) / sizeof(*bad));
    assert_true(session.not_before_boot_ms >= 1000 + AUTH_LOGIN_BACKOFF_MAX_MS / 2);
    assert_int_equal(session_state(bluesky(), &session, session.not_before_boot_ms), SESSION_LOGIN);

    assert_false(take(&session, 429, "{}", 3600000, 1000, &err)); /* what the platform asks for, if that is longer */
    assert_int_equal(session.not_before_boot_ms, 3601000);
    session_login_begun(&session);
    session_login_failed(&session, 0, 5000);
    assert_false(session.login_in_flight);
    assert_int_equal(session_state(bluesky(), &session, 5000), SESSION_WAIT);
    assert_true(take(&session, 200, "{'accessJwt':'a.b.c'}", 0, 10000000, &err));
    assert_int_equal(session.failures, 0);
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
        cmocka_unit_test(test_login_and_lifetime),
        cmocka_unit_test(test_failed_logins_wait),
        cmocka_unit_test(test_expired),
    };
    return cmocka_run_group_tests_name("auth", tests, open_channels, close_channels);
}
