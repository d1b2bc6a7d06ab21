/* SPDX-License-Identifier: MIT */
#include "ledger/spool_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/die.h"
#include "runtime/random.h"

#define CREATE_TRIES 10

struct spool_file {
    int fd;
    char *folder, *path;
    int64_t head_bytes; /* of the first line */
    int64_t bytes;      /* of whole lines */
    bool broken;
};

static struct spool_file *file_new(const char *folder, const char *name, int fd)
{
    struct spool_file *file = xcalloc(1, sizeof *file);
    file->fd = fd;
    file->folder = xstrdup(folder);
    file->path = xformat("%s/%s", folder, name);
    return file;
}

void spool_file_leave(struct spool_file **file)
{
    if (*file == NULL) return;
    close((*file)->fd); /* and with it the lock */
    free((*file)->folder);
    free((*file)->path);
    free(*file);
    *file = NULL;
}

void spool_file_remove(struct spool_file **file)
{
    if (*file != NULL) unlink((*file)->path);
    spool_file_leave(file);
}

bool spool_file_put_aside(struct spool_file **file, struct errbuf *err)
{
    char unique[9];
    random_hex(unique, sizeof unique);
    char *to = xformat("%s.%s%s", (*file)->path, unique, SPOOL_ASIDE_SUFFIX);
    bool ok =
        rename((*file)->path, to) == 0 || errbuf_set(err, "%s cannot be renamed: %s", (*file)->path, strerror(errno));
    free(to);
    spool_file_leave(file);
    return ok;
}

bool spool_file_broken(const struct spool_file *file)
{
    return file->broken;
}

int64_t spool_file_bytes(const struct spool_file *file)
{
    return file->bytes;
}

const char *spool_file_path(const struct spool_file *file)
{
    return file->path;
}

/* ---- writing ---- */

static bool write_whole(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t done = write(fd, bytes, len);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return false;
        bytes += done;
        len -= (size_t)done;
    }
    return true;
}

bool spool_file_append(struct spool_file *file, const struct buf *lines, struct errbuf *err)
{
    if (file->broken) return errbuf_set(err, "%s: an earlier write to it failed", file->path);
    if (write_whole(file->fd, buf_text(lines), lines->len)) {
        file->bytes += (int64_t)lines->len;
        return true;
    }
    int why = errno;
    if (ftruncate(file->fd, file->bytes) != 0) file->broken = true;
    return errbuf_set(err, "%s cannot be written: %s", file->path, strerror(why));
}

bool spool_file_sync(struct spool_file *file, struct errbuf *err)
{
    if (fdatasync(file->fd) == 0) return true;
    file->broken = true;
    return errbuf_set(err, "%s cannot be brought to the disk: %s", file->path, strerror(errno));
}

void spool_file_clear(struct spool_file *file)
{
    if (file->bytes > file->head_bytes && ftruncate(file->fd, file->head_bytes) == 0) file->bytes = file->head_bytes;
}

void spool_file_cut_torn(struct spool_file *file, size_t torn_bytes)
{
    if (torn_bytes > 0 && ftruncate(file->fd, file->bytes - (int64_t)torn_bytes) == 0)
        file->bytes -= (int64_t)torn_bytes;
}

/* ---- creating ---- */

/* The name of a new file must outlive a power cut, too. */
static bool sync_folder(const char *folder, struct errbuf *err)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 && fsync(fd) == 0;
    if (!ok) errbuf_set(err, "%s: cannot be brought to the disk: %s", folder, strerror(errno));
    if (fd >= 0) close(fd);
    return ok;
}

/* True if the file still is what the name leads to. */
static bool still_there(const struct spool_file *file)
{
    struct stat opened, named;
    return fstat(file->fd, &opened) == 0 && lstat(file->path, &named) == 0 && opened.st_ino == named.st_ino &&
           opened.st_dev == named.st_dev;
}

static bool lock(int fd)
{
    int result;
    do {
        result = flock(fd, LOCK_EX | LOCK_NB);
    } while (result != 0 && errno == EINTR);
    return result == 0;
}

/* NULL with errno EEXIST: the name is taken, or somebody was quicker to look into the new file than we to lock it. */
static struct spool_file *create_once(const char *folder, const char *name)
{
    char *path = xformat("%s/%s", folder, name);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    free(path);
    if (fd < 0) return NULL;
    struct spool_file *file = file_new(folder, name, fd);
    if (lock(fd) && still_there(file)) return file;
    spool_file_leave(&file);
    errno = EEXIST;
    return NULL;
}

static struct spool_file *create_any(const char *folder, const char *worker, struct errbuf *err)
{
    char unique[9];
    struct spool_file *file = NULL;
    for (int i = 0; file == NULL && i < CREATE_TRIES; i++) {
        random_hex(unique, sizeof unique);
        char *name =
            i == 0 ? xformat("%s%s", worker, SPOOL_FILE_SUFFIX) : xformat("%s-%s%s", worker, unique, SPOOL_FILE_SUFFIX);
        file = create_once(folder, name);
        free(name);
        if (file == NULL && errno != EEXIST) break;
    }
    if (file == NULL)
        errbuf_set(err, "%s: no file can be made there: %s; make the folder and let this process write to it", folder,
                   strerror(errno));
    return file;
}

bool spool_file_create(const char *folder, const struct spool_stamp *stamp, struct spool_file **out, struct errbuf *err)
{
    struct buf line;
    buf_init(&line, SPOOL_LINE_MAX_BYTES);
    struct spool_file *file = create_any(folder, stamp->worker, err);
    bool ok = file != NULL && spool_line_stamp(&line, stamp, err) && spool_file_append(file, &line, err) &&
              spool_file_sync(file, err) && sync_folder(folder, err);
    buf_fini(&line);
    if (ok) {
        file->head_bytes = file->bytes;
        *out = file;
        return true;
    }
    spool_file_remove(&file);
    return false;
}

/* ---- taking over ---- */

enum spool_file_taken spool_file_take(const char *folder, const char *name, struct spool_file **out, struct errbuf *err)
{
    struct stat status;
    char *path = xformat("%s/%s", folder, name);
    int fd = open(path, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int why = errno;
    if (fd < 0 && why != ENOENT) errbuf_set(err, "%s: cannot be opened: %s", path, strerror(why));
    free(path);
    if (fd < 0) return why == ENOENT ? SPOOL_FILE_GONE : SPOOL_FILE_ERROR;
    struct spool_file *file = file_new(folder, name, fd);
    enum spool_file_taken taken = SPOOL_FILE_TAKEN;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        errbuf_set(err, "%s: is not a regular file", file->path);
        taken = SPOOL_FILE_ERROR;
    } else if (!lock(fd)) {
        taken = SPOOL_FILE_ALIVE;
    } else if (!still_there(file) || fstat(fd, &status) != 0) {
        taken = SPOOL_FILE_GONE;
    } else {
        file->bytes = status.st_size;
        *out = file;
        return taken;
    }
    spool_file_leave(&file);
    return taken;
}
