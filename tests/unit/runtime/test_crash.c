/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/crash.h"

static const char *const points[] = {"after_claim", "after_answer", NULL};

static bool configure(const char *environment, const char *spec, struct errbuf *err)
{
    memset(err, 0, sizeof *err);
    if (spec == NULL)
        unsetenv("LANDFALL_CRASH_AT");
    else
        setenv("LANDFALL_CRASH_AT", spec, 1);
    return crash_configure(environment, points, err);
}

static void only_in_the_test_environment(void **state)
{
    (void)state;
    struct errbuf err;
    assert_true(configure("production", NULL, &err));
    assert_true(configure("production", "", &err));
    assert_false(configure("production", "after_claim", &err));
    assert_non_null(strstr(err.text, "test"));
    assert_true(configure("test", "after_claim", &err));
}

static void bad_words_are_refused(void **state)
{
    (void)state;
    struct errbuf err;
    const char *bad[] = {"after", "after_claim:", "after_claim:0", "after_claim:-1", "after_claim:2x", "after_claims",
                         ":1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(configure("test", bad[i], &err));
}

/* The signal that ended a child which passes the points in this order, 0 if it lived. */
static int pass_points(const char *spec, const char *const *order)
{
    struct errbuf err;
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        if (!configure("test", spec, &err)) _exit(9);
        for (; *order != NULL; order++)
            crash_point(*order);
        _exit(0);
    }
    assert_int_equal(pid, waitpid(pid, &status, 0));
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void it_kills_at_the_nth_time(void **state)
{
    (void)state;
    const char *const once[] = {"after_claim", "after_answer", NULL};
    const char *const twice[] = {"after_claim", "after_answer", "after_claim", NULL};
    assert_int_equal(SIGKILL, pass_points("after_claim", once));
    assert_int_equal(0, pass_points("after_claim:2", once));
    assert_int_equal(SIGKILL, pass_points("after_claim:2", twice));
    assert_int_equal(0, pass_points("after_claim:3", twice));
    assert_int_equal(0, pass_points("", twice));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_in_the_test_environment),
        cmocka_unit_test(bad_words_are_refused),
        cmocka_unit_test(it_kills_at_the_nth_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
