/* SPDX-License-Identifier: MIT */
#include "cli/companion.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/out.h"
#include "runtime/buf.h"

#define PROGRAM           "landfall-reconciler"
#define READER_TIMEOUT    "600" /* seconds: longer than any account that is worth reading before a decision */
#define READER_SAID_BYTES ((size_t)64 << 20)

/* The path of PROGRAM in this program's folder. */
static bool beside(char *path, size_t size)
{
    ssize_t len = readlink("/proc/self/exe", path, size);
    if (len <= 0 || (size_t)len >= size) return false;
    path[len] = '\0';
    char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash + 1 - path) : 0;
    if (folder == 0 || folder + sizeof(PROGRAM) > size) return false;
    memcpy(path + folder, PROGRAM, sizeof(PROGRAM));
    return access(path, X_OK) == 0;
}

void companion_exec(const char *argv[])
{
    char path[PATH_MAX];
    argv[0] = PROGRAM;
    if (beside(path, sizeof(path)))
        execv(path, (char *const *)argv);
    else
        execvp(PROGRAM, (char *const *)argv);
}

/* ---- a reader */

/* In the child: nothing of the parent's state is to be flushed or freed. Names that come stay in the pipe for the
 * program that it becomes. */
static _Noreturn void wait_and_become(const char *config, const char *ext_id, int fd)
{
    const char *argv[11] = {NULL, "read", "-", "--json", "--timeout", READER_TIMEOUT};
    int argc = 6;
    if (config) {
        argv[argc++] = "--config";
        argv[argc++] = config;
    }
    if (ext_id) {
        argv[argc++] = "--id";
        argv[argc++] = ext_id;
    }
    struct pollfd names = {.fd = fd, .events = POLLIN};
    char first;
    while (poll(&names, 1, -1) < 0 && errno == EINTR) {
    }
    if (recv(fd, &first, 1, MSG_PEEK) != 1) _exit(0);
    if (dup2(fd, STDIN_FILENO) < 0 || dup2(fd, STDOUT_FILENO) < 0) _exit(1);
    companion_exec(argv);
    out_line(stderr, "landfall: " PROGRAM ": %s; it belongs beside landfall or in $PATH", strerror(errno));
    _exit(1);
}

bool reader_open(const char *config, const char *ext_id, struct reader *reader, struct errbuf *err)
{
    int ends[2];
    *reader = (struct reader){0};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return errbuf_set(err, "socketpair: %s", strerror(errno));
    const pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        wait_and_become(config, ext_id, ends[1]);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return errbuf_set(err, "fork: %s", strerror(errno));
    }
    *reader = (struct reader){pid, ends[0]};
    return true;
}

static bool send_names(int fd, const char *const *names, size_t count)
{
    struct buf text;
    buf_init(&text, READER_SAID_BYTES);
    for (size_t i = 0; i < count; i++)
        buf_append_format(&text, "%s\n", names[i]);
    const char *at = buf_text(&text), *end = at + text.len;
    while (at < end) {
        const ssize_t sent = send(fd, at, (size_t)(end - at), MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) break;
        if (sent > 0) at += sent;
    }
    const bool all = at == end && shutdown(fd, SHUT_WR) == 0;
    buf_fini(&text);
    return all;
}

static void read_all(int fd, struct buf *said)
{
    char bytes[16384];
    ssize_t got;
    while ((got = read(fd, bytes, sizeof(bytes))) != 0) {
        if (got < 0 && errno != EINTR) return;
        if (got > 0) buf_append(said, bytes, (size_t)got);
    }
}

/* A line that is no reading is passed over. */
static void take_line(const char *line, size_t len, json_t *readings)
{
    json_t *one = json_loadb(line, len, 0, NULL);
    const char *name = json_string_value(json_object_get(one, "delivery"));
    if (name) out_set(readings, name, json_incref(one));
    json_decref(one);
}

bool reader_ask(struct reader *reader, const char *const *names, size_t count, json_t **readings, struct errbuf *err)
{
    struct buf said;
    buf_init(&said, READER_SAID_BYTES);
    *readings = json_object();
    if (send_names(reader->fd, names, count)) read_all(reader->fd, &said);
    const char *line = buf_text(&said), *end = line + said.len;
    while (line < end) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        if (!stop) break; /* it was cut off */
        take_line(line, (size_t)(stop - line), *readings);
        line = stop + 1;
    }
    buf_fini(&said);
    reader_close(reader);
    return json_object_size(*readings) > 0 || errbuf_set(err, PROGRAM " read nothing");
}

void reader_close(struct reader *reader)
{
    if (reader->pid == 0) return;
    close(reader->fd);
    (void)kill(reader->pid, SIGTERM);
    while (waitpid(reader->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    *reader = (struct reader){0};
}
