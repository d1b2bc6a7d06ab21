/* SPDX-License-Identifier: MIT */
#include "tests/sim/sha1.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint32_t turn(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

static void block(uint32_t h[5], const unsigned char bytes[64])
{
    static const uint32_t k[] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
    uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
    for (int i = 0; i < 80; i++) {
        w[i] = i < 16 ? (uint32_t)bytes[4 * i] << 24 | (uint32_t)bytes[4 * i + 1] << 16 |
                            (uint32_t)bytes[4 * i + 2] << 8 | bytes[4 * i + 3]
                      : turn(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
        uint32_t f = i < 20   ? (b & c) | (~b & d)
                     : i < 40 ? b ^ c ^ d
                     : i < 60 ? (b & c) | (b & d) | (c & d)
                              : b ^ c ^ d;
        uint32_t next = turn(a, 5) + f + e + k[i / 20] + w[i];
        e = d;
        d = c;
        c = turn(b, 30);
        b = a;
        a = next;
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
}

void sha1_hex(const void *bytes, size_t len, char out[SHA1_HEX_BYTES])
{
    uint32_t h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    const unsigned char *at = bytes;
    unsigned char tail[128] = {0};
    size_t left = len % 64, tail_len = left < 56 ? 64 : 128;
    for (size_t i = 0; i + 64 <= len; i += 64)
        block(h, at + i);
    if (left > 0) memcpy(tail, at + len - left, left);
    tail[left] = 0x80;
    for (int i = 0; i < 8; i++)
        tail[tail_len - 1 - (size_t)i] = (unsigned char)((uint64_t)len * 8 >> (8 * i));
    for (size_t i = 0; i < tail_len; i += 64)
        block(h, tail + i);
    for (int i = 0; i < 5; i++)
        snprintf(out + 8 * i, 9, "%08x", h[i]);
}
