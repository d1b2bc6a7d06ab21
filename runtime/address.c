/* SPDX-License-Identifier: MIT */
/*
 * Every address is looked at as 16 bytes, IPv4 as ::ffff:a.b.c.d, so that one table and one comparison do.
 */
#include "runtime/address.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/die.h"

#define MAPPED_BITS 96 /* of ::ffff:0:0/96, in front of the 32 of IPv4 */

/* IANA IPv4 Special-Purpose Address Registry, and what clouds use for their machines' metadata. */
static const char *const special_v4[] = {
    "0.0.0.0/8",      "10.0.0.0/8",   "100.64.0.0/10",  "127.0.0.0/8",      "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24",   "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16",   "198.18.0.0/15",  "198.51.100.0/24",
    "203.0.113.0/24", "224.0.0.0/4",  "240.0.0.0/4",    "168.63.129.16/32", /* Azure's "WireServer", a public address
                                                                               that each of its machines sees as its own
                                                                             */
};

/* IANA IPv6 Special-Purpose Address Registry, within 2000::/3; outside of that nothing is global unicast (RFC 4291). */
static const char *const special_v6[] = {
    "2001::/23", /* IETF protocol assignments: Teredo, benchmarking, ORCHID */
    "2001:db8::/32",
    "2002::/16",
    "3fff::/20",
};

static bool in_range(const unsigned char bytes[16], const struct address_range *range)
{
    size_t whole = (size_t)range->bits / 8;
    int rest = range->bits % 8;
    if (memcmp(bytes, range->bytes, whole) != 0) return false;
    return rest == 0 || ((bytes[whole] ^ range->bytes[whole]) >> (8 - rest)) == 0;
}

static bool is_v4(const unsigned char bytes[16])
{
    static const struct address_range mapped = {{[10] = 0xff, [11] = 0xff}, MAPPED_BITS};
    return in_range(bytes, &mapped);
}

/* The 16 bytes of an address in text. */
static bool bytes_of(const char *text, unsigned char bytes[16])
{
    memset(bytes, 0, 16);
    if (inet_pton(AF_INET6, text, bytes) == 1) return true;
    memset(bytes, 0, 10);
    memset(bytes + 10, 0xff, 2);
    return inet_pton(AF_INET, text, bytes + 12) == 1;
}

/* "address/bits", or an address alone. Bits are counted as the address is written. */
static bool range_of(const char *text, struct address_range *range)
{
    char address[ADDRESS_TEXT_BYTES];
    size_t len = strcspn(text, "/");
    if (len >= sizeof address) return false;
    memcpy(address, text, len);
    address[len] = '\0';
    if (!bytes_of(address, range->bytes)) return false;
    int before = strchr(address, ':') ? 0 : MAPPED_BITS;
    range->bits = 128;
    if (text[len] == '\0') return true;
    const char *digits = text + len + 1;
    size_t count = strspn(digits, "0123456789");
    if (count == 0 || count > 3 || digits[count] != '\0') return false;
    range->bits = before + (int)strtol(digits, NULL, 10);
    return range->bits <= 128;
}

static bool in_any(const unsigned char bytes[16], const char *const table[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct address_range range;
        if (!range_of(table[i], &range)) die("address: %s is no range", table[i]);
        if (in_range(bytes, &range)) return true;
    }
    return false;
}

/* 64:ff9b::/96: how hosts without IPv4 reach an IPv4 address (RFC 6052). */
static bool unwrap_nat64(unsigned char bytes[16])
{
    static const struct address_range nat64 = {{0x00, 0x64, 0xff, 0x9b}, 96};
    if (!in_range(bytes, &nat64)) return false;
    memset(bytes, 0, 10);
    memset(bytes + 10, 0xff, 2);
    return true;
}

