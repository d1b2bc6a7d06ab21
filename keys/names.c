/* SPDX-License-Identifier: MIT */
/* Redis key names and the spread of channels over partitions; see names.h. */
#include "keys/names.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *word;
    size_t len;
    bool has_suffix;
} kinds[NAMES_KIND_COUNT] = {
#define X(symbol, word, suffix) [NAMES_##symbol] = {word, sizeof(word) - 1, sizeof(suffix) > 1},
    NAMES_TABLE(X)
#undef X
};

bool names_init(struct names *names, const char *prefix, unsigned partition, char err[KEYS_ERR_BYTES])
{
    char quoted[KEYS_QUOTE_BYTES];
    size_t len = strspn(prefix, "abcdefghijklmnopqrstuvwxyz0123456789_-");

    if (prefix[len] || len == 0 || len >= NAMES_PREFIX_BYTES || prefix[0] < 'a')
        return keys_fail(err, "Redis key prefix %s must be 1 to %d of a-z, 0-9, _ and -, beginning with a letter",
                         keys_quote(prefix, strlen(prefix), quoted), NAMES_PREFIX_BYTES - 1);
    if (partition >= NAMES_PARTITIONS_MAX)
        return keys_fail(err, "partition %u does not exist; the highest is %d", partition, NAMES_PARTITIONS_MAX - 1);
    memcpy(names->prefix, prefix, len + 1);
    names->partition = partition;
    names->front_len = (size_t)snprintf(names->front, sizeof(names->front), "%s:{%u}:", prefix, partition);
    return true;
}

/* A name that is being written. Keys are written ten times for each delivery: printf would take as long as the rest. */
struct writer {
    char *at, *end;
};

static void put(struct writer *out, const char *text, size_t len)
{
    KEYS_REQUIRE(len < (size_t)(out->end - out->at));
    memcpy(out->at, text, len);
    out->at += len;
}

size_t names_key(const struct names *names, enum names_kind kind, const char *suffix, char *out, size_t out_size)
{
    struct writer writer = {out, out + out_size};
    KEYS_REQUIRE(kind < NAMES_KIND_COUNT);
    KEYS_REQUIRE(kinds[kind].has_suffix == (suffix && *suffix));

    put(&writer, names->front, names->front_len);
    put(&writer, kinds[kind].word, kinds[kind].len);
    if (suffix) {
        put(&writer, ":", 1);
        put(&writer, suffix, strlen(suffix));
    }
    *writer.at = '\0';
    return (size_t)(writer.at - out);
}

const char *names_word(enum names_kind kind)
{
    KEYS_REQUIRE(kind < NAMES_KIND_COUNT);
    return kinds[kind].word;
}

/* CRC-16/XMODEM: polynomial 0x1021, start 0, no reflection (appendix A of the Redis Cluster specification). Four bits
 * at a time: the first 16 multiples of the polynomial. */
static uint16_t crc16(const char *text)
{
    static const uint16_t steps[16] = {0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7,
                                       0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef};
    unsigned crc = 0;

    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        crc = (crc << 4 ^ steps[(crc >> 12 ^ byte >> 4) & 0xf]) & 0xffff;
        crc = (crc << 4 ^ steps[(crc >> 12 ^ byte) & 0xf]) & 0xffff;
    }
    return (uint16_t)crc;
}

unsigned names_partition(const char *channel, unsigned partition_count)
{
    KEYS_REQUIRE(partition_count > 0);
    return crc16(channel) % NAMES_PARTITIONS_MAX % partition_count;
}
