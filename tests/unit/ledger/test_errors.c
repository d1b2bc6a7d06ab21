/* SPDX-License-Identifier: MIT */
#include "ledger/errors.h"
#include "test.h"

static void every_word_has_its_action(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum errors_action action;
    } cases[] = {
        {"NOSCRIPT No matching script. Please use EVAL.", ERRORS_LOAD},
        {"READONLY You can't write against a read only replica.", ERRORS_RECONNECT},
        {"ERR Error running script (call to f_1): @user_script:1: -READONLY You can't write", ERRORS_RECONNECT},
        {"ERR Error running script: NOSCRIPT No matching script", ERRORS_LOAD},
        {"NOAUTH Authentication required.", ERRORS_RECONNECT},
        {"WRONGPASS invalid username-password pair or user is disabled.", ERRORS_RECONNECT},
        {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", ERRORS_RECONNECT},
        {"MOVED 3999 127.0.0.1:6381", ERRORS_RECONNECT},
        {"UNBLOCKED force unblock from blocking operation, instance state changed", ERRORS_RECONNECT},
        {"LOADING Redis is loading the dataset in memory", ERRORS_WAIT},
        {"BUSY Redis is busy running a script.", ERRORS_WAIT},
        {"MISCONF Redis is configured to save RDB snapshots", ERRORS_WAIT},
        {"OOM command not allowed when used memory > 'maxmemory'.", ERRORS_WAIT},
        {"TRYAGAIN Multiple keys request during rehashing of slot", ERRORS_WAIT},
        {"CLUSTERDOWN Hash slot not served", ERRORS_WAIT},
        {"NOREPLICAS Not enough good replicas to write.", ERRORS_WAIT},
        {"WRONGTYPE Operation against a key holding the wrong kind of value", ERRORS_WAIT},
        {"ERR max number of clients reached", ERRORS_WAIT},
        {"MOVEDX is another word", ERRORS_WAIT},
        {"NOPERM User worker has no permissions to run the 'role' command", ERRORS_RECONNECT},
        {"CROSSSLOT Keys in request don't hash to the same slot", ERRORS_STOP},
        {"SOMETHINGNEW that a later server may say", ERRORS_WAIT},
        {"", ERRORS_WAIT},
        {"lower case", ERRORS_WAIT},
        {"\xff\xfe", ERRORS_WAIT},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (errors_action(cases[i].text) != cases[i].action) fail_msg("%s", cases[i].text);
        assert_true(errors_advice(cases[i].text)[0] != '\0');
    }
}

static void advice_fits_the_text(void **state)
{
    (void)state;
    assert_contains(errors_advice("ERR max number of clients reached"), "maxclients");
    assert_contains(errors_advice("ERR something else"), "server's text");
    assert_contains(errors_advice("OOM command not allowed"), "maxmemory");
}

static void the_word_is_bounded_and_harmless(void **state)
{
    (void)state;
    char word[ERRORS_WORD_BYTES];
    assert_string_equal(errors_word("NOAUTH Authentication required.", word), "NOAUTH");
    assert_string_equal(errors_word("", word), "?");
    assert_string_equal(errors_word("\"%s\"", word), "?");
    char many[200];
    memset(many, 'A', sizeof many - 1);
    many[sizeof many - 1] = '\0';
    assert_int_equal(strlen(errors_word(many, word)), ERRORS_WORD_BYTES - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_word_has_its_action),
        cmocka_unit_test(advice_fits_the_text),
        cmocka_unit_test(the_word_is_bounded_and_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
