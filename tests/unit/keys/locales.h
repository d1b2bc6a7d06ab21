/* SPDX-License-Identifier: MIT */
/*
 * Runs a group of tests in the C locale and in two that break careless code: German writes decimals with a comma,
 * Turkish has another lower case for I. The build makes both (see CMakeLists.txt); where the sources of locales are not
 * installed, one test of the group's name is reported as skipped.
 */
#ifndef LANDFALL_TESTS_UNIT_KEYS_LOCALES_H
#define LANDFALL_TESTS_UNIT_KEYS_LOCALES_H

#include "tests/unit/keys/test.h"

#include <locale.h>

static const char *const locales[] = {"C", "de_DE.UTF-8", "tr_TR.UTF-8"};
static const char *const decimal_points[] = {".", ",", ","};

static void test_locale_is_missing(void **state)
{
    (void)state;
    skip();
}

#define RUN_IN_ALL_LOCALES(tests) run_in_all_locales(tests, COUNT(tests))
static inline int run_in_all_locales(const struct CMUnitTest *tests, size_t count)
{
    const struct CMUnitTest missing[] = {cmocka_unit_test(test_locale_is_missing)};
    int failed = 0;

    for (size_t i = 0; i < COUNT(locales); i++) {
        if (!setlocale(LC_ALL, locales[i])) {
            failed += _cmocka_run_group_tests(locales[i], missing, COUNT(missing), NULL, NULL);
            continue;
        }
        if (strcmp(localeconv()->decimal_point, decimal_points[i]) != 0) abort();
        failed += _cmocka_run_group_tests(locales[i], tests, count, NULL, NULL);
    }
    return failed;
}

#endif
