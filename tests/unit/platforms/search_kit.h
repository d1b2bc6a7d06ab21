/* SPDX-License-Identifier: MIT */
/*
 * A platform out of canned answers, for the tests of walks and look-ups: descriptors that differ in their paging, the
 * channel of one of them, and answers made of a status, headers and a body. JSON is written with ' for ".
 */
#ifndef LANDFALL_TESTS_UNIT_PLATFORMS_SEARCH_KIT_H
#define LANDFALL_TESTS_UNIT_PLATFORMS_SEARCH_KIT_H

#include "tests/unit/keys/test.h"

#include <jansson.h>
#include <unistd.h>

#include "platforms/answer.h"
#include "platforms/channel.h"
#include "platforms/descriptor.h"
#include "platforms/form.h"
#include "platforms/transfer.h"
#include "runtime/die.h"

#define FROM INT64_C(1790000000000) /* when the first attempt was sent; posts give their time as seconds from here */
#define BY   (FROM + 90000)

struct kit {
    char dir[64];
    struct descriptor_set *descriptors;
    struct channel_set *channels;
    struct channel *channel;
};

static inline char *quoted(const char *text)
{
    char *copy = xstrdup(text);
    for (char *c = copy; *c != '\0'; c++)
        if (*c == '\'') *c = '"';
    return copy;
}

static inline json_t *parse(const char *text)
{
    char *copy = quoted(text);
    json_error_t error;
    json_t *value = json_loads(copy, JSON_DECODE_ANY, &error);
    if (value == NULL) fail_msg("%s: %s", copy, error.text);
    free(copy);
    return value;
}

/* A channel of a platform whose `reads` and `marks` are given; auth NULL: none. */
static inline void kit_open(struct kit *kit, json_t *own_reads, json_t *own_auth)
{
    json_t *descriptor =
        parse("{'platform': 't', 'title': 'T', 'docs': ['https://p.test'], 'tier': 'read', 'repeats': 'harmful',"
              " 'key': {'format': 'plain', 'window_s': 0},"
              " 'write': {'request': {'method': 'POST', 'url': '\\'https://p.test/post\\''}},"
              " 'accept': [{'status': [200], 'outcome': 'committed', 'id': '.answer.body.id'}],"
              " 'limits': [{'status': [429, 403], 'header': 'retry-after', 'form': 'seconds_or_date'}]}");
    if (own_auth != NULL)
        json_array_append_new(
            json_object_get(descriptor, "accept"),
            parse("{'if': '.answer.body.error? == \\'ExpiredToken\\'', 'outcome': 'session_expired'}"));
    json_object_set_new(descriptor, "auth", own_auth != NULL ? own_auth : parse("{'kind': 'none'}"));
    if (json_object_get(own_reads, "listing") != NULL)
        json_object_set_new(descriptor, "marks", json_string("{keys: [.key]}"));
    json_object_set_new(descriptor, "reads", own_reads);

    snprintf(kit->dir, sizeof kit->dir, "/tmp/landfall-search-XXXXXX");
    assert_non_null(mkdtemp(kit->dir));
    char *path = xformat("%s/t.json", kit->dir);
    assert_int_equal(json_dump_file(descriptor, path, 0), 0);
    json_decref(descriptor);
    free(path);

    const char *dirs[] = {kit->dir};
    const struct delivery_policy defaults = {.max_attempts = 5, .backoff_base_ms = 1000, .backoff_cap_ms = 60000};
    struct errbuf err = {""};
    json_t *channels = parse(own_auth == NULL ? "{'t/a': {'platform': 't'}}"
                                              : "{'t/a': {'platform': 't', 'credential': {'env': 'LANDFALL_TEST_T'}}}");
    setenv("LANDFALL_TEST_T", "open sesame", 1);
    kit->descriptors = descriptor_set_new(dirs, 1);
    if (!channel_set_load(channels, NULL, kit->descriptors, &defaults, &kit->channels, &err)) fail_msg("%s", err.text);
    json_decref(channels);
    kit->channel = channel_find(kit->channels, "t/a");
    assert_non_null(kit->channel);
}

static inline void kit_close(struct kit *kit)
{
    channel_set_free(&kit->channels);
    descriptor_set_free(&kit->descriptors);
    char *path = xformat("%s/t.json", kit->dir);
    unlink(path);
    rmdir(kit->dir);
    free(path);
}

/* status 0: no answer came; headers: lines with \n between them, or NULL. */
static inline void answer_of(struct answer *answer, struct transfer_facts *facts, int status, const char *headers,
                             const char *body)
{
    memset(facts, 0, sizeof *facts);
    answer_init(answer, 1 << 20);
    facts->reached = true;
    if (status == 0) {
        snprintf(facts->error, sizeof facts->error, "connection reset");
        return;
    }
    facts->complete = true;
    facts->status = status;
    char line[64];
    snprintf(line, sizeof line, "HTTP/1.1 %d X", status);
    answer_header_line(answer, line, strlen(line));
    const char *rest = headers != NULL ? headers : "content-type: application/json";
    while (*rest != '\0') {
        const size_t len = strcspn(rest, "\n");
        answer_header_line(answer, rest, len);
        rest += len + (rest[len] == '\n');
    }
    char *copy = quoted(body);
    answer_body(answer, copy, strlen(copy));
    answer_finish(answer);
    free(copy);
}

/* The URL of a form, holes as {name}. */
static inline char *url_of(const struct form *form)
{
    char *url = xstrdup("");
    for (size_t i = 0; i < form->url.count; i++) {
        const struct form_segment *segment = &form->url.segments[i];
        char *more = xformat(segment->hole ? "%s{%s}" : "%s%s", url, segment->text);
        free(url);
        url = more;
    }
    return url;
}

#endif
