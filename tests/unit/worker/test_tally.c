/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "worker/tally.h"

static void a_delivery_counts_where_it_stood_last(void **state)
{
    (void)state;
    struct tally t;
    tally_init(&t, true);
    tally_note(&t, "a/b/1", DS_APPROVED);
    tally_note(&t, "a/b/1", DS_APPROVED);
    assert_int_equal(3, tally_exit_code(&t));
    tally_note(&t, "a/b/1", DS_PUBLISHED);
    assert_int_equal(0, t.state[DS_APPROVED]);
    assert_int_equal(1, t.state[DS_PUBLISHED]);
    assert_int_equal(0, tally_exit_code(&t));
    tally_note(&t, "a/b/2", DS_REJECTED);
    assert_int_equal(4, tally_exit_code(&t));
    tally_fini(&t);
}

static void many_deliveries_are_told_apart(void **state)
{
    (void)state;
    struct tally t;
    char name[32];
    tally_init(&t, true);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 5000; i++) {
            snprintf(name, sizeof name, "a/b/%d", i);
            tally_note(&t, name, round == 0 ? DS_UNCERTAIN : DS_PUBLISHED);
        }
    }
    assert_int_equal(0, t.state[DS_UNCERTAIN]);
    assert_int_equal(5000, t.state[DS_PUBLISHED]);
    tally_fini(&t);
}

static void refused_input_comes_first(void **state)
{
    (void)state;
    struct tally t;
    tally_init(&t, false);
    assert_int_equal(0, tally_exit_code(&t));
    tally_note(&t, "a/b/1", DS_HELD);
    assert_int_equal(3, tally_exit_code(&t));
    t.refused = 1;
    assert_int_equal(1, tally_exit_code(&t));
    tally_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_delivery_counts_where_it_stood_last),
        cmocka_unit_test(many_deliveries_are_told_apart),
        cmocka_unit_test(refused_input_comes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
