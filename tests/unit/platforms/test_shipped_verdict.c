/* SPDX-License-Identifier: MIT */
/*
 * The shipped descriptors' answers through verdict() itself: what their fixtures expect of the rules is what an attempt
 * reports. "default" is decided by the table of statuses; a case's `verdict` says how.
 */
#include "support.h"

#include "shipped.h"

#include "platforms/program_input.h"
#include "platforms/transfer.h"
#include "platforms/verdict.h"

static void check_outcome(const struct outcome *out, const json_t *test, const char *name, bool session)
{
    const json_t *expect = json_object_get(test, "expect");
    const char *expected = json_string_value(json_object_get(expect, "outcome"));
    const char *id = json_string_value(json_object_get(expect, "id"));
    const char *url = json_string_value(json_object_get(expect, "url"));
    bool expired = strcmp(expected, "session_expired") == 0;
    /* A case that names the event is looked at below: a rule for successes can meet one without an id. */
    bool named = json_object_get(json_object_get(test, "verdict"), "event") != NULL;
    if (!named && strcmp(expected, "default") == 0)
        assert_int_not_equal(out->kind, EV_COMMITTED);
    else if (!named && strcmp(delivery_event_name(out->kind), expired ? "credential" : expected) != 0)
        fail_msg("%s: is %s, is to be %s", name, delivery_event_name(out->kind), expected);
    if (expired && out->session_expired != session) fail_msg("%s: whether the session is over is not seen", name);
    if (id) assert_string_equal(out->ext_id, id);
    if (url) assert_string_equal(out->url, url);
    const char *duplicate = json_string_value(json_object_get(expect, "duplicate"));
    assert_string_equal(out->duplicate, duplicate ? duplicate : "");
}

/* What a case says of the verdict itself, beyond its rule: {event, reason, ext_id, wait_ms, spent_ms}, all
 * optional. */
static void check_verdict(const struct outcome *out, const json_t *expect, const char *name)
{
    const char *event = json_string_value(json_object_get(expect, "event"));
    const char *reason = json_string_value(json_object_get(expect, "reason"));
    const char *id = json_string_value(json_object_get(expect, "ext_id"));
    const json_t *wait = json_object_get(expect, "wait_ms"), *spent = json_object_get(expect, "spent_ms");
    if (event && strcmp(delivery_event_name(out->kind), event) != 0)
        fail_msg("%s: the event is %s, is to be %s", name, delivery_event_name(out->kind), event);
    if (reason && strcmp(delivery_reason_name(out->reason), reason) != 0)
        fail_msg("%s: the reason is %s, is to be %s", name, delivery_reason_name(out->reason), reason);
    if (wait && json_integer_value(wait) != out->wait_ms)
        fail_msg("%s: the wait is %lld ms, is to be %lld ms", name, (long long)out->wait_ms,
                 (long long)json_integer_value(wait));
    if (json_integer_value(spent) != out->spent_ms)
        fail_msg("%s: the channel waits %lld ms", name, (long long)out->spent_ms);
    if (id && strcmp(id, out->ext_id) != 0) fail_msg("%s: the id is %s, is to be %s", name, out->ext_id, id);
}

static void test_fixtures(void **state)
{
    struct test_channels channels;
    char path[500];
    struct channel *channel = shipped_channel(*state, &channels);
    snprintf(path, sizeof path, "%s/fixtures/%s/accept.json", shipped_folder, (const char *)*state);
    json_t *cases = json_file(path);
    assert_true(json_array_size(cases) > 0);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *test = json_array_get(cases, i);
        const struct channel_facts known = {.item = json_object_get(test, "item")};
        json_t *input = channel_input(channel, &known);
        json_object_update(input, json_object_get(test, "input"));
        struct program_input *seen = program_input_new(input);
        struct verdict_context context = {.input = seen,
                                          .replay = json_is_true(json_object_get(input, "replay")),
                                          .session = channel_has_session(channel)};
        struct transfer_facts facts = {.reached = true, .complete = true};
        struct answer answer;
        struct outcome out;
        shipped_answer(&answer, json_object_get(test, "answer"));
        facts.status = answer.status;
        verdict(channel, &facts, &answer, &context, &out);
        check_outcome(&out, test, json_string_value(json_object_get(test, "name")), context.session);
        check_verdict(&out, json_object_get(test, "verdict"), json_string_value(json_object_get(test, "name")));
        facts.complete = false;
        verdict(channel, &facts, &answer, &context, &out);
        assert_int_equal(out.kind, EV_UNKNOWN);
        answer_fini(&answer);
        program_input_free(&seen);
        json_decref(input);
    }
    json_decref(cases);
    test_channels_close(&channels);
}

int main(int argc, char **argv)
{
    return shipped_run("verdicts of descriptors", argc, argv, test_fixtures);
}
