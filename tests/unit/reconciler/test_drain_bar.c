/* SPDX-License-Identifier: MIT */
/* What a person sees of a drain's progress, and how often. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "reconciler/drain_bar.h"

static void test_text(void **state)
{
    (void)state;
    char text[DRAIN_BAR_TEXT_BYTES], name[300];
    const struct drain_bar bar = {.started_boot_ms = 1000};
    const struct drain_progress none = {.total = 400}, some = {120, 400, "blog/main", 7};
    assert_string_equal(drain_bar_text(&bar, &none, 1000, text), "0 of 400 done, 0.0 a second");
    assert_string_equal(drain_bar_text(&bar, &some, 11000, text), "120 of 400 done, 12.0 a second; blog/main: page 7");
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    const struct drain_progress most = {SIZE_MAX, SIZE_MAX, name, INT32_MAX};
    assert_true(strlen(drain_bar_text(&bar, &most, 1001, text)) < DRAIN_BAR_TEXT_BYTES);
}

static void test_how_often(void **state)
{
    (void)state;
    struct drain_bar terminal = {.terminal = true}, plain = {.next_boot_ms = 10000};
    assert_true(drain_bar_is_due(&terminal, 0));
    assert_false(drain_bar_is_due(&terminal, 199));
    assert_true(drain_bar_is_due(&terminal, 200));
    assert_false(drain_bar_is_due(&plain, 9999));
    assert_true(drain_bar_is_due(&plain, 10000));
    assert_false(drain_bar_is_due(&plain, 19999));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text), cmocka_unit_test(test_how_often)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