static bool read_sockaddr(const struct sockaddr *address, unsigned char bytes[16])
{
    memset(bytes, 0, 16);
    if (address->sa_family == AF_INET6) {
        memcpy(bytes, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
        return true;
    }
    if (address->sa_family != AF_INET) return false;
    memset(bytes + 10, 0xff, 2);
    memcpy(bytes + 12, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    return true;
}

bool address_is_public(const struct sockaddr *address)
{
    static const struct address_range global = {{0x20}, 3};
    unsigned char bytes[16];
    if (!read_sockaddr(address, bytes)) return false;
    if (is_v4(bytes) || unwrap_nat64(bytes)) return !in_any(bytes, special_v4, sizeof special_v4 / sizeof *special_v4);
    return in_range(bytes, &global) && !in_any(bytes, special_v6, sizeof special_v6 / sizeof *special_v6);
}

static bool in_ranges(const unsigned char bytes[16], const struct address_list *list)
{
    for (size_t i = 0; i < list->range_count; i++)
        if (in_range(bytes, &list->ranges[i])) return true;
    return false;
}

static bool is_named(const char *host, const struct address_list *list)
{
    for (size_t i = 0; i < list->name_count; i++)
        if (strcasecmp(host, list->names[i]) == 0) return true;
    return false;
}

bool address_may_reach(const struct sockaddr *address, const char *host, const struct address_list *list)
{
    unsigned char bytes[16];
    if (address_is_public(address)) return true;
    if (!list || !read_sockaddr(address, bytes)) return false;
    return in_ranges(bytes, list) || is_named(host, list);
}

bool address_list_has_host(const struct address_list *list, const char *host)
{
    unsigned char bytes[16];
    char plain[ADDRESS_TEXT_BYTES] = "";
    size_t len = strlen(host);
    bool bracketed = len > 2 && host[0] == '[' && host[len - 1] == ']' && len - 2 < sizeof plain;
    if (bracketed) memcpy(plain, host + 1, len - 2); /* IPv6 in a URL */
    return is_named(host, list) || (bytes_of(bracketed ? plain : host, bytes) && in_ranges(bytes, list));
}

void address_text(const struct sockaddr *address, char out[ADDRESS_TEXT_BYTES])
{
    const void *bytes = address->sa_family == AF_INET6
                            ? (const void *)&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr
                            : (const void *)&((const struct sockaddr_in *)(const void *)address)->sin_addr;
    bool known = address->sa_family == AF_INET || address->sa_family == AF_INET6;
    if (!known || !inet_ntop(address->sa_family, bytes, out, ADDRESS_TEXT_BYTES)) memcpy(out, "?", 2);
}

/* Letters, digits, dots, hyphens and underscores, and not only digits and dots, which would be a mistyped address. */
static bool is_host_name(const char *word)
{
    size_t len = strlen(word);
    return len <= 253 && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") == len &&
           strspn(word, "0123456789.") < len;
}

static bool add_word(struct address_list *list, const char *word)
{
    struct address_range range;
    if (range_of(word, &range)) {
        list->ranges = xrealloc_array(list->ranges, list->range_count + 1, sizeof *list->ranges);
        list->ranges[list->range_count++] = range;
        return true;
    }
    if (!is_host_name(word)) return false;
    list->names = xrealloc_array(list->names, list->name_count + 1, sizeof *list->names);
    list->names[list->name_count++] = xstrdup(word);
    return true;
}

bool address_list_parse(const char *text, struct address_list *list, struct errbuf *err)
{
    memset(list, 0, sizeof *list);
    for (const char *at = text + strspn(text, " "); *at; at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        char *word = xstrndup(at, len);
        bool known = add_word(list, word) ||
                     errbuf_set(err, "\"%.100s\" is no host name, address or range such as 10.0.0.0/8", word);
        free(word);
        if (!known) return false;
        at += len;
    }
    /* Blanks alone: who wrote them meant something, and "nowhere" is not what an empty list says. */
    if (list->name_count + list->range_count == 0 && *text) return errbuf_set(err, "\"%.100s\" names nothing", text);
    return true;
}

void address_list_fini(struct address_list *list)
{
    for (size_t i = 0; i < list->name_count; i++)
        free(list->names[i]);
    free(list->names);
    free(list->ranges);
    memset(list, 0, sizeof *list);
}
