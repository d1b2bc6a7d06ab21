/* SPDX-License-Identifier: MIT */
/*
 * The descriptors that are shipped (or those of the folder that is given), over fixtures in the true shape of their
 * platforms.
 *
 * Each platform has a folder: channel.json (settings), and lists of cases. A case with `answer` and no `program` asks
 * the accept rules ("default": none fits); one with `program` runs it; one with `request` renders, and a hole is shown
 * as {name}. Every rule must decide at least one case, every program of the read half must run.
 */
#include "support.h"

#include "shipped.h"

#include "platforms/descriptor_table.h"
#include "platforms/form.h"
#include "platforms/shape.h"
#include "platforms/text.h"

struct suite {
    struct test_channels channels;
    struct channel *channel;
    bool rule_decided[64];
    json_t *programs_run; /* object: path to true */
};

static json_t *answer_of(const json_t *described)
{
    struct answer answer;
    shipped_answer(&answer, described);
    json_t *json = answer_to_json(&answer);
    answer_fini(&answer);
    return json;
}

/* What the programs see: the channel's input, the case's own members, the text and the answer. */
static json_t *input_of(struct suite *suite, const json_t *test)
{
    const json_t *given = json_object_get(test, "input");
    struct channel_facts facts = {.item = json_object_get(test, "item"),
                                  .approved_at_ms = json_integer_value(json_object_get(given, "approved_at_ms"))};
    json_t *input = channel_input(suite->channel, &facts);
    if (given) json_object_update(input, (json_t *)given);
    if (facts.item) {
        struct errbuf err;
        char *text;
        if (!channel_text(suite->channel, DESCRIPTOR_WRITE, input, &text, &err)) fail_msg("%s", err.text);
        if (text) {
            json_object_set_new(input, "text", json_string(text));
            json_object_set_new(input, "text_facts", text_facts_json(text));
        }
        free(text);
    }
    if (json_object_get(test, "answer"))
        json_object_set_new(input, "answer", answer_of(json_object_get(test, "answer")));
    return input;
}

static json_t *run(struct suite *suite, enum descriptor_half half, const char *part, const json_t *input)
{
    struct errbuf err;
    json_t *result;
    if (!descriptor_run(suite->channel->descriptor, half, part, input, &result, &err)) fail_msg("%s", err.text);
    json_object_set_new(suite->programs_run, part, json_true());
    return result;
}

static void set_text(json_t *object, const char *name, struct suite *suite, const char *part, const json_t *input)
{
    if (!part) return;
    json_t *value = run(suite, DESCRIPTOR_WRITE, part, input);
    if (json_is_integer(value)) {
        char digits[32];
        snprintf(digits, sizeof(digits), "%lld", (long long)json_integer_value(value));
        json_object_set_new(object, name, json_string(digits));
    } else if (!json_is_null(value)) {
        json_object_set(object, name, value);
    }
    json_decref(value);
}

static json_t *decide(struct suite *suite, const json_t *input)
{
    const struct descriptor *d = suite->channel->descriptor;
    int status = (int)json_integer_value(json_object_get(json_object_get(input, "answer"), "status"));
    for (size_t i = 0; i < d->rule_count; i++) {
        const struct descriptor_rule *rule = &d->rules[i];
        if (!descriptor_status_fits(&rule->statuses, status)) continue;
        if (rule->if_part) {
            json_t *fits = run(suite, DESCRIPTOR_WRITE, rule->if_part, input);
            bool yes = json_is_true(fits);
            json_decref(fits);
            if (!yes) continue;
        }
        suite->rule_decided[i] = true;
        json_t *out = json_pack("{s:s}", "outcome", descriptor_outcome_name(rule->outcome));
        set_text(out, "id", suite, rule->id_part, input);
        set_text(out, "url", suite, rule->url_part, input);
        set_text(out, "duplicate", suite, rule->duplicate_part, input);
        return out;
    }
    return json_pack("{s:s}", "outcome", "default");
}

static const struct descriptor_request *request_at(const struct descriptor *d, const char *path)
{
    if (strcmp(path, "write.request") == 0) return &d->write;
    if (strcmp(path, "auth.login") == 0) return &d->login.request;
    if (strcmp(path, "auth.refresh") == 0) return &d->refresh.request;
    for (size_t i = 0; i < d->login_step_count; i++) {
        char step[64];
        snprintf(step, sizeof(step), "auth.steps[%zu].request", i);
        if (strcmp(path, step) == 0) return &d->login_steps[i].request;
    }
    for (size_t i = 0; i < d->prepare_count; i++) {
        char step[64];
        snprintf(step, sizeof(step), "prepare[%zu].request", i);
        if (strcmp(path, step) == 0) return &d->prepare[i].request;
    }
    for (size_t i = 0; i < d->read_prepare_count; i++) {
        char step[64];
        snprintf(step, sizeof(step), "reads.prepare[%zu].request", i);
        if (strcmp(path, step) == 0) return &d->read_prepare[i].request;
    }
    if (strcmp(path, "reads.by_id.request") == 0) return &d->by_id.request;
    if (strcmp(path, "reads.by_key.request") == 0) return &d->by_key.request;
    if (strcmp(path, "reads.listing.request") == 0) return &d->listing.request;
    fail_msg("no request %s", path);
    return NULL;
}

