/* SPDX-License-Identifier: MIT */
#include "runtime/random.h"

#include <sodium.h>
#include "runtime/die.h"

static void ready(void)
{
    if (sodium_init() < 0) { /* 1 = was ready */
        die("the system's random number generator cannot be used");
    }
}

void random_hex(char *out, size_t size)
{
    static const char digits[] = "0123456789abcdef";

    ready();
    if (size == 0) return;
    /* The random bytes lie in the second half until they are printed: one question to the kernel, not one for each. */
    const size_t count = (size - 1) / 2;
    const unsigned char *bytes = (unsigned char *)out + count;
    randombytes_buf(out + count, count);
    for (size_t i = 0; i < count; i++) {
        const unsigned byte = bytes[i];
        out[2 * i] = digits[byte >> 4];
        out[2 * i + 1] = digits[byte & 0xF];
    }
    out[2 * count] = '\0';
}

const char *random_token(char out[RANDOM_TOKEN_SIZE])
{
    random_hex(out, RANDOM_TOKEN_SIZE);
    return out;
}

uint32_t random_below(uint32_t bound)
{
    ready();
    return randombytes_uniform(bound); /* 0 for 0 and 1 */
}
