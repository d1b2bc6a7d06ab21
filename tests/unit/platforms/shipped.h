/* SPDX-License-Identifier: MIT */
/*
 * What the tests over descriptors with fixtures share: which platforms there are, the channel that a platform's
 * channel.json describes, and answers as fixtures write them.
 *
 * The folder is platforms/descriptors, or the program's argument: so a folder of somebody's own is tested in the same
 * way. Every descriptor must have fixtures. Include it behind support.h.
 */
#ifndef TESTS_PLATFORMS_SHIPPED_H
#define TESTS_PLATFORMS_SHIPPED_H

#include <dirent.h>
#include <stdio.h>

#include "platforms/answer.h"
#include "platforms/descriptor.h"

#define SHIPPED_MAX 128

static const char *shipped_folder = DESCRIPTORS;

/* For the leak check: libjq 1.6 forgets a name when a program fails within an object's members, which answers of odd
 * shapes make programs do. What we do with its values the tests of program.c watch, without this. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libjq";
}

/* Credentials of the forms that a channel is loaded with: kind jwt wants a key's id and the key, all others take a
 * signing secret. */
#define SHIPPED_SECRET "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
#define SHIPPED_KEY    "5f1c2e:000102030405060708090a0b0c0d0e0f"

static inline json_t *shipped_credentials(const char *platform)
{
    struct descriptor *d = NULL;
    struct errbuf err;
    char path[500];
    json_t *credentials = json_object();
    snprintf(path, sizeof path, "%s/%s.json", shipped_folder, platform);
    if (!descriptor_load(path, &d, &err)) fail_msg("%s", err.text);
    setenv("TEST_CREDENTIAL", d->auth == AUTH_JWT ? SHIPPED_KEY : SHIPPED_SECRET, 1);
    for (size_t i = 0; descriptor_credential(d, i); i++)
        json_object_set_new(credentials, descriptor_credential(d, i), json_of("{'env': 'TEST_CREDENTIAL'}"));
    descriptor_free(&d);
    return credentials;
}

/* The platform's channel "<platform>/brand", with another value for a setting; NULL: without that setting. */
static inline struct channel *shipped_channel_with(const char *platform, const char *setting, json_t *own_value,
                                                   struct test_channels *channels)
{
    char path[500], name[100];
    snprintf(path, sizeof path, "%s/fixtures/%s/channel.json", shipped_folder, platform);
    snprintf(name, sizeof name, "%s/brand", platform);
    json_t *json = json_file(path);
    json_t *credentials = shipped_credentials(platform);
    json_object_set_new(json, "platform", json_string(platform));
    if (json_object_size(credentials) > 0) json_object_set(json, "credentials", credentials);
    json_decref(credentials);
    json_t *settings = json_object_get(json, "settings");
    if (setting && own_value)
        json_object_set_new(settings, setting, own_value);
    else if (setting)
        json_object_del(settings, setting);
    test_channels_open(channels, shipped_folder, json_pack("{s:o}", name, json));
    struct channel *channel = channel_find(channels->set, name);
    assert_non_null(channel);
    return channel;
}

/* The same as its channel.json says. */
static inline struct channel *shipped_channel(const char *platform, struct test_channels *channels)
{
    return shipped_channel_with(platform, NULL, NULL, channels);
}

/* An answer as a fixture describes it: {status, headers, body} or {status, headers, text}. */
static inline void shipped_answer(struct answer *answer, const json_t *described)
{
    char line[1000];
    const char *name;
    json_t *value;
    answer_init(answer, 1 << 20);
    snprintf(line, sizeof line, "HTTP/1.1 %d X", (int)json_integer_value(json_object_get(described, "status")));
    answer_header_line(answer, line, strlen(line));
    json_object_foreach(json_object_get(described, "headers"), name, value)
    {
        snprintf(line, sizeof line, "%s: %s\r\n", name, json_string_value(value));
        answer_header_line(answer, line, strlen(line));
    }
    const json_t *body = json_object_get(described, "body"), *raw = json_object_get(described, "text");
    if (!body && !json_is_string(raw)) fail_msg("an answer needs body or text");
    char *text = body ? json_dumps(body, JSON_ENCODE_ANY) : strdup(json_string_value(raw));
    assert_true(answer_body(answer, text, strlen(text)));
    free(text);
    answer_finish(answer);
}

static inline int shipped_order(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* The names of the folder's platforms, sorted; 0 if it has none or too many. */
static inline size_t shipped_list(char names[SHIPPED_MAX][64], int argc, char **argv)
{
    size_t count = 0;
    if (argc > 1) shipped_folder = argv[1];
    DIR *dir = opendir(shipped_folder);
    for (struct dirent *entry; dir && count < SHIPPED_MAX && (entry = readdir(dir));) {
        const size_t len = strlen(entry->d_name);
        if (len < 6 || len > 60 || strcmp(entry->d_name + len - 5, ".json") != 0) continue;
        snprintf(names[count++], sizeof names[0], "%.*s", (int)(len - 5), entry->d_name);
    }
    if (dir) closedir(dir);
    if (count == 0 || count == SHIPPED_MAX) {
        fprintf(stderr, "%s: %zu descriptors\n", shipped_folder, count);
        return 0;
    }
    qsort(names, count, sizeof names[0], shipped_order);
    return count;
}

/* Runs the test once for each descriptor of the folder; *state is the platform's name. */
static inline int shipped_run(const char *group, int argc, char **argv, CMUnitTestFunction test)
{
    static struct CMUnitTest tests[SHIPPED_MAX];
    static char names[SHIPPED_MAX][64];
    const size_t count = shipped_list(names, argc, argv);
    for (size_t i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){names[i], test, NULL, NULL, names[i]};
    return count > 0 ? _cmocka_run_group_tests(group, tests, count, NULL, NULL) : 1;
}

#endif
