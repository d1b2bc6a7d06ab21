/* SPDX-License-Identifier: MIT */
#include "support.h"

#include <stdio.h>

#include "platforms/seal.h"

static struct test_channels channels;

static struct channel *named(const char *name)
{
    return channel_find(channels.set, name);
}

static int open_channels(void **state)
{
    (void)state;
    setenv("TEST_A", "password-of-a", 1);
    setenv("TEST_B", "password-of-b", 1);
    test_channels_open(
        &channels, DESCRIPTORS,
        json_of("{'bluesky/a': {'platform': 'bluesky', 'settings': {'identifier': 'a.example'}, 'credential': {'env': "
                "'TEST_A'}}, 'bluesky/other': {'platform': 'bluesky', 'settings': {'identifier': 'a.example'},"
                "'credential': {'env': 'TEST_A'}}, 'bluesky/b': {'platform': 'bluesky', 'settings': {'identifier': "
                "'b.example'}, 'credential': {'env': 'TEST_B'}}}"));
    return 0;
}

static int close_channels(void **state)
{
    (void)state;
    test_channels_close(&channels);
    return 0;
}

static char *sealed_of(const char *channel)
{
    struct session session;
    session_init(&session);
    session_put(&session, "token", secret_new("access-token-1", 14));
    session_put(&session, "refresh_token", secret_new("refresh-token-1", 15));
    session.until_ms = 1795980673123;
    char *text = seal_session(named(channel), &session);
    session_fini(&session);
    return text;
}

static enum seal_opened open_as(const char *channel, const char *text, size_t len)
{
    struct session session;
    session_init(&session);
    enum seal_opened opened = seal_open(named(channel), text, len, &session);
    if (opened == SEAL_OPENED) {
        assert_string_equal(secret_text(session_get(&session, "token")), "access-token-1");
        assert_string_equal(secret_text(session_get(&session, "refresh_token")), "refresh-token-1");
        assert_true(session.until_ms == 1795980673123);
    } else {
        assert_int_equal(session.count, 0);
    }
    session_fini(&session);
    return opened;
}

static void test_there_and_back(void **state)
{
    (void)state;
    char *text = sealed_of("bluesky/a"), *again = sealed_of("bluesky/a");
    assert_int_equal(open_as("bluesky/a", text, strlen(text)), SEAL_OPENED);
    assert_string_not_equal(text, again); /* a nonce of its own */
    assert_null(strstr(text, "token"));
    assert_null(strstr(text, "password"));
    free(text);
    free(again);
}

static void test_of_another_credential_or_channel(void **state)
{
    (void)state;
    char *text = sealed_of("bluesky/a");
    assert_int_equal(open_as("bluesky/b", text, strlen(text)), SEAL_FOREIGN);
    assert_int_equal(open_as("bluesky/other", text, strlen(text)), SEAL_FOREIGN);
    free(text);
}

/* Every byte counts, and every length. */
static void test_changed(void **state)
{
    (void)state;
    char *text = sealed_of("bluesky/a");
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++) {
        char was = text[i];
        text[i] = was == 'A' ? 'B' : 'A';
        assert_int_not_equal(open_as("bluesky/a", text, len), SEAL_OPENED);
        text[i] = was;
        assert_int_not_equal(open_as("bluesky/a", text, i), SEAL_OPENED);
    }
    assert_int_equal(open_as("bluesky/a", text, len), SEAL_OPENED);
    assert_int_equal(open_as("bluesky/a", "", 0), SEAL_DAMAGED);
    assert_int_equal(open_as("bluesky/a", "\xff\0\n", 3), SEAL_DAMAGED);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_of_another_credential_or_channel),
        cmocka_unit_test(test_changed),
    };
    return cmocka_run_group_tests_name("seal", tests, open_channels, close_channels);
}
