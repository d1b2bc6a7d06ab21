/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "core/renewal.h"

#define YES true
#define NO  false

static void test_table(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        struct renewal_facts facts;
        enum renewal next;
    } cases[] = {
        {"it holds", {.has_session = YES, .until_ms = 200, .now_ms = 199}, RENEWAL_USE},
        {"its end is not known", {.has_session = YES, .now_ms = 199}, RENEWAL_USE},
        {"it holds, whoever is at it", {.has_session = YES, .locked = YES, .not_before_ms = 500}, RENEWAL_USE},
        {"its time is over", {.has_session = YES, .until_ms = 200, .now_ms = 200, .can_login = YES}, RENEWAL_LOGIN},
        {"there is none", {.can_login = YES}, RENEWAL_LOGIN},
        {"a refresh saves a login", {.can_login = YES, .can_refresh = YES}, RENEWAL_REFRESH},
        {"only a refresh", {.can_refresh = YES}, RENEWAL_REFRESH},
        {"somebody is at it", {.can_login = YES, .can_refresh = YES, .locked = YES}, RENEWAL_LOCKED},
        {"the last one failed", {.can_login = YES, .not_before_ms = 500, .now_ms = 499}, RENEWAL_LATER},
        {"the last refresh failed", {.can_refresh = YES, .not_before_ms = 500, .now_ms = 499}, RENEWAL_LATER},
        {"its wait is over", {.can_login = YES, .not_before_ms = 500, .now_ms = 500}, RENEWAL_LOGIN},
        {"a token that may be spent", {.can_refresh = YES, .refresh_begun = YES}, RENEWAL_PERSON},
        {"the same, and a login", {.can_login = YES, .can_refresh = YES, .refresh_begun = YES}, RENEWAL_LOGIN},
        {"a token that is never spent", {.can_refresh = YES, .refresh_begun = YES, .repeatable = YES}, RENEWAL_REFRESH},
        {"begun by one who is at it", {.can_refresh = YES, .refresh_begun = YES, .locked = YES}, RENEWAL_LOCKED},
        {"nothing to renew it with", {.now_ms = 1}, RENEWAL_PERSON},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (renewal_next(&cases[i].facts) != cases[i].next) fail_msg("%s", cases[i].what);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table)};
    return cmocka_run_group_tests_name("renewal", tests, NULL, NULL);
}
