/* SPDX-License-Identifier: MIT */
/* What every kind of answer does to a delivery: judged by the engine, told in words. */
#include <inttypes.h>
#include <string.h>

#include "cli/check_words.h"
#include "cli/out.h"
#include "cli/sample.h"
#include "platforms/program_input.h"
#include "platforms/rehearse.h"
#include "platforms/transfer.h"

static const char *const event_words[EV_COUNT] = {
    [EV_COMMITTED] = "it was executed",
    [EV_NO_ID] = "it was executed, and nobody says under which id",
    [EV_REFUSED] = "refused for good",
    [EV_NOT_SENT] = "nothing was sent",
    [EV_UNSENDABLE] = "nothing was sent, for nothing can be made of it",
    [EV_NOT_COMMITTED] = "not executed",
    [EV_WAIT] = "not executed, the platform asks to wait",
    [EV_CREDENTIAL] = "not executed, the credential was refused",
    [EV_UNKNOWN] = "nobody knows whether it was executed",
    [EV_CONFLICT] = "the key belongs to another request",
    [EV_DELETED] = "it was published under this key and then deleted",
};

static json_t *report_words(struct channel *channel, const struct outcome *out, bool again)
{
    const struct delivery_decision d = rehearse_report(channel, out, again);
    char before[200];
    snprintf(before, sizeof(before), "%s%s: ", event_words[out->kind] ? event_words[out->kind] : "?",
             out->session_expired ? "; a new login, the same once more, and if that is refused, too" : "");
    return check_words_decision(before, &d, REHEARSE_NOW_MS);
}

/* ---- answers that any platform may give */

enum { OWN_SUCCESS = 0 }; /* status: the platform's own word for success */

static const struct situation {
    const char *name;
    bool reached, complete;
    int status;
    const char *body; /* NULL: a page of somebody's */
} situations[] = {
    {"nothing was sent", false, false, 0, ""},
    {"no answer", true, false, 0, ""},
    {"an answer that is cut off", true, false, 200, "{}"},
    {"success without an id", true, true, OWN_SUCCESS, "{}"},
    {"success as a page of HTML", true, true, OWN_SUCCESS, NULL},
    {"301", true, true, 301, "{}"},
    {"302", true, true, 302, "{}"},
    {"400", true, true, 400, "{}"},
    {"400 as a page of HTML", true, true, 400, NULL},
    {"401", true, true, 401, "{}"},
    {"403", true, true, 403, "{}"},
    {"404", true, true, 404, "{}"},
    {"409", true, true, 409, "{}"},
    {"422", true, true, 422, "{}"},
    {"429", true, true, 429, "{}"},
    {"500", true, true, 500, "{}"},
    {"502", true, true, 502, NULL},
    {"503", true, true, 503, "{}"},
};

static json_t *judged(struct channel *channel, const struct transfer_facts *facts, const struct answer *answer,
                      const json_t *input, bool again)
{
    struct program_input *seen = program_input_new(input);
    const struct verdict_context context = {
        .input = seen, .replay = again, .session = channel_has_session(channel), .now_ms = REHEARSE_NOW_MS};
    struct outcome out;
    verdict(channel, facts, answer, &context, &out);
    program_input_free(&seen);
    return report_words(channel, &out, again);
}

static json_t *situation_words(struct channel *channel, const struct situation *s, bool again)
{
    const int status =
        s->complete && s->status == OWN_SUCCESS ? rehearse_success_status(channel->descriptor) : s->status;
    const char *text = s->body ? s->body : "<html>page</html>";
    char line[64];
    struct answer answer;
    answer_init(&answer, ANSWER_BODY_MAX_BYTES);
    snprintf(line, sizeof(line), "HTTP/1.1 %d X", status > 0 ? status : 200);
    answer_header_line(&answer, line, strlen(line));
    snprintf(line, sizeof(line), "content-type: %s", s->body ? "application/json" : "text/html");
    answer_header_line(&answer, line, strlen(line));
    (void)answer_body(&answer, text, strlen(text));
    answer_finish(&answer);
    const struct channel_facts known = {.key = "lf-sample-00112233445566778899aabbccddeeff", .replay = again};
    const struct transfer_facts facts = {.reached = s->reached, .complete = s->complete, .status = status};
    json_t *input = channel_input(channel, &known);
    json_t *words = judged(channel, &facts, &answer, input, again);
    json_decref(input);
    answer_fini(&answer);
    return words;
}

/* What is answered alike stands together. */
static void add_answer(json_t *all, const char *name, json_t *own_then)
{
    json_t *one = NULL;
    for (size_t i = 0; i < json_array_size(all) && !one; i++)
        if (json_equal(json_object_get(json_array_get(all, i), "then"), own_then)) one = json_array_get(all, i);
    if (one) {
        json_decref(own_then);
    } else {
        one = json_object();
        out_set(one, "answers", json_array());
        out_set(one, "then", own_then);
        out_add(all, one);
    }
    out_add(json_object_get(one, "answers"), out_string(name));
}

static json_t *answers(struct channel *channel, bool again)
{
    json_t *all = json_array();
    if (channel->policy.gives_id) {
        struct outcome known = {.kind = EV_COMMITTED, .ext_id = "7"};
        add_answer(all, "success with its id", report_words(channel, &known, again));
    }
    for (size_t i = 0; i < sizeof(situations) / sizeof(*situations); i++)
        add_answer(all, situations[i].name, situation_words(channel, &situations[i], again));
    return all;
}

/* ---- the platform's own answers */

static void add_case(json_t *all, struct channel *channel, const json_t *test)
{
    struct answer answer;
    struct errbuf err;
    char name[200];
    const char *title = json_string_value(json_object_get(test, "name"));
    const json_t *given = json_object_get(test, "input");
    if (json_object_get(test, "program") || json_object_get(test, "request")) return;
    if (!sample_answer(json_object_get(test, "answer"), &answer, &err)) return; /* check_fixtures says so */
    const struct channel_facts known = {.item = json_object_get(test, "item")};
    json_t *input = channel_input(channel, &known);
    if (json_is_object(given)) json_object_update(input, (json_t *)given);
    const struct transfer_facts facts = {.reached = true, .complete = true, .status = answer.status};
    snprintf(name, sizeof(name), "%d %s", answer.status, title ? title : "");
    add_answer(all, name, judged(channel, &facts, &answer, input, json_is_true(json_object_get(input, "replay"))));
    json_decref(input);
    answer_fini(&answer);
}

json_t *check_words_answers(void *context)
{
    const struct check_words *words = context;
    json_t *all = json_object(), *own = json_array();
    out_set(all, "first", answers(words->channel, false));
    out_set(all, "again", words->channel->policy.harmless ? json_array() : answers(words->channel, true));
    for (size_t i = 0; i < json_array_size(words->cases); i++)
        add_case(own, words->channel, json_array_get(words->cases, i));
    out_set(all, "own", own);
    return all;
}
