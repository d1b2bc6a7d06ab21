/* SPDX-License-Identifier: MIT */
/* What every test of runtime/ includes: cmocka with the headers that it wants before it, files of a test, what stderr
 * got. */
#ifndef LANDFALL_TESTS_UNIT_RUNTIME_TEST_H
#define LANDFALL_TESTS_UNIT_RUNTIME_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Fails with both texts if part is not in text. */
static inline void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("\"%s\" does not contain \"%s\"", text, part);
}

static inline void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part)) fail_msg("\"%s\" contains \"%s\"", text, part);
}

/* A file in the test's own folder; the folder is the working directory from enter_folder() to leave_folder(). */
static inline void write_file(const char *path, const char *bytes, size_t len)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

static inline int enter_folder(void **state)
{
    char template[] = "/tmp/landfall-runtime-XXXXXX";
    char *folder = mkdtemp(template);
    if (!folder || chdir(folder) != 0) return -1;
    *state = strdup(folder);
    return 0;
}

static inline int leave_folder(void **state)
{
    char command[256];
    char *folder = *state;
    if (chdir("/") != 0) return -1;
    (void)snprintf(command, sizeof command, "%s", folder);
    free(folder);
    pid_t child = fork();
    if (child == 0) {
        execlp("rm", "rm", "-rf", "--", command, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 0 : -1;
}

/* From capture_start() to capture_end() what is written to stderr goes into a pipe; it must stay below the pipe's 64
 * KiB. */
struct capture {
    int saved;
    int read_end;
    char text[64 * 1024];
};

static inline void capture_start(struct capture *capture)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    capture->saved = dup(STDERR_FILENO);
    assert_true(capture->saved >= 0);
    assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
    close(ends[1]);
    capture->read_end = ends[0];
}

static inline const char *capture_end(struct capture *capture)
{
    size_t len = 0;
    ssize_t got = 0;
    assert_true(dup2(capture->saved, STDERR_FILENO) >= 0);
    close(capture->saved);
    while ((got = read(capture->read_end, capture->text + len, sizeof capture->text - 1 - len)) > 0)
        len += (size_t)got;
    close(capture->read_end);
    capture->text[len] = '\0';
    return capture->text;
}

/* Lines of a text that ends each with a line feed. */
static inline size_t count_lines(const char *text)
{
    size_t lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

#endif
