/* SPDX-License-Identifier: MIT */
#include "tests/sim/redis_command.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/die.h"

/* The number behind the mark at *at, with its line end. False: not all of it is there yet. */
static bool read_number(const char *in, size_t len, size_t *at, char mark, size_t *out)
{
    const char *end = *at < len ? memchr(in + *at, '\n', len - *at) : NULL;
    char *stop;
    if (end == NULL) return false;
    unsigned long long number = strtoull(in + *at + 1, &stop, 10);
    if (in[*at] != mark || stop != end - 1 || number > INT32_MAX) die("redis: this is no command");
    *out = number;
    *at = (size_t)(end - in) + 1;
    return true;
}

size_t redis_command_read(const char *in, size_t len, struct redis_arg *args, size_t most, size_t *used)
{
    size_t at = 0, count, bytes;
    *used = 0;
    if (!read_number(in, len, &at, '*', &count)) return 0;
    if (count > most) die("redis: a command of %zu words", count);
    for (size_t i = 0; i < count; i++) {
        if (!read_number(in, len, &at, '$', &bytes) || len - at < bytes + 2) return 0;
        if (memcmp(in + at + bytes, "\r\n", 2) != 0) die("redis: a word of another length");
        args[i] = (struct redis_arg){in + at, bytes};
        at += bytes + 2;
    }
    *used = at;
    return count;
}
