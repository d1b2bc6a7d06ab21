/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <signal.h>

#include "runtime/service.h"

static const struct service_program program = {"landfall-test", 41000};

struct fixture {
    struct metrics *metrics;
    struct service service;
};

static bool is_ready(void *context, char *why, size_t why_size)
{
    snprintf(why, why_size, "%s", *(bool *)context ? "all is well" : "it has no bread");
    return *(bool *)context;
}

static int set_up(void **state)
{
    static struct fixture fixture;
    fixture.metrics = metrics_new();
    service_init(&fixture.service, &program, fixture.metrics);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    service_close(&f->service);
    metrics_free(&f->metrics);
    return 0;
}

static void test_where_the_page_may_be(void **state)
{
    struct fixture *f = *state;
    struct errbuf err = {{0}};
    bool fine = true;
    assert_true(service_open_page(&f->service, "off", f->metrics, is_ready, &fine, &err));
    assert_string_equal(f->service.address, "none");
    assert_false(service_open_page(&f->service, "", f->metrics, is_ready, &fine, &err));
    assert_non_null(strstr(err.text, "must be auto, off"));
    assert_true(service_open_page(&f->service, "127.0.0.1:0", f->metrics, is_ready, &fine, &err));
    assert_string_not_equal(f->service.address, "127.0.0.1:0");
    assert_non_null(strstr(f->service.address, "127.0.0.1:"));
}

/* Two signals at once are a stop that does not wait; one while it is stopping too. */
static void test_what_signals_want(void **state)
{
    struct fixture *f = *state;
    struct service *s = &f->service;
    struct service_wanted wanted = service_wanted(s, false);
    assert_false(wanted.stop || wanted.reload || s->stop_at_once);
    raise(SIGHUP);
    raise(SIGTERM);
    wanted = service_wanted(s, false);
    assert_true(wanted.stop && wanted.reload && !s->stop_at_once);
    raise(SIGINT);
    wanted = service_wanted(s, true);
    assert_true(wanted.stop && !wanted.reload && s->stop_at_once);
    s->stop_at_once = false;
    raise(SIGTERM);
    raise(SIGINT);
    (void)service_wanted(s, false);
    assert_true(s->stop_at_once);
}

/* The page is served by the loop alone, so a loop that does not turn is a page that does not answer. */
static void test_nobody_answers_where_no_loop_turns(void **state)
{
    struct fixture *f = *state;
    struct errbuf err = {{0}};
    bool fine = true;
    char says[128], address[SERVICE_ADDRESS_SIZE];
    assert_true(service_open_page(&f->service, "127.0.0.1:0", f->metrics, is_ready, &fine, &err));
    snprintf(address, sizeof(address), "%s", f->service.address);
    assert_int_equal(service_ask(&program, "off", "/live", says, sizeof(says)), SERVICE_NOBODY);
    metrics_http_close(&f->service.http);
    assert_int_equal(service_ask(&program, address, "/live", says, sizeof(says)), SERVICE_NOBODY);
    assert_non_null(strstr(says, "no landfall-test answers"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_where_the_page_may_be, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_signals_want, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nobody_answers_where_no_loop_turns, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
