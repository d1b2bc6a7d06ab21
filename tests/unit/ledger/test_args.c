/* SPDX-License-Identifier: MIT */
/* Arguments that are made here: numbers to the last digit, and texts that stay where they are. */
#include <inttypes.h>
#include <stdio.h>

#include "ledger/args.h"
#include "tests/unit/ledger/test.h"

static void numbers_are_written_as_printf_does(void **state)
{
    static const int64_t numbers[] = {0,  1,         9,         10,  -1, -10, 1795992427638, 9007199254740993,
                                      99, INT64_MAX, INT64_MIN, 100, 7};
    struct args args;
    (void)state;
    args_init(&args);
    for (size_t round = 0; round < 1000; round++) /* more than one piece of memory holds */
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            args_number(&args, numbers[i]);
    for (size_t i = 0; i < args.count; i++) {
        char text[32];
        int len = snprintf(text, sizeof text, "%" PRId64, numbers[i % (sizeof numbers / sizeof *numbers)]);
        assert_int_equal(args.bytes[i], len);
        assert_memory_equal(args.value[i], text, (size_t)len);
    }
    args_fini(&args);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_are_written_as_printf_does)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
