/* SPDX-License-Identifier: MIT */
#include "runtime/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "runtime/die.h"

static bool read_all(const char *path, int fd, struct buf *buf, struct errbuf *err)
{
    char chunk[16 * 1024];
    ssize_t got = 0;

    while ((got = read(fd, chunk, sizeof chunk)) != 0) {
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return errbuf_set(err, "%s: cannot be read: %s", path, strerror(errno));
        }
        if (!buf_append(buf, chunk, (size_t)got)) {
            return errbuf_set(err, "%s: larger than %zu bytes, which is the limit for this file", path, buf->max_bytes);
        }
    }
    return true;
}

bool file_read(const char *path, struct buf *buf, struct errbuf *err)
{
    struct stat status;
    bool done = false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO without a writer must not hold the process */

    if (fd < 0) {
        return errbuf_set(err, "%s: cannot be opened: %s", path, strerror(errno));
    }
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        errbuf_set(err, "%s: is not a regular file", path);
        goto out;
    }
    done = read_all(path, fd, buf, err);
out:
    close(fd);
    return done;
}

char *file_path_beside(const char *beside, const char *path)
{
    const char *slash = strrchr(beside, '/');
    if (path[0] == '/' || !slash) {
        return xstrdup(path);
    }
    return xformat("%.*s/%s", (int)(slash - beside), beside, path);
}
