/* SPDX-License-Identifier: MIT */
/* The bounded buffer keeps what fits, says so, and never more; the allocators end the process with one line. */
#include "tests/unit/runtime/test.h"

#include <signal.h>
#include "runtime/buf.h"
#include "runtime/die.h"
#include "runtime/file.h"

static const struct {
    size_t max_bytes;
    const char *first, *second;
    bool kept_first, kept_second;
    const char *text;
} appends[] = {
    {10, "abc", "def", true, true, "abcdef"}, {6, "abc", "def", true, true, "abcdef"},
    {5, "abc", "def", true, false, "abcde"},  {2, "abc", "d", false, false, "ab"},
    {3, "abc", "", true, true, "abc"},        {0, "", "", true, true, ""},
    {0, "a", "", false, false, ""},
};

static void test_appends(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(appends); i++) {
        struct buf buf;
        buf_init(&buf, appends[i].max_bytes);
        assert_int_equal(buf_append_text(&buf, appends[i].first), appends[i].kept_first);
        assert_int_equal(buf_append_text(&buf, appends[i].second), appends[i].kept_second);
        assert_int_equal(buf.cut, !appends[i].kept_second);
        assert_string_equal(buf_text(&buf), appends[i].text);
        assert_int_equal(buf.len, strlen(appends[i].text));
        buf_fini(&buf);
    }
}

static void test_a_short_append_does_not_follow_a_cut_one(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 4);
    assert_true(buf_append_text(&buf, "ab"));
    assert_false(buf_append_text(&buf, "cde"));
    assert_false(buf_append_text(&buf, "x"));
    assert_string_equal(buf_text(&buf), "abcd");
    buf_clear(&buf);
    assert_true(buf_append_text(&buf, "x"));
    assert_string_equal(buf_text(&buf), "x");
    buf_fini(&buf);
}

static void test_growth_and_ownership(void **state)
{
    (void)state;
    struct buf buf;
    size_t len = 0;
    buf_init(&buf, 1000 * 1000);
    for (int i = 0; i < 100000; i++)
        assert_true(buf_append(&buf,
                               "0\0"
                               "23456789",
                               10));
    assert_false(buf_append(&buf, "x", 1));
    char *data = buf_take(&buf, &len);
    assert_int_equal(len, 1000 * 1000);
    assert_memory_equal(data + len - 10,
                        "0\0"
                        "23456789",
                        10);
    assert_int_equal(data[len], 0);
    free(data);
    assert_int_equal(buf.len, 0);
    assert_true(buf_append_text(&buf, "again"));
    buf_fini(&buf);

    data = buf_take(&buf, NULL);
    assert_string_equal(data, "");
    free(data);
}

static void test_formats(void **state)
{
    (void)state;
    struct buf buf;
    char long_text[1000];
    memset(long_text, 'y', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    buf_init(&buf, 600);
    assert_true(buf_append_format(&buf, "%s-%d", "%n%s", 5));
    assert_string_equal(buf_text(&buf), "%n%s-5");
    assert_false(buf_append_format(&buf, "%s", long_text));
    assert_int_equal(buf.len, 600);
    assert_int_equal(buf_text(&buf)[599], 'y');
    buf_fini(&buf);
}

static void test_files(void **state)
{
    (void)state;
    struct buf buf;
    struct errbuf err;
    buf_init(&buf, 8);
    write_file("eight",
               "12345\0"
               "78",
               8);
    write_file("nine", "123456789", 9);
    assert_true(file_read("eight", &buf, &err));
    assert_int_equal(buf.len, 8);
    buf_clear(&buf);
    assert_false(file_read("nine", &buf, &err));
    assert_string_equal(err.text, "nine: larger than 8 bytes, which is the limit for this file");
    assert_false(file_read("none", &buf, &err));
    assert_string_equal(err.text, "none: cannot be opened: No such file or directory");
    assert_false(file_read(".", &buf, &err));
    assert_string_equal(err.text, ".: is not a regular file");
    buf_fini(&buf);
}

static void test_paths(void **state)
{
    (void)state;
    static const struct {
        const char *beside, *path, *seen;
    } paths[] = {
        {"/etc/landfall/landfall.json", "token", "/etc/landfall/token"},
        {"/etc/landfall/landfall.json", "/run/token", "/run/token"},
        {"landfall.json", "token", "token"},
        {"./landfall.json", "a/token", "./a/token"},
        {"/landfall.json", "token", "/token"},
    };
    for (size_t i = 0; i < COUNT(paths); i++) {
        char *seen = file_path_beside(paths[i].beside, paths[i].path);
        assert_string_equal(seen, paths[i].seen);
        free(seen);
    }
}

/* Runs the function in a child with its stderr captured; returns the signal that ended it. */
static int ends_with(void (*function)(void), struct capture *capture)
{
    int status = 0;
    capture_start(capture);
    pid_t child = fork();
    if (child == 0) {
        function();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    capture_end(capture);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void ask_for_too_much(void)
{
    void *none = xrealloc_array(NULL, SIZE_MAX / 2, 4);
    free(none);
}

static void die_with_a_long_text(void)
{
    char text[2000];
    memset(text, 'z', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    die("%s", text);
}

static void test_the_end_is_one_line(void **state)
{
    (void)state;
    static struct capture capture;
    assert_int_equal(ends_with(ask_for_too_much, &capture), SIGABRT);
    assert_contains(capture.text, "landfall: out of memory (asked for ");
    assert_int_equal(count_lines(capture.text), 1);
    assert_int_equal(ends_with(die_with_a_long_text, &capture), SIGABRT);
    assert_int_equal(count_lines(capture.text), 1);
    assert_int_equal(capture.text[strlen(capture.text) - 1], '\n');
}

static void test_allocators(void **state)
{
    (void)state;
    char *copy = xstrndup("ab\0c", 4);
    assert_memory_equal(copy, "ab\0c\0", 5);
    free(copy);
    copy = xformat("%s/%d", "a", 7);
    assert_string_equal(copy, "a/7");
    free(copy);
    int *zeros = xcalloc(4, sizeof *zeros);
    assert_int_equal(zeros[3], 0);
    free(zeros);
    free(xmalloc(0));
    free(xcalloc(0, 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_appends),
        cmocka_unit_test(test_a_short_append_does_not_follow_a_cut_one),
        cmocka_unit_test(test_growth_and_ownership),
        cmocka_unit_test(test_formats),
        cmocka_unit_test_setup_teardown(test_files, enter_folder, leave_folder),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_the_end_is_one_line),
        cmocka_unit_test(test_allocators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