static char *show(const struct form_text *text)
{
    size_t size = 1;
    for (size_t i = 0; i < text->count; i++)
        size += text->segments[i].len + 2;
    char *out = calloc(1, size);
    for (size_t i = 0; i < text->count; i++)
        snprintf(out + strlen(out), size - strlen(out), text->segments[i].hole ? "{%s}" : "%s", text->segments[i].text);
    return out;
}

static json_t *render(struct suite *suite, const char *path, const json_t *input)
{
    struct errbuf err;
    struct form form;
    enum descriptor_half half = strncmp(path, "reads", 5) == 0 ? DESCRIPTOR_READ : DESCRIPTOR_WRITE;
    if (!form_render(suite->channel, half, request_at(suite->channel->descriptor, path), input, &form, &err))
        fail_msg("%s", err.text);
    char *url = show(&form.url);
    json_t *headers = json_object(),
           *out = json_pack("{s:s, s:s, s:o}", "method", form.method, "url", url, "headers", headers);
    for (size_t i = 0; i < form.header_count; i++) {
        char *value = show(&form.headers[i].value);
        json_object_set_new(headers, form.headers[i].name, json_string(value));
        free(value);
    }
    if (form.has_body) {
        char *body = show(&form.body);
        json_t *json = json_loads(body, 0, NULL); /* a form is shown as it is */
        json_object_set_new(out, "body", json ? json : json_string(body));
        free(body);
    }
    free(url);
    form_fini(&form);
    return out;
}

static void run_case(struct suite *suite, const char *file, const json_t *test)
{
    char what[300];
    snprintf(what, sizeof(what), "%.100s: %.150s", file, json_string_value(json_object_get(test, "name")));
    json_t *input = input_of(suite, test), *got;
    const char *program = json_string_value(json_object_get(test, "program"));
    const char *request = json_string_value(json_object_get(test, "request"));
    if (request)
        got = render(suite, request, input);
    else if (program)
        got = run(suite, strncmp(program, "prepare[", 8) == 0 ? DESCRIPTOR_WRITE : DESCRIPTOR_READ, program, input);
    else
        got = decide(suite, input);
    assert_json_equal(got, json_object_get(test, "expect"), what);
    json_decref(got);
    json_decref(input);
}

static void run_file(struct suite *suite, const char *path)
{
    json_t *cases = json_file(path);
    assert_true(json_array_size(cases) > 0);
    for (size_t i = 0; i < json_array_size(cases); i++)
        run_case(suite, path, json_array_get(cases, i));
    json_decref(cases);
}

static void open_suite(struct suite *suite, const char *platform)
{
    memset(suite, 0, sizeof(*suite));
    suite->channel = shipped_channel(platform, &suite->channels);
    suite->programs_run = json_object();
}

static void check_read_part(const struct suite *suite, const char *part)
{
    if (part && !json_object_get(suite->programs_run, part))
        fail_msg("%s: no fixture runs $.%s", suite->channel->descriptor->file, part);
}

static void test_fixtures(void **state)
{
    struct suite suite;
    open_suite(&suite, *state);
    char folder[500], path[800];
    snprintf(folder, sizeof(folder), "%s/fixtures/%s", shipped_folder, (const char *)*state);
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (!strstr(entry->d_name, ".json") || strcmp(entry->d_name, "channel.json") == 0 ||
            strcmp(entry->d_name, "walks.json") == 0) /* another test reads it */
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        run_file(&suite, path);
    }
    closedir(dir);

    const struct descriptor *d = suite.channel->descriptor;
    for (size_t i = 0; i < d->rule_count; i++)
        if (!suite.rule_decided[i]) fail_msg("%s: no fixture is decided by $.accept[%zu]", d->file, i);
    for (size_t i = 0; i < d->prepare_count; i++) {
        check_read_part(&suite, d->prepare[i].keep_part);
        check_read_part(&suite, d->prepare[i].again_part);
    }
    for (size_t i = 0; i < d->read_prepare_count; i++)
        check_read_part(&suite, d->read_prepare[i].keep_part);
    for (size_t i = 0; i < d->login_step_count; i++)
        check_read_part(&suite, d->login_steps[i].keep_part);
    const char *const parts[] = {
        d->token_part,           d->by_id.found_part,  d->by_id.gone_part,  d->by_key.found_part, d->by_key.gone_part,
        d->listing.entries_part, d->listing.next_part, d->listing.end_part, d->marks_part,        d->refused_part};
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        check_read_part(&suite, parts[i]);
    json_decref(suite.programs_run);
    test_channels_close(&suite.channels);
}

int main(int argc, char **argv)
{
    return shipped_run("descriptors", argc, argv, test_fixtures);
}
