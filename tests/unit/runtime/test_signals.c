/* SPDX-License-Identifier: MIT */
/* Signals come out of a descriptor, one by one; a second TERM is a second event. */
#include "tests/unit/runtime/test.h"

#include <poll.h>
#include <signal.h>
#include "runtime/signals.h"

static void send(int number)
{
    assert_int_equal(kill(getpid(), number), 0);
}

static void test_signals(void **state)
{
    (void)state;
    int fd = signals_open();
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    assert_int_equal(signals_read(fd), SIGNALS_NONE);
    assert_int_equal(poll(&wait, 1, 0), 0);

    send(SIGTERM);
    assert_int_equal(poll(&wait, 1, 1000), 1);
    assert_int_equal(signals_read(fd), SIGNALS_STOP);
    assert_int_equal(signals_read(fd), SIGNALS_NONE);
    send(SIGTERM);
    assert_int_equal(signals_read(fd), SIGNALS_STOP);

    send(SIGHUP);
    send(SIGINT);
    bool stop = false, reload = false;
    for (enum signals_event event; (event = signals_read(fd)) != SIGNALS_NONE;) {
        stop |= event == SIGNALS_STOP;
        reload |= event == SIGNALS_RELOAD;
    }
    assert_true(stop && reload);
    send(SIGPIPE); /* ends nothing */
    signals_close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_signals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
