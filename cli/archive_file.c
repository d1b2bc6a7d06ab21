/* SPDX-License-Identifier: MIT */
#include "cli/archive_file.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "keys/identity.h"
#include "runtime/die.h"
#include "runtime/file.h"

struct archive_file {
    char *path, *part_path;
    FILE *old; /* NULL: there is none */
    FILE *part;
    bool locked; /* the part is ours, and not in place yet */
    /* The line of the old file that is to be written next; "" at its end. */
    char *line;
    size_t line_size, line_number;
    char delivery[IDENTITY_NAME_BYTES];
    char state[16];
    size_t written;
};

static bool failed(const char *path, const char *what, struct errbuf *err)
{
    return errbuf_set(err, "%s: %s: %s", path, what, strerror(errno));
}

/* ---- the old file */

static bool foreign(const struct archive_file *file, struct errbuf *err)
{
    return errbuf_set(err,
                      "%s:%zu: is no line of an archive, or out of order; name a file that is new or one that "
                      "landfall archive made",
                      file->path, file->line_number);
}

/* Reads the next old line. False: it is none of ours. */
static bool next_line(struct archive_file *file, struct errbuf *err)
{
    char before[IDENTITY_NAME_BYTES];
    snprintf(before, sizeof before, "%s", file->delivery);
    file->delivery[0] = '\0';
    ssize_t len = file->old ? getline(&file->line, &file->line_size, file->old) : -1;
    if (len < 0) return !file->old || !ferror(file->old) || failed(file->path, "cannot be read", err);
    file->line_number++;
    if (file->line[len - 1] != '\n') return foreign(file, err);
    file->line[len - 1] = '\0';
    json_t *json = json_loads(file->line, 0, NULL);
    const char *name = json_string_value(json_object_get(json, "delivery"));
    const char *state = json_string_value(json_object_get(json, "state"));
    bool ours = name && strlen(name) < sizeof file->delivery && name[0] != '\0' && strcmp(name, before) >= 0;
    if (ours) snprintf(file->delivery, sizeof file->delivery, "%s", name);
    snprintf(file->state, sizeof file->state, "%s", state ? state : "");
    json_decref(json);
    return ours || foreign(file, err);
}

/* ---- the part */

static bool write_line(struct archive_file *file, const char *line, struct errbuf *err)
{
    file->written++;
    if (fputs(line, file->part) >= 0 && fputc('\n', file->part) != EOF) return true;
    return failed(file->part_path, "cannot be written", err);
}

/* The lock is of the file that the name leads to: another run may have put its part into place since it was opened. */
static bool is_still_there(const struct archive_file *file, int fd)
{
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && stat(file->part_path, &named) == 0 && opened.st_ino == named.st_ino &&
           opened.st_dev == named.st_dev;
}

static bool open_part(struct archive_file *file, struct errbuf *err)
{
    struct stat part;
    int fd = open(file->part_path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600); /* a pipe would wait for ever */
    if (fd < 0) return failed(file->part_path, "cannot be opened", err);
    file->part = fdopen(fd, "w");
    if (!file->part) die("out of memory");
    if (fstat(fd, &part) != 0 || !S_ISREG(part.st_mode))
        return errbuf_set(err, "%s: is no file that could be written", file->part_path);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 || !is_still_there(file, fd))
        return errbuf_set(err, "%s: another landfall archive writes it", file->part_path);
    file->locked = true;
    return ftruncate(fd, 0) == 0 || failed(file->part_path, "cannot be emptied", err);
}

/* After the part is locked: an old file that was opened before could be replaced meanwhile, and its lines be lost. */
static bool open_old(struct archive_file *file, struct errbuf *err)
{
    struct stat old;
    int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return errno == ENOENT || failed(file->path, "cannot be opened", err);
    file->old = fdopen(fd, "r");
    if (!file->old) die("out of memory");
    if (fstat(fileno(file->old), &old) != 0 || !S_ISREG(old.st_mode))
        return errbuf_set(err, "%s: is no file that could be replaced", file->path);
    return fchmod(fileno(file->part), old.st_mode & 07777) == 0 ||
           failed(file->part_path, "its permissions cannot be set", err);
}

bool archive_file_open(const char *path, struct archive_file **out, struct errbuf *err)
{
    struct archive_file *file = xcalloc(1, sizeof *file);
    char *behind_link = realpath(path, NULL); /* the file is replaced, not a link to it on another disk */
    file->path = xstrdup(behind_link ? behind_link : path);
    free(behind_link);
    file->part_path = xformat("%s.part", file->path);
    bool ok = open_part(file, err) && open_old(file, err) && next_line(file, err);
    if (!ok) archive_file_close(&file);
    *out = file;
    return ok;
}

bool archive_file_put(struct archive_file *file, const char *delivery, const char *line, struct errbuf *err)
{
    bool there = false;
    while (file->delivery[0] != '\0' && strcmp(file->delivery, delivery) <= 0) {
        there |= strcmp(file->line, line) == 0;
        if (!write_line(file, file->line, err) || !next_line(file, err)) return false;
    }
    return there || write_line(file, line, err);
}

/* A rename is on the disk when its folder is. */
static bool sync_folder(const char *path, struct errbuf *err)
{
    char *folder = file_path_beside(path, ".");
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = (fd >= 0 && fsync(fd) == 0) || failed(folder, "cannot be written", err);
    if (fd >= 0) close(fd);
    free(folder);
    return ok;
}

bool archive_file_commit(struct archive_file *file, size_t *lines, struct errbuf *err)
{
    while (file->delivery[0] != '\0')
        if (!write_line(file, file->line, err) || !next_line(file, err)) return false;
    if (fflush(file->part) != 0 || fsync(fileno(file->part)) != 0)
        return failed(file->part_path, "cannot be written", err);
    if (rename(file->part_path, file->path) != 0) return failed(file->path, "cannot be put into place", err);
    file->locked = false;
    *lines = file->written;
    return sync_folder(file->path, err);
}

void archive_file_close(struct archive_file **file)
{
    struct archive_file *f = *file;
    if (!f) return;
    if (f->locked) (void)unlink(f->part_path);
    if (f->old) fclose(f->old);
    if (f->part) fclose(f->part);
    free(f->line);
    free(f->part_path);
    free(f->path);
    free(f);
    *file = NULL;
}

bool archive_file_read(const char *path, archive_file_told *told, void *context, struct errbuf *err)
{
    struct archive_file *file = xcalloc(1, sizeof *file);
    file->path = xstrdup(path);
    file->old = fopen(path, "re");
    bool ok = (file->old || failed(path, "cannot be opened", err)) && next_line(file, err);
    while (ok && file->delivery[0] != '\0') {
        told(file->delivery, file->state, context);
        ok = next_line(file, err);
    }
    archive_file_close(&file);
    return ok;
}
