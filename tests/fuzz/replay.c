/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzzer over kept inputs: replay FOLDER-OR-FILE... Each must end well. Prints how many there were.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/buf.h"
#include "runtime/die.h"
#include "runtime/errbuf.h"
#include "runtime/file.h"

#define INPUT_MAX_BYTES ((size_t)8 << 20)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t replayed;

static void replay(const char *path)
{
    struct buf bytes;
    struct errbuf err;
    buf_init(&bytes, INPUT_MAX_BYTES);
    if (!file_read(path, &bytes, &err)) die("%s: %s", path, err.text);
    /* Exactly as long as it is, so that reading beyond it is seen. */
    uint8_t *copy = xmalloc(bytes.len);
    memcpy(copy, buf_text(&bytes), bytes.len);
    fprintf(stderr, "%s\n", path); /* the last one is the one that did not end well */
    (void)LLVMFuzzerTestOneInput(copy, bytes.len);
    free(copy);
    buf_fini(&bytes);
    replayed++;
}

static void replay_all(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0) die("%s: there is no such file", path);
    if (!S_ISDIR(status.st_mode)) {
        replay(path);
        return;
    }
    DIR *dir = opendir(path);
    if (!dir) die("%s cannot be read", path);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.') continue;
        char *below = xformat("%s/%s", path, entry->d_name);
        replay_all(below);
        free(below);
    }
    closedir(dir);
}

int main(int argc, char **argv)
{
    (void)LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++)
        replay_all(argv[i]);
    printf("%zu inputs\n", replayed);
    return replayed > 0 ? 0 : 1;
}
