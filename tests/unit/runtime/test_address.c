/* SPDX-License-Identifier: MIT */
/*
 * Which addresses are public, and the list of those that may be reached all the same.
 */
#include "test.h"

#include <arpa/inet.h>

#include "runtime/address.h"

union any_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static union any_address address_of(const char *text)
{
    union any_address address;
    memset(&address, 0, sizeof address);
    if (inet_pton(AF_INET, text, &address.v4.sin_addr) == 1)
        address.v4.sin_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &address.v6.sin6_addr) == 1)
        address.v6.sin6_family = AF_INET6;
    else
        fail_msg("%s is no address", text);
    return address;
}

/* The first and the last address of each block, and what lies just outside. */
static void test_public_and_not(void **state)
{
    static const char *const public[] = {
        "1.0.0.0",         "9.255.255.255",   "11.0.0.0",      "100.63.255.255", "100.128.0.0",    "126.255.255.255",
        "128.0.0.0",       "169.253.255.255", "169.255.0.0",   "172.15.255.255", "172.32.0.0",     "192.0.1.0",
        "192.0.3.0",       "192.167.255.255", "192.169.0.0",   "198.17.255.255", "198.20.0.0",     "223.255.255.255",
        "8.8.8.8",         "168.63.129.15",   "93.184.215.14", "2000::",         "2001:200::1",    "2003::1",
        "2606:4700::1111", "2a00:1450::1",    "3ffe::1",       "3fff:1000::1",   "::ffff:8.8.8.8", "64:ff9b::808:808",
    };
    static const char *const inner[] = {
        "0.0.0.0",
        "0.255.255.255",
        "10.0.0.0",
        "10.255.255.255",
        "100.64.0.0",
        "100.100.100.200",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.255",
        "169.254.0.0",
        "169.254.169.254",
        "169.254.255.255",
        "172.16.0.0",
        "172.31.255.255",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.0",
        "192.168.255.255",
        "198.18.0.0",
        "198.19.255.255",
        "198.51.100.9",
        "203.0.113.9",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "168.63.129.16",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:10.1.2.3",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:2::1",
        "2001:20::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "3fff::1",
        "3fff:fff:ffff::1",
        "4000::1",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "1fff::1",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(public); i++) {
        const union any_address address = address_of(public[i]);
        if (!address_is_public(&address.any)) fail_msg("%s is not public", public[i]);
    }
    for (size_t i = 0; i < COUNT(inner); i++) {
        const union any_address address = address_of(inner[i]);
        if (address_is_public(&address.any)) fail_msg("%s is public", inner[i]);
        assert_false(address_may_reach(&address.any, "host", NULL));
    }
    const struct sockaddr unix_address = {.sa_family = AF_UNIX};
    assert_false(address_is_public(&unix_address));
}

static void test_the_list(void **state)
{
    static const struct {
        const char *list, *address, *host;
        bool may;
    } cases[] = {
        {"", "10.1.2.3", "media", false},
        {"", "8.8.8.8", "media", true},
        {"10.1.0.0/16", "10.1.2.3", "media", true},
        {"10.1.0.0/16", "10.2.2.3", "media", false},
        {"10.1.0.0/16", "::ffff:10.1.2.3", "media", true},
        {"10.1.0.0/17", "10.1.128.0", "media", false},
        {"10.1.0.0/17", "10.1.127.255", "media", true},
        {"10.1.2.3", "10.1.2.3", "media", true},
        {"10.1.2.3", "10.1.2.4", "media", false},
        {"fd00:1::/32", "fd00:1:2::3", "media", true},
        {"fd00:1::/32", "fd00:2::3", "media", false},
        {"0.0.0.0/0", "127.0.0.1", "media", true},
        {"0.0.0.0/0", "::1", "media", false},
        {"::/0", "127.0.0.1", "media", true},
        {"  media  other.internal ", "127.0.0.1", "MEDIA", true},
        {"media other.internal", "127.0.0.1", "other.internal", true},
        {"media other.internal", "127.0.0.1", "another.internal", false},
        {"other.internal", "127.0.0.1", "x.other.internal", false},
        {"other.internal", "127.0.0.1", "other.internal.evil.example", false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct address_list list;
        struct errbuf err;
        const union any_address address = address_of(cases[i].address);
        if (!address_list_parse(cases[i].list, &list, &err)) fail_msg("case %zu: %s", i, err.text);
        if (address_may_reach(&address.any, cases[i].host, &list) != cases[i].may) fail_msg("case %zu", i);
        address_list_fini(&list);
    }
}

static void test_words_that_are_none(void **state)
{
    static const char *const words[] = {
        "10.0.0.0/33", "fd00::/129", "10.0.0.0/", "10.0.0.0/-1",  "10.0.0.0/8x", "10.0.0.0/0008",
        "10.0.0",      "300.1.1.1",  "1.2.3.4.5", "http://media", "media:80",    "media,other",
        "*.internal",  "[::1]",      "a\tb",      "/8",           "::1/x",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(words); i++) {
        struct address_list list;
        struct errbuf err = {""};
        if (address_list_parse(words[i], &list, &err)) fail_msg("%s was taken", words[i]);
        assert_contains(err.text, "is no host name, address or range");
        address_list_fini(&list);
    }
}

static void test_hosts_of_addresses(void **state)
{
    static const struct {
        const char *host;
        bool named;
    } cases[] = {
        {"staging.example", true},
        {"Staging.EXAMPLE", true},
        {"sub.staging.example", false},
        {"example", false},
        {"10.1.2.3", true},
        {"11.1.2.3", false},
        {"[fd00::1]", true},
        {"[fd00::2]", false},
        {"[::ffff:10.1.2.3]", true},
        {"", false},
        {"[]", false},
    };
    struct address_list list;
    struct errbuf err;
    (void)state;
    assert_true(address_list_parse("staging.example 10.0.0.0/8 fd00::1", &list, &err));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (address_list_has_host(&list, cases[i].host) != cases[i].named) fail_msg("%s", cases[i].host);
    address_list_fini(&list);
}

static void test_as_people_write_it(void **state)
{
    static const char *const texts[] = {"10.1.2.3", "fd00:1::7", "::ffff:10.1.2.3"};
    const struct sockaddr unix_address = {.sa_family = AF_UNIX};
    char text[ADDRESS_TEXT_BYTES];
    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        const union any_address address = address_of(texts[i]);
        address_text(&address.any, text);
        assert_string_equal(text, texts[i]);
    }
    address_text(&unix_address, text);
    assert_string_equal(text, "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_public_and_not),      cmocka_unit_test(test_the_list),
        cmocka_unit_test(test_words_that_are_none), cmocka_unit_test(test_hosts_of_addresses),
        cmocka_unit_test(test_as_people_write_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
