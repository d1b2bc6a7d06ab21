/* SPDX-License-Identifier: MIT */
/*
 * What the fuzzers share: a cursor over the input, answers of platforms and replies of Redis made of it, the channels
 * of all shipped descriptors, files without a disk.
 *
 * A fuzzer is a file fuzz_<name>.c with fuzz_one(), which must end well for every input; what must hold beyond that it
 * says with REQUIRE(). It is built twice: with libFuzzer (preset fuzz), and with replay.c, which runs kept inputs.
 */
#ifndef LANDFALL_TESTS_FUZZ_KIT_H
#define LANDFALL_TESTS_FUZZ_KIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "platforms/channel.h"

struct answer;
struct redisReply;

/* Handed out once: the whole of the input, then pieces of it. */
struct fuzz_input {
    const char *at;
    size_t left;
};

void fuzz_one(struct fuzz_input *input);
/* Before the first input. */
void fuzz_begin(void);

#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) abort();                                                                                     \
    } while (0)

unsigned char fuzz_byte(struct fuzz_input *input); /* 0 at the end */
/* Up to the first such byte, which is taken too; *len may be the whole rest. */
const char *fuzz_until(struct fuzz_input *input, char end, size_t *len);
/* The rest, copied and terminated; the caller frees it. */
char *fuzz_text(struct fuzz_input *input, size_t *len);

/* Head lines, an empty line, a body, up to a byte 0x1e. True while there is more behind it. */
bool fuzz_answer(struct fuzz_input *input, struct answer *answer, bool *complete);

/* A tree of at most a few thousand replies. fuzz_reply_free() for the root. */
struct redisReply *fuzz_reply(struct fuzz_input *input);
void fuzz_reply_free(struct redisReply *reply);

/* "<platform>/brand" for the platform that the first line names; else one of all that are shipped. */
struct channel *fuzz_channel(struct fuzz_input *input);
void fuzz_channels_load(void);

/* The path under which the bytes can be opened, until the next call. */
const char *fuzz_file(const char *bytes, size_t len);

#endif
