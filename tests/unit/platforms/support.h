/* SPDX-License-Identifier: MIT */
/*
 * What tests of descriptors, channels and forms share: JSON from text, channels without a configuration file.
 */
#ifndef TESTS_PLATFORMS_SUPPORT_H
#define TESTS_PLATFORMS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "platforms/channel.h"
#include "runtime/errbuf.h"

#define DESCRIPTORS TREE "/platforms/descriptors"

/* JSON with ' for ", so that it can be read in C. */
static inline json_t *json_of(const char *text)
{
    char *copy = strdup(text);
    for (char *at = copy; *at; at++)
        if (*at == '\'') *at = '"';
    json_error_t error;
    json_t *json = json_loads(copy, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (!json) fail_msg("%s in %s", error.text, copy);
    free(copy);
    return json;
}

static inline json_t *json_file(const char *path)
{
    json_error_t error;
    json_t *json = json_load_file(path, 0, &error);
    if (!json) fail_msg("%s: line %d: %s", path, error.line, error.text);
    return json;
}

static inline void assert_json_equal(const json_t *got, const json_t *expected, const char *what)
{
    if (json_equal((json_t *)got, (json_t *)expected)) return;
    char *a = json_dumps(got, JSON_ENCODE_ANY | JSON_SORT_KEYS),
         *b = json_dumps(expected, JSON_ENCODE_ANY | JSON_SORT_KEYS);
    print_error("%s\n  is       %s\n  is to be %s\n", what, a, b);
    free(a);
    free(b);
    fail();
}

/* The bytes of a secret of the test's own, as text. */
static inline const char *secret_text(const struct secret *secret)
{
    size_t len;
    assert_non_null(secret);
    return secret_bytes(secret, &len);
}

static inline void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("\"%s\" has no \"%s\"", text, part);
}

static const struct delivery_policy test_defaults = {
    .max_attempts = 5, .backoff_base_ms = 1000, .backoff_cap_ms = 60000, .give_up_after_ms = 604800000};

/* Channels from JSON as it stands under `channels`; descriptors from dir. Ends the test if they do not load. */
struct test_channels {
    struct descriptor_set *descriptors;
    struct channel_set *set;
};

static inline void test_channels_open(struct test_channels *channels, const char *dir, json_t *own_json)
{
    struct errbuf err;
    channels->descriptors = descriptor_set_new(&dir, 1);
    if (!channel_set_load(own_json, NULL, channels->descriptors, &test_defaults, &channels->set, &err))
        fail_msg("%s", err.text);
    json_decref(own_json);
}

static inline void test_channels_close(struct test_channels *channels)
{
    channel_set_free(&channels->set);
    descriptor_set_free(&channels->descriptors);
}

#endif
