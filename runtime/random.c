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
    for (size_t i = 0; i + 1 < size; i += 2) {
        unsigned byte = randombytes_random() & 0xFF;
        out[i] = digits[byte >> 4];
        out[i + 1] = digits[byte & 0xF];
    }
    if (size > 0) {
        out[size - 1] = '\0';
    }
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
