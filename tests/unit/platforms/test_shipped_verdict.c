/* SPDX-License-Identifier: MIT */
/*
 * The shipped descriptors' answers through verdict() itself: what their fixtures expect of the rules is what an attempt
 * reports. "default" is decided by the table of statuses.
 */
#include "support.h"

#include <stdio.h>

#include "platforms/answer.h"
#include "platforms/descriptor.h"
#include "platforms/transfer.h"
#include "platforms/verdict.h"

static const char *const platforms[] = {"bluesky", "forem", "indexnow", "mastodon", "webhook"};

static void fill_answer(struct answer *answer, const json_t *described)
{
    char line[1000];
    const char *name;
    json_t *value;
    answer_init(answer, 1 << 20);
    snprintf(line, sizeof line, "HTTP/1.1 %d X", (int)json_integer_value(json_object_get(described, "status")));
    answer_header_line(answer, line, strlen(line));
    json_object_foreach(json_object_get(described, "headers"), name, value)
    {
        snprintf(line, sizeof line, "%s: %s", name, json_string_value(value));
        answer_header_line(answer, line, strlen(line));
    }
    json_t *body = json_object_get(described, "body");
    char *text =
        body ? json_dumps(body, JSON_ENCODE_ANY) : strdup(json_string_value(json_object_get(described, "text")));
    assert_true(answer_body(answer, text, strlen(text)));
    free(text);
    answer_finish(answer);
}

static void check_outcome(const struct outcome *out, const json_t *expect, const char *name)
{
    const char *expected = json_string_value(json_object_get(expect, "outcome"));
    const char *id = json_string_value(json_object_get(expect, "id"));
    const char *url = json_string_value(json_object_get(expect, "url"));
    bool expired = strcmp(expected, "session_expired") == 0;
    if (strcmp(expected, "default") == 0)
        assert_int_not_equal(out->kind, EV_COMMITTED);
    else if (strcmp(delivery_event_name(out->kind), expired ? "credential" : expected) != 0)
        fail_msg("%s: is %s, is to be %s", name, delivery_event_name(out->kind), expected);
    if (expired && !out->session_expired) fail_msg("%s: the session is not seen to be over", name);
    if (id) assert_string_equal(out->ext_id, id);
    if (url) assert_string_equal(out->url, url);
}

static void test_fixtures(void **state)
{
    const char *platform = *state;
    struct test_channels channels;
    char path[500], name[64];
    snprintf(path, sizeof path, "%s/fixtures/%s/channel.json", DESCRIPTORS, platform);
    snprintf(name, sizeof name, "%s/brand", platform);
    setenv("TEST_CREDENTIAL", "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", 1);
    json_t *json = json_file(path);
    json_object_set_new(json, "platform", json_string(platform));
    json_object_set_new(json, "credential", json_of("{'env': 'TEST_CREDENTIAL'}"));
    test_channels_open(&channels, DESCRIPTORS, json_pack("{s:o}", name, json));
    struct channel *channel = channel_find(channels.set, name);
    snprintf(path, sizeof path, "%s/fixtures/%s/accept.json", DESCRIPTORS, platform);
    json_t *cases = json_file(path);
    assert_true(json_array_size(cases) > 0);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *test = json_array_get(cases, i);
        const json_t *input = json_object_get(test, "input");
        struct verdict_context context = {.input = input, .replay = json_is_true(json_object_get(input, "replay"))};
        struct transfer_facts facts = {.reached = true, .complete = true};
        struct answer answer;
        struct outcome out;
        fill_answer(&answer, json_object_get(test, "answer"));
        facts.status = answer.status;
        verdict(channel, &facts, &answer, &context, &out);
        check_outcome(&out, json_object_get(test, "expect"), json_string_value(json_object_get(test, "name")));
        facts.complete = false;
        verdict(channel, &facts, &answer, &context, &out);
        assert_int_equal(out.kind, EV_UNKNOWN);
        answer_fini(&answer);
    }
    json_decref(cases);
    test_channels_close(&channels);
}

int main(void)
{
    struct CMUnitTest tests[sizeof platforms / sizeof *platforms];
    for (size_t i = 0; i < sizeof platforms / sizeof *platforms; i++)
        tests[i] = (struct CMUnitTest){platforms[i], test_fixtures, NULL, NULL, (void *)platforms[i]};
    return cmocka_run_group_tests_name("verdicts of the shipped descriptors", tests, NULL, NULL);
}
