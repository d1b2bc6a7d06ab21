/* SPDX-License-Identifier: MIT */
#include "cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/buf.h"
#include "runtime/clock.h"

/* gcc says it by a macro, clang by a feature. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

static void limit(int resource, rlim_t soft, rlim_t hard)
{
    const struct rlimit both = {soft, hard};
    if (setrlimit(resource, &both) != 0) _exit(1);
}

/* In the child. Never returns: nothing of the parent's state is to be flushed or freed twice. */
static _Noreturn void work_and_end(child_work *work, void *context, int fd)
{
    limit(RLIMIT_CORE, 0, 0);
    limit(RLIMIT_CPU, CHILD_CPU_S, CHILD_CPU_S + 1);
    if (!SANITIZED) limit(RLIMIT_AS, CHILD_MEMORY_BYTES, CHILD_MEMORY_BYTES);
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0 || dup2(nowhere, STDERR_FILENO) < 0) _exit(1);
    json_t *result = work(context);
    _exit(result && json_dumpfd(result, fd, JSON_ENCODE_ANY) == 0 ? 0 : 1);
}

/* True at the end of what it writes; false at the time limit or at too much of it. */
static bool read_all(int fd, struct buf *text)
{
    const int64_t end_ms = clock_boottime_ms() + CHILD_LIMIT_MS;
    char bytes[65536];
    for (;;) {
        const int64_t left_ms = end_ms - clock_boottime_ms();
        struct pollfd one = {.fd = fd, .events = POLLIN};
        if (left_ms <= 0 || (poll(&one, 1, (int)left_ms) < 0 && errno != EINTR)) return false;
        if (one.revents == 0) continue;
        const ssize_t got = read(fd, bytes, sizeof(bytes));
        if (got == 0) return true;
        if (got < 0 && errno != EINTR) return false;
        if (got > 0 && !buf_append(text, bytes, (size_t)got)) return false;
    }
}

static bool say_end(int status, struct errbuf *err)
{
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL))
        return errbuf_set(err, "does not come to an end within %d s", CHILD_CPU_S);
    if (WIFSIGNALED(status))
        return errbuf_set(err, "ended by signal %d; it may want more than %zu MiB of memory", WTERMSIG(status),
                          CHILD_MEMORY_BYTES >> 20);
    return errbuf_set(err, "gives no result (exit %d)", WEXITSTATUS(status));
}

static bool collect(pid_t pid, int fd, json_t **result, struct errbuf *err)
{
    struct buf text;
    int status = 0;
    buf_init(&text, CHILD_RESULT_MAX_BYTES);
    const bool whole = read_all(fd, &text);
    if (!whole) (void)kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    bool ok = whole && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (ok) {
        json_error_t error;
        *result = json_loadb(buf_text(&text), text.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
        ok = *result || errbuf_set(err, "gives a result that is no JSON: %s", error.text);
    } else {
        (void)say_end(status, err);
    }
    buf_fini(&text);
    return ok;
}

bool child_run(child_work *work, void *context, json_t **result, struct errbuf *err)
{
    int ends[2];
    *result = NULL;
    if (pipe2(ends, O_CLOEXEC) != 0) return errbuf_set(err, "pipe: %s", strerror(errno));
    const pid_t pid = fork();
    if (pid < 0) {
        errbuf_set(err, "fork: %s", strerror(errno));
        close(ends[0]);
        close(ends[1]);
        return false;
    }
    if (pid == 0) work_and_end(work, context, ends[1]);
    close(ends[1]);
    const bool ok = collect(pid, ends[0], result, err);
    close(ends[0]);
    return ok;
}
