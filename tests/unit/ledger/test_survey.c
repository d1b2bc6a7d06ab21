/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "ledger/survey_keys.h"

#define NOW INT64_C(1788246000000)

static void test_names_of_keys(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        enum survey_key kind;
        const char *suffix; /* NULL: not looked at */
        int64_t partition;
    } cases[] = {
        {"lf:{2}:delivery:blog/brand/a:b", SURVEY_KEY_ROW, "blog/brand/a:b", 2},
        {"lf:{2}:lease:blog/brand/one", SURVEY_KEY_LEASE, "blog/brand/one", 2},
        {"lf:{2}:agenda", SURVEY_KEY_OTHER, NULL, 2},
        {"lf:{2}:channels", SURVEY_KEY_OTHER, NULL, 2},
        {"lf:{2}:channel:blog/brand", SURVEY_KEY_OTHER, NULL, 2},
        {"lf:{2}:worker:host-12ab", SURVEY_KEY_OTHER, NULL, 2},
        {"lf:{11}:delivery:blog/brand/one", SURVEY_KEY_FOREIGN, NULL, 11},
        {"lf:{2}:delivery:nonsense", SURVEY_KEY_UNKNOWN, NULL, 2},
        {"lf:{2}:channel:nonsense", SURVEY_KEY_UNKNOWN, NULL, 2},
        {"lf:{2}:agenda:more", SURVEY_KEY_UNKNOWN, NULL, 2},
        {"lf:{2}:agendas", SURVEY_KEY_UNKNOWN, NULL, 2},
        {"lf:{2}:worker:", SURVEY_KEY_UNKNOWN, NULL, 2},
        {"lf:{2}:", SURVEY_KEY_UNKNOWN, NULL, 2},
        {"lf:{99999}:agenda", SURVEY_KEY_UNKNOWN, NULL, -1},
        {"lf:{99999999999999999999}:agenda", SURVEY_KEY_UNKNOWN, NULL, -1},
        {"lf:{-1}:agenda", SURVEY_KEY_UNKNOWN, NULL, -1},
        {"lf:{2:agenda", SURVEY_KEY_UNKNOWN, NULL, -1},
        {"lf:cache", SURVEY_KEY_UNKNOWN, NULL, -1},
        {"", SURVEY_KEY_UNKNOWN, NULL, -1},
    };
    struct names names;
    char err[KEYS_ERR_BYTES];
    assert_true(names_init(&names, "lf", 2, err));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *suffix;
        int64_t partition;
        assert_int_equal(survey_key(&names, cases[i].key, &suffix, &partition), cases[i].kind);
        assert_int_equal(partition, cases[i].partition);
        if (cases[i].suffix) assert_string_equal(suffix, cases[i].suffix);
    }
}

/* Every kind of the table of names is known, with a suffix of its kind. */
static void test_every_name_of_ours_is_known(void **state)
{
    (void)state;
    static const char *const suffixes[] = {"", "blog/brand/one", "blog/brand", "host-1"};
    static const char *const kinds[] = {"", "delivery", "channel", "worker"};
    struct names names;
    char err[KEYS_ERR_BYTES], key[NAMES_KEY_BYTES];
    assert_true(names_init(&names, "lf", 0, err));
#define X(symbol, word, suffix_kind)                                                                                   \
    for (size_t i = 0; i < 4; i++) {                                                                                   \
        const char *suffix;                                                                                            \
        int64_t partition;                                                                                             \
        if (strcmp(kinds[i], suffix_kind) != 0) continue;                                                              \
        names_key(&names, NAMES_##symbol, i == 0 ? NULL : suffixes[i], key, sizeof key);                               \
        assert_true(survey_key(&names, key, &suffix, &partition) >= SURVEY_KEY_ROW);                                   \
    }
    NAMES_TABLE(X)
#undef X
}

static void test_faults(void **state)
{
    (void)state;
    static const struct {
        struct survey_row row;
        enum survey_fault fault;
    } cases[] = {
        {{.readable = false}, FAULT_UNREADABLE},
        {{.readable = true, .state = DS_APPROVED}, FAULT_NOWHERE},
        {{.readable = true, .state = DS_APPROVED, .on_agenda = true}, FAULT_NONE},
        {{.readable = true, .state = DS_APPROVED, .waits = true}, FAULT_NONE},
        {{.readable = true, .state = DS_APPROVED, .in_uncertain = true}, FAULT_NOWHERE},
        {{.readable = true, .state = DS_UNCERTAIN, .in_uncertain = true}, FAULT_NONE},
        {{.readable = true, .state = DS_UNCERTAIN, .on_agenda = true}, FAULT_NOWHERE},
        {{.readable = true, .state = DS_CLAIMED, .lease_left_ms = 1}, FAULT_NOWHERE},
        {{.readable = true, .state = DS_CLAIMED, .on_agenda = true, .claimed_at_ms = NOW - 101, .lease_left_ms = -2},
         FAULT_NO_LEASE},
        {{.readable = true, .state = DS_CLAIMED, .on_agenda = true, .claimed_at_ms = NOW - 100, .lease_left_ms = -2},
         FAULT_NONE},
        {{.readable = true, .state = DS_CLAIMED, .on_agenda = true, .claimed_at_ms = NOW - 999, .lease_left_ms = -1},
         FAULT_NONE},
        {{.readable = true, .state = DS_PUBLISHED}, FAULT_NONE},
        {{.readable = true, .state = DS_REJECTED}, FAULT_NONE},
        {{.readable = true, .state = DS_HELD}, FAULT_NONE},
        {{.readable = true, .state = DS_NONE}, FAULT_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(survey_row_fault(&cases[i].row, NOW, 100), cases[i].fault);
}

/* What cannot be read is never called at rest: its place on the agenda stays. */
static void test_rest(void **state)
{
    (void)state;
    for (int s = 0; s < DS_COUNT; s++) {
        const struct survey_row row = {.readable = true, .state = (enum delivery_state)s};
        const struct survey_row unreadable = {.readable = false, .state = (enum delivery_state)s};
        assert_int_equal(survey_row_rests(&row), s != DS_APPROVED && s != DS_CLAIMED);
        assert_false(survey_row_rests(&unreadable));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names_of_keys),
                                       cmocka_unit_test(test_every_name_of_ours_is_known),
                                       cmocka_unit_test(test_faults), cmocka_unit_test(test_rest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
