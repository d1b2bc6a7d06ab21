/* SPDX-License-Identifier: MIT */
#include "ledger/row.h"
#include "test.h"

static struct row_field field(const char *name, const char *value)
{
    return (struct row_field){name, strlen(name), value, strlen(value)};
}

static void a_whole_row(void **state)
{
    (void)state;
    const struct row_field fields[] = {
        field("state", "uncertain"),
        field("reason", "no_answer"),
        field("since", "1795990610859"),
        field("rev", "7"),
        field("attempt", "2"),
        field("tries", "1"),
        field("token", "9f2c01d45e6a7b80"),
        field("commit_by", "1795990700859"),
        field("in_doubt", "1:9f2c01d4 2:77e0a1b2"),
        field("waived", "1"),
        field("misses", "1"),
        field("gen", "3"),
        field("ext_id", "42"),
        field("key", "lf-a-b"),
        field("status", "503"),
        field("source", "replay"),
        field("journal", "1795990610859-0"),
        field("a_later_versions_field", "\xff"),
    };
    struct row row;
    struct errbuf err;
    assert_true(row_parse(fields, COUNT(fields), &row, &err));
    assert_int_equal(row.core.state, DS_UNCERTAIN);
    assert_int_equal(row.core.reason, RS_NO_ANSWER);
    assert_int_equal(row.core.since_ms, 1795990610859);
    assert_int_equal(row.core.rev, 7);
    assert_int_equal(row.core.attempt, 2);
    assert_int_equal(row.core.generation, 3);
    assert_int_equal(row.core.doubt.count, 2);
    assert_true(row.core.waived);
    assert_string_equal(row.core.token, "9f2c01d45e6a7b80");
    assert_string_equal(row.core.ext_id, "42");
    assert_string_equal(row.journal, "1795990610859-0");
    assert_int_equal(row.status, 503);
    assert_int_equal(row.source, SRC_REPLAY);
}

static void no_fields_is_no_row(void **state)
{
    (void)state;
    struct row row;
    struct errbuf err;
    assert_true(row_parse(NULL, 0, &row, &err));
    assert_int_equal(row.core.state, DS_NONE);
}

static void what_cannot_be_read_is_named_and_nothing_is_concluded(void **state)
{
    (void)state;
    static const char long_token[] = "0123456789012345678901234567890123456789";
    const struct row_field bad[] = {
        field("state", "sent"),
        field("state", ""),
        field("state", "none"),
        field("attempt", "two"),
        field("attempt", "-1"),
        field("attempt", ""),
        field("attempt", "1 "),
        field("attempt", "99999999999"),
        field("since", "1795990610859.5"),
        field("since", "1234567890123456"),
        field("token", long_token),
        field("in_doubt", " "),
        field("in_doubt", "1:a  2:b"),
        {"rev", 3, "1\0002", 3},
        {"ext_id", 6, "a\0b", 3},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        const struct row_field fields[] = {field("state", "approved"), bad[i]};
        struct row row;
        struct errbuf err = {""};
        if (row_parse(fields, 2, &row, &err)) fail_msg("%s=%s was taken", bad[i].name, bad[i].value);
        assert_contains(err.text, bad[i].name);
        assert_int_equal(row.core.state, DS_NONE);
    }
}

static void a_row_without_a_state_is_unreadable(void **state)
{
    (void)state;
    const struct row_field fields[] = {field("attempt", "1")};
    struct row row;
    struct errbuf err;
    assert_false(row_parse(fields, 1, &row, &err));
    assert_contains(err.text, "no state");
}

static void the_value_in_an_error_is_harmless(void **state)
{
    (void)state;
    const struct row_field fields[] = {field("state", "%n%s\n\x1b[31m0123456789012345678901234567890123456789")};
    struct row row;
    struct errbuf err;
    assert_false(row_parse(fields, 1, &row, &err));
    assert_contains(err.text, "%n%s??[31m0123");
}

static void an_unknown_reason_is_left_out(void **state)
{
    (void)state;
    const struct row_field fields[] = {field("state", "held"), field("reason", "a_newer_word")};
    struct row row;
    struct errbuf err;
    assert_true(row_parse(fields, 2, &row, &err));
    assert_int_equal(row.core.reason, RS_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_row),
        cmocka_unit_test(no_fields_is_no_row),
        cmocka_unit_test(what_cannot_be_read_is_named_and_nothing_is_concluded),
        cmocka_unit_test(a_row_without_a_state_is_unreadable),
        cmocka_unit_test(the_value_in_an_error_is_harmless),
        cmocka_unit_test(an_unknown_reason_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
