/* SPDX-License-Identifier: MIT */
/* What every test of cli/ includes: cmocka with the headers that it wants before it, and a file of given bytes. */
#ifndef LANDFALL_TESTS_UNIT_CLI_TEST_H
#define LANDFALL_TESTS_UNIT_CLI_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static inline void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("\"%s\" does not contain \"%s\"", text, part);
}

/* A new file with these bytes; the caller unlinks it. */
static inline void bytes_file(const void *bytes, size_t len, char path[32])
{
    snprintf(path, 32, "/tmp/landfall-cli-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

#endif
