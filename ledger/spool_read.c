/* SPDX-License-Identifier: MIT */
/* What stands in a spool file, and which files there are. Changes nothing. */
#include "ledger/spool_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/die.h"

#define NAMES_MAX   10000
#define REPORTS_MAX 16384 /* open ones in a file; a worker has at most 1,024 slots */

/* ---- lines ---- */

static void line_free(struct spool_line **line)
{
    if (*line != NULL) spool_line_fini(*line);
    free(*line);
    *line = NULL;
}

void spool_content_fini(struct spool_content *content)
{
    line_free(&content->stamp);
    for (size_t i = 0; i < content->count; i++)
        line_free(&content->reports[i]);
    free(content->reports);
    memset(content, 0, sizeof *content);
}

static void note_bad(struct spool_content *c, const struct errbuf *why)
{
    c->unreadable++;
    if (c->first_bad_line != 0) return;
    c->first_bad_line = c->lines;
    c->why = *why;
}

/* The newest line of the attempt is what counts: the same outcome may have been written twice. */
static void drop_same(struct spool_content *c, const struct attempt_report *report)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (spool_line_same(&c->reports[i]->report, report))
            line_free(&c->reports[i]);
        else
            c->reports[kept++] = c->reports[i];
    }
    c->count = kept;
}

static void add_line(struct spool_content *c, struct spool_line *own_line)
{
    struct errbuf why;
    if (own_line->kind == SPOOL_LINE_STAMP && c->lines == 1) {
        c->stamp = own_line;
        return;
    }
    bool takes = own_line->kind == SPOOL_LINE_REPORT;
    if (own_line->kind != SPOOL_LINE_STAMP) drop_same(c, &own_line->report);
    if (own_line->kind == SPOOL_LINE_STAMP || (takes && c->count == REPORTS_MAX)) {
        errbuf_set(&why, takes ? "more outcomes than a worker can hold" : "a first line in the middle");
        note_bad(c, &why);
        takes = false;
    }
    if (!takes) {
        line_free(&own_line);
        return;
    }
    c->reports = xrealloc_array(c->reports, c->count + 1, sizeof *c->reports);
    c->reports[c->count++] = own_line;
}

static void take_line(struct spool_content *c, const struct buf *bytes)
{
    struct errbuf why = {{0}};
    struct spool_line *line = xcalloc(1, sizeof *line);
    c->lines++;
    bool ok = bytes->cut ? errbuf_set(&why, "longer than any line of ours")
                         : spool_line_read(buf_text(bytes), bytes->len, line, &why);
    if (ok) {
        add_line(c, line);
    } else {
        note_bad(c, &why);
        free(line);
    }
}

bool spool_file_read(const char *folder, const char *name, struct spool_content *out, struct errbuf *err)
{
    struct buf line;
    size_t line_bytes = 0;
    memset(out, 0, sizeof *out);
    char *path = xformat("%s/%s", folder, name);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    buf_init(&line, SPOOL_LINE_MAX_BYTES);
    for (int c; file != NULL && (c = getc_unlocked(file)) != EOF;) {
        char byte = (char)c;
        line_bytes++;
        if (byte != '\n') {
            (void)buf_append(&line, &byte, 1);
            continue;
        }
        take_line(out, &line);
        buf_clear(&line);
        line_bytes = 0;
    }
    out->torn_bytes = line_bytes;
    bool ok = file != NULL && !ferror(file);
    if (!ok) {
        errbuf_set(err, "%s: cannot be read: %s", path, strerror(errno));
        spool_content_fini(out);
    }
    if (file != NULL)
        (void)fclose(file);
    else if (fd >= 0)
        close(fd);
    buf_fini(&line);
    free(path);
    return ok;
}

/* ---- names ---- */

static bool ends_with(const char *name, const char *ending)
{
    size_t len = strlen(name), end = strlen(ending);
    return len > end && strcmp(name + len - end, ending) == 0;
}

bool spool_name_is_aside(const char *name)
{
    return ends_with(name, SPOOL_ASIDE_SUFFIX);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

bool spool_names(const char *folder, struct spool_names *out, struct errbuf *err)
{
    memset(out, 0, sizeof *out);
    DIR *all = opendir(folder);
    if (all == NULL) return errbuf_set(err, "%s: cannot be opened: %s", folder, strerror(errno));
    for (const struct dirent *one; out->count < NAMES_MAX && (one = readdir(all)) != NULL;) {
        size_t len = strlen(one->d_name);
        bool ours = ends_with(one->d_name, SPOOL_FILE_SUFFIX) || spool_name_is_aside(one->d_name);
        if (!ours || len >= SPOOL_FILE_NAME_BYTES) continue;
        out->name = xrealloc_array(out->name, out->count + 1, sizeof *out->name);
        memcpy(out->name[out->count++], one->d_name, len + 1);
    }
    closedir(all);
    if (out->count > 0) qsort(out->name, out->count, sizeof *out->name, by_name);
    return true;
}

void spool_names_fini(struct spool_names *names)
{
    free(names->name);
    memset(names, 0, sizeof *names);
}
