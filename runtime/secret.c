/* SPDX-License-Identifier: MIT */
#include "runtime/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include "runtime/die.h"
#include "runtime/secret_mask.h"

struct secret {
    size_t len;
    char bytes[]; /* and a NUL */
};

/* What was taken out of the environment. Kept as long as the process lives: a reload asks for the same names again. */
struct remembered {
    struct remembered *next;
    struct secret *secret;
    char name[];
};

static struct remembered *environment;

struct secret *secret_new(const void *bytes, size_t len)
{
    struct secret *secret = xmalloc(sizeof *secret + len + 1);
    secret->len = len;
    memcpy(secret->bytes, bytes, len);
    secret->bytes[len] = '\0';
    secret_mask_add(secret);
    return secret;
}

struct secret *secret_copy(const struct secret *secret)
{
    return secret_new(secret->bytes, secret->len);
}

void secret_free(struct secret **secret)
{
    if (*secret) {
        secret_mask_remove(*secret);
        sodium_memzero((*secret)->bytes, (*secret)->len);
        free(*secret);
        *secret = NULL;
    }
}

const char *secret_bytes(const struct secret *secret, size_t *len)
{
    *len = secret->len;
    return secret->bytes;
}

bool secret_equal(const struct secret *a, const struct secret *b)
{
    if (!a || !b) {
        return a == b;
    }
    return a->len == b->len && sodium_memcmp(a->bytes, b->bytes, a->len) == 0;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The secret in what an editor saved; where names the file or variable. */
static bool secret_from_text(const char *text, size_t len, const char *where, struct secret **secret,
                             struct errbuf *err)
{
    static const char byte_order_mark[] = "\xEF\xBB\xBF";
    if (len >= 3 && memcmp(text, byte_order_mark, 3) == 0) {
        text += 3;
        len -= 3;
    }
    while (len > 0 && is_space(text[0])) {
        text++;
        len--;
    }
    while (len > 0 && is_space(text[len - 1])) {
        len--;
    }
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F) {
            return errbuf_set(
                err, "%s: has a line break, NUL or other control character inside; write the secret alone, on one line",
                where);
        }
    }
    *secret = len > 0 ? secret_new(text, len) : NULL;
    return true;
}

/* The value stands in memory that the kernel shows as /proc/PID/environ: overwriting it there is the only way to take
 * it out. */
static void wipe_variable(const char *name)
{
    size_t name_len = strlen(name);
    for (char **entry = environ; entry && *entry; entry++) {
        if (strncmp(*entry, name, name_len) == 0 && (*entry)[name_len] == '=') {
            char *value = *entry + name_len + 1;
            sodium_memzero(value, strlen(value));
        }
    }
    if (unsetenv(name) != 0) {
        die("the variable %s cannot be removed from the environment: %s", name, strerror(errno));
    }
}

static struct remembered **remembered_at(const char *name)
{
    struct remembered **at = &environment;
    while (*at && strcmp((*at)->name, name) != 0) {
        at = &(*at)->next;
    }
    return at;
}

static void remember(const char *name, const struct secret *secret)
{
    struct remembered **at = remembered_at(name);
    if (!*at) {
        size_t size = strlen(name) + 1;
        *at = xcalloc(1, sizeof **at + size);
        memcpy((*at)->name, name, size);
    }
    secret_free(&(*at)->secret);
    (*at)->secret = secret_copy(secret);
}

bool secret_from_env(const char *name, struct secret **secret, struct errbuf *err)
{
    const char *value = getenv(name);
    bool usable = true;

    *secret = NULL;
    if (value) {
        size_t len = strlen(value);
        usable = len <= SECRET_MAX_BYTES ? secret_from_text(value, len, name, secret, err)
                                         : errbuf_set(err, "%s: longer than %d bytes", name, SECRET_MAX_BYTES);
        wipe_variable(name);
    }
    const struct remembered *known = *remembered_at(name);
    if (*secret) {
        remember(name, *secret);
    } else if (usable && known) {
        *secret = secret_copy(known->secret);
    }
    return usable;
}

/* Bytes read, at most size; -1 with errno. */
static ssize_t read_up_to(int fd, char *out, size_t size)
{
    size_t len = 0;
    while (len < size) {
        ssize_t got = read(fd, out + len, size - len);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return -1;
        }
        if (got == 0) {
            break;
        }
        len += (size_t)got;
    }
    return (ssize_t)len;
}

bool secret_from_file(const char *path, struct secret **secret, struct errbuf *err)
{
    char text[SECRET_MAX_BYTES + 1];
    bool done = false;

    *secret = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO without a writer must not hold the process */
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG)) {
        return errbuf_set(err, "file: there is no such file; names are seen from the configuration's folder");
    }
    if (fd < 0) {
        return errbuf_set(err, "%s: cannot be opened: %s", path, strerror(errno));
    }
    ssize_t len = read_up_to(fd, text, sizeof text);
    if (len < 0) {
        errbuf_set(err, "%s: cannot be read: %s", path, strerror(errno));
    } else if (len > SECRET_MAX_BYTES) {
        errbuf_set(err, "%s: longer than %d bytes; is it the right file?", path, SECRET_MAX_BYTES);
    } else if (secret_from_text(text, (size_t)len, path, secret, err)) {
        done = *secret != NULL || errbuf_set(err, "%s: is empty; write the secret into it", path);
    }
    sodium_memzero(text, sizeof text);
    close(fd);
    return done;
}

void secret_protect_process(void)
{
    const struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_CORE, &none) != 0) {
        die("core dumps cannot be switched off: %s", strerror(errno));
    }
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
        die("the process cannot be protected from debuggers: %s", strerror(errno));
    }
}
