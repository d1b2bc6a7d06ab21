/* SPDX-License-Identifier: MIT */
/*
 * The shipped descriptors over answers of a shape that nobody expects: no program may take one for a proof. Nothing is
 * found, nothing is gone, no list is at its end, and no attempt is published, whatever stands where an object, a list
 * or a text should stand. A program that fails over such an answer has proven nothing, which is right.
 */
#include "support.h"

#include "shipped.h"

#include "platforms/program_input.h"
#include "platforms/transfer.h"
#include "platforms/verdict.h"

static const int statuses[] = {200, 201, 202, 400, 403, 404, 409, 410, 422, 500};

/* An empty list is not among them: for some it is the end of one. */
static const char *const bodies[] = {
    "null",
    "true",
    "5",
    "\"text\"",
    "{}",
    "[\"text\"]",
    "[null]",
    "[[]]",
    "{\"error\": \"x\"}",
    "{\"error\": [\"x\"]}",
    "{\"error\": {\"code\": [\"x\"]}}",
    "{\"errors\": \"x\"}",
    "{\"errors\": [\"x\", null, {\"code\": 5}]}",
    "{\"data\": \"x\"}",
    "{\"data\": [\"x\"]}",
    "{\"data\": {\"children\": \"x\"}}",
    "{\"posts\": \"x\"}",
    "{\"posts\": {\"x\": []}}",
    "{\"messages\": \"x\"}",
    "{\"json\": \"x\"}",
    "{\"json\": {\"errors\": \"x\"}}",
    "{\"message\": [\"x\"], \"code\": \"10008\"}",
    "{\"meta\": \"x\", \"data\": {}}",
    "{\"result\": \"x\", \"ok\": \"true\"}",
    "<html>page</html>",
};

struct odd {
    struct channel *channel;
    json_t *input;
    const char *shown; /* the answer, for people */
};

/* What a program of the read half gives; NULL: it fails, or there is none. */
static json_t *result_of(const struct odd *odd, const char *part)
{
    struct errbuf err;
    json_t *result = NULL;
    if (!part || !descriptor_run(odd->channel->descriptor, DESCRIPTOR_READ, part, odd->input, &result, &err))
        return NULL;
    return result;
}

static void check_not_true(const struct odd *odd, const char *part)
{
    json_t *result = result_of(odd, part);
    if (json_is_true(result)) fail_msg("%s: is true of %s", part, odd->shown);
    json_decref(result);
}

/* A page whose entries cannot be read is no page, and one with an entry that has no id makes the walk incomplete. */
static bool page_is_read(const struct odd *odd, const char *entries_part)
{
    json_t *entries = result_of(odd, entries_part), *entry;
    bool read = json_is_array(entries);
    size_t i;
    json_array_foreach(entries, i, entry) read = read && !json_is_null(json_object_get(entry, "id"));
    json_decref(entries);
    return read;
}

static void check_found_nothing(const struct odd *odd, const char *part)
{
    json_t *result = result_of(odd, part);
    if (json_is_string(json_object_get(result, "id"))) fail_msg("%s: finds a post in %s", part, odd->shown);
    json_decref(result);
}

static void check_not_published(const struct odd *odd, const struct answer *answer)
{
    const struct transfer_facts facts = {.reached = true, .complete = true, .status = answer->status};
    struct program_input *seen = program_input_new(odd->input);
    const struct verdict_context context = {.input = seen};
    struct outcome out;
    verdict(odd->channel, &facts, answer, &context, &out);
    program_input_free(&seen);
    if (out.kind == EV_COMMITTED && odd->channel->descriptor->gives_id)
        fail_msg("%s: published as \"%s\" by %s", odd->channel->name, out.ext_id, odd->shown);
}

static void check_answer(struct odd *odd, int status, const char *body)
{
    const struct descriptor *d = odd->channel->descriptor;
    char shown[200];
    struct answer answer;
    json_t *described = json_pack("{s:i, s:{s:s}, s:s}", "status", status, "headers", "content-type",
                                  body[0] == '<' ? "text/html" : "application/json", "text", body);
    shipped_answer(&answer, described);
    json_object_set_new(odd->input, "answer", answer_to_json(&answer));
    snprintf(shown, sizeof shown, "%d %s", status, body);
    odd->shown = shown;
    check_not_true(odd, d->by_id.gone_part);
    check_not_true(odd, d->by_key.gone_part);
    if (page_is_read(odd, d->listing.entries_part)) check_not_true(odd, d->listing.end_part);
    check_found_nothing(odd, d->by_id.found_part);
    check_found_nothing(odd, d->by_key.found_part);
    json_object_del(odd->input, "answer");
    check_not_published(odd, &answer);
    answer_fini(&answer);
    json_decref(described);
}

static void test_odd_answers(void **state)
{
    struct test_channels channels;
    struct odd odd = {.channel = shipped_channel(*state, &channels)};
    const struct channel_facts known = {.key = "lf-it-1-00112233445566778899aabbccddeeff"};
    odd.input = channel_input(odd.channel, &known);
    json_object_set_new(odd.input, "ext_id", json_string("7"));
    json_object_set_new(odd.input, "cursor", json_string("c"));
    json_object_set_new(odd.input, "marks", json_of("{'keys': ['k'], 'urls': ['https://blog.example/p/1']}"));
    json_object_set_new(odd.input, "prepared", json_of("{'repository': 'lf/tool', 'me': '1'}"));
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++)
            check_answer(&odd, statuses[i], bodies[k]);
    json_decref(odd.input);
    test_channels_close(&channels);
}

int main(int argc, char **argv)
{
    return shipped_run("odd answers", argc, argv, test_odd_answers);
}
