/* SPDX-License-Identifier: MIT */
/*
 * address: which network addresses are public, and which others may be reached all the same.
 *
 * For addresses that data names: a picture of an item may lie anywhere on the internet, and nowhere in the network that
 * this process stands in. Public is what IANA's registries of special-purpose addresses do not name (RFC 6890 and its
 * successors); an address that carries another one inside (IPv4 in IPv6) is as public as that one.
 *
 * Nothing here resolves a name or opens a socket. An address_list owns what it holds: address_list_parse() fills one,
 * address_list_fini() empties it.
 */
#ifndef RUNTIME_ADDRESS_H
#define RUNTIME_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "runtime/errbuf.h"

#define ADDRESS_TEXT_BYTES INET6_ADDRSTRLEN

/* Addresses whose first `bits` bits are these. */
struct address_range {
    unsigned char bytes[16]; /* IPv4 as ::ffff:a.b.c.d */
    int bits;                /* of the 128 */
};

/* Hosts that a setting names. */
struct address_list {
    struct address_range *ranges;
    size_t range_count;
    char **names; /* host names, and addresses as hosts */
    size_t name_count;
};

/* "media.internal 10.20.0.0/16 fd00:1::7": host names, addresses and ranges with spaces between. err quotes the word
 * that is none of them. *list is to be released also after an error. */
MUSTCHECK bool address_list_parse(const char *text, struct address_list *list, struct errbuf *err);
void address_list_fini(struct address_list *list);

/* False for private, loopback, link-local, shared (CGNAT), documentation, benchmarking, multicast, reserved and
 * metadata addresses, and for whatever is neither IPv4 nor IPv6. */
bool address_is_public(const struct sockaddr *address);

/* True if it is public, or in a range of the list, or if the host that led to it is one of the list's names (case does
 * not count). NULL is an empty list. */
bool address_may_reach(const struct sockaddr *address, const char *host, const struct address_list *list);

/* True if the host, as it stands in a URL, is one of the list's names (case does not count), or is itself an address in
 * one of its ranges. */
bool address_list_has_host(const struct address_list *list, const char *host);

/* As people write it; "?" where it is neither IPv4 nor IPv6. */
void address_text(const struct sockaddr *address, char out[ADDRESS_TEXT_BYTES]);

#endif
