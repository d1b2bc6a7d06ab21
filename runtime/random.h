/* SPDX-License-Identifier: MIT */
/*
 * random: tokens and jitter, from the kernel's generator by way of libsodium.
 */
#ifndef RUNTIME_RANDOM_H
#define RUNTIME_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#define RANDOM_TOKEN_SIZE 33 /* 128 bits as hex and the NUL */

/* 32 lower-case hex digits: unique without asking anybody. Returns out. */
const char *random_token(char out[RANDOM_TOKEN_SIZE]);

/* size - 1 lower-case hex digits (size is odd) and a NUL. */
void random_hex(char *out, size_t size);

/* Uniform in 0 .. bound - 1; 0 for a bound of 0. */
uint32_t random_below(uint32_t bound);

#endif
