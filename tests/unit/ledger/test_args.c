/* SPDX-License-Identifier: MIT */
/* Commands as they go over the wire: numbers to the last digit, any bytes, heads that say what follows. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ledger/args.h"
#include "tests/unit/ledger/test.h"

static void numbers_are_written_as_printf_does(void **state)
{
    static const int64_t numbers[] = {0,  1,         9,         10,  -1, -10, 1795992427638, 9007199254740993,
                                      99, INT64_MAX, INT64_MIN, 100, 7};
    const size_t rounds = 1000, count = sizeof numbers / sizeof *numbers;
    struct args args;
    (void)state;
    args_init(&args);
    args_command(&args, "DEL");
    for (size_t i = 0; i < rounds * count; i++) /* the memory moves meanwhile */
        args_number(&args, numbers[i % count]);
    for (size_t i = 0; i < 3 * count; i++) {
        char text[32];
        size_t bytes;
        int len = snprintf(text, sizeof text, "%" PRId64, numbers[i % count]);
        const char *at = args_at(&args, 0, i + 1, &bytes);
        assert_int_equal(bytes, len);
        assert_memory_equal(at, text, (size_t)len);
    }
    args_fini(&args);
}

static void assert_wire(const struct link_command *command, const char *expected, size_t len)
{
    assert_int_equal(command->len, len);
    assert_memory_equal(command->bytes, expected, len);
}

static void commands_are_arrays_of_strings(void **state)
{
    static const char ping[] = "*1\r\n$4\r\nPING\r\n";
    static const char set[] =
        "*6\r\n$3\r\nSET\r\n$10\r\nlf:{3}:epo\r\n$5\r\na\0\r\nb\r\n$0\r\n\r\n$0\r\n\r\n$12\r\nlf:{3}:epoch\r\n";
    struct args args;
    char err[KEYS_ERR_BYTES], twelve[4096] = {0};
    struct names names;
    (void)state;
    assert_true(names_init(&names, "lf", 3, err));
    args_init(&args);
    for (int again = 0; again < 3; again++) {
        args_clear(&args);
        args_command(&args, "PING");
        args_command(&args, "SET");
        args_joined(&args, "lf:{3}:", "epo");
        args_bytes(&args, "a\0\r\nb", 5);
        args_text(&args, NULL);
        args_bytes(&args, NULL, 0);
        args_key(&args, &names, NAMES_EPOCH, NULL);
        args_command(&args, "DEL");
        for (int i = 0; i < 11; i++)
            args_bytes(&args, twelve, sizeof twelve);
        struct link_command *commands = args_commands(&args);
        assert_int_equal(args.command_count, 3);
        assert_wire(&commands[0], ping, sizeof ping - 1);
        assert_wire(&commands[1], set, sizeof set - 1);
        assert_memory_equal(commands[2].bytes, "*12\r\n$3\r\nDEL\r\n$4096\r\n", 21);
        assert_int_equal(commands[2].len, 5 + 9 + 11 * (7 + sizeof twelve + 2));
        free(commands);
    }
    args_fini(&args);
}

static void arguments_are_found_again(void **state)
{
    struct args args;
    size_t len;
    (void)state;
    args_init(&args);
    args_command(&args, "GET");
    args_bytes(&args, "$1\r\n", 4);
    args_text(&args, "");
    args_command(&args, "PING");
    args_at(&args, 0, 0, &len);
    assert_int_equal(len, 3);
    assert_memory_equal(args_at(&args, 0, 1, &len), "$1\r\n", 4);
    assert_int_equal(len, 4);
    args_at(&args, 0, 2, &len);
    assert_int_equal(len, 0);
    assert_string_equal(args_at(&args, 0, 3, &len), "");
    assert_memory_equal(args_at(&args, 1, 0, &len), "PING", 4);
    assert_string_equal(args_at(&args, 1, 1, &len), "");
    assert_int_equal(len, 0);
    args_fini(&args);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_written_as_printf_does),
        cmocka_unit_test(commands_are_arrays_of_strings),
        cmocka_unit_test(arguments_are_found_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
