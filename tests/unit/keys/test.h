/* SPDX-License-Identifier: MIT */
/* What every test of keys/ includes: cmocka with the headers that it wants before it. */
#ifndef LANDFALL_TESTS_UNIT_KEYS_TEST_H
#define LANDFALL_TESTS_UNIT_KEYS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Every error text is one line of printable ASCII: whatever came from outside stands in it escaped. */
static inline void assert_clean_text(const char *text)
{
    assert_true(text[0] != '\0');
    for (const char *c = text; *c; c++)
        assert_true(*c >= 0x20 && *c < 0x7f);
}

/* Fails with both texts if part is not in text. */
static inline void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("\"%s\" does not contain \"%s\"", text, part);
}

#endif
