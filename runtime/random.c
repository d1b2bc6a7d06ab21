/* SPDX-License-Identifier: MIT */
#include "runtime/random.h"

#include <pthread.h>
#include <sodium.h>
#include <stdbool.h>
#include <string.h>
#include "runtime/die.h"

/* Bytes of the kernel's that nobody has been given yet: one system call for many tokens. */
static struct {
    unsigned char bytes[1024];
    size_t left; /* at the end of bytes */
    bool ready;
} stock;

/* A child process must not be given what its parent gives out. */
static void forget(void)
{
    sodium_memzero(stock.bytes, sizeof stock.bytes);
    stock.left = 0;
}

static void get_ready(void)
{
    if (sodium_init() < 0) { /* 1 = was ready */
        die("the system's random number generator cannot be used");
    }
    if (pthread_atfork(NULL, NULL, forget) != 0) die("out of memory");
    stock.ready = true;
}

/* At most as many as the stock has room for. */
static void take(void *out, size_t count)
{
    if (!stock.ready) get_ready();
    if (stock.left < count) {
        randombytes_buf(stock.bytes, sizeof stock.bytes);
        stock.left = sizeof stock.bytes;
    }
    unsigned char *from = stock.bytes + sizeof stock.bytes - stock.left;
    memcpy(out, from, count);
    memset(from, 0, count); /* nobody can be given them again */
    stock.left -= count;
}

void random_hex(char *out, size_t size)
{
    static const char digits[] = "0123456789abcdef";

    if (size == 0) return;
    const size_t count = (size - 1) / 2;
    for (size_t i = 0; i < count; i++) {
        unsigned char byte;
        take(&byte, 1);
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
    if (bound < 2) return 0;
    uint32_t number = 0;
    do /* the lowest 2^32 % bound numbers would make some results likelier */
        take(&number, sizeof number);
    while (number < -bound % bound);
    return number % bound;
}
