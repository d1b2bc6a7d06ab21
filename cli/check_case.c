/* SPDX-License-Identifier: MIT */
#include "cli/check_case.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/out.h"
#include "cli/sample.h"
#include "platforms/form.h"
#include "platforms/program_input.h"
#include "platforms/text.h"
#include "platforms/transfer.h"
#include "platforms/verdict.h"
#include "runtime/buf.h"

#define SHOWN_MAX 140 /* bytes of each side of a difference */

struct running {
    struct channel *channel;
    const json_t *test;
    json_t *result, *ran, *input;
    struct answer answer;
    bool has_answer;
    struct errbuf err;
};

static const char *text_at(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

/* ---- what the programs see */

static bool add_text(struct running *r)
{
    char *text = NULL;
    if (!channel_text(r->channel, DESCRIPTOR_WRITE, r->input, &text, &r->err)) return false;
    if (text) {
        out_set(r->input, "text", out_string(text));
        out_set(r->input, "text_facts", text_facts_json(text));
    }
    free(text);
    return true;
}

static bool make_input(struct running *r)
{
    const json_t *given = json_object_get(r->test, "input"), *described = json_object_get(r->test, "answer");
    const struct channel_facts facts = {.item = json_object_get(r->test, "item"),
                                        .approved_at_ms = json_integer_value(json_object_get(given, "approved_at_ms"))};
    r->input = channel_input(r->channel, &facts);
    if (json_is_object(given)) json_object_update(r->input, (json_t *)given);
    if (facts.item && !add_text(r)) return false;
    if (!described) return true;
    r->has_answer = sample_answer(described, &r->answer, &r->err);
    if (r->has_answer) out_set(r->input, "answer", answer_to_json(&r->answer));
    return r->has_answer;
}

/* ---- programs */

static bool run_part(struct running *r, enum descriptor_half half, const char *part, json_t **result)
{
    out_add(r->ran, out_string(part));
    return descriptor_run(r->channel->descriptor, half, part, r->input, result, &r->err);
}

/* What a rule's program gives, as the outcome would have it: a whole number as text, null left out. */
static bool set_value(struct running *r, json_t *decided, const char *name, const char *part)
{
    json_t *value = NULL;
    if (!part) return true;
    if (!run_part(r, DESCRIPTOR_WRITE, part, &value)) return false;
    if (json_is_integer(value)) {
        char digits[32];
        snprintf(digits, sizeof(digits), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        out_set(decided, name, out_string(digits));
    } else if (!json_is_null(value)) {
        out_set(decided, name, json_incref(value));
    }
    json_decref(value);
    return true;
}

static bool rule_fits(struct running *r, const struct descriptor_rule *rule, bool *fits)
{
    *fits = descriptor_status_fits(&rule->statuses, r->answer.status);
    if (!*fits || !rule->if_part) return true;
    json_t *yes = NULL;
    if (!run_part(r, DESCRIPTOR_WRITE, rule->if_part, &yes)) return false;
    *fits = json_is_true(yes);
    json_decref(yes);
    return true;
}

static bool decide(struct running *r, json_t **out)
{
    const struct descriptor *d = r->channel->descriptor;
    *out = json_object();
    out_set(*out, "outcome", out_string("default"));
    for (size_t i = 0; i < d->rule_count; i++) {
        const struct descriptor_rule *rule = &d->rules[i];
        bool fits;
        if (!rule_fits(r, rule, &fits)) return false;
        if (!fits) continue;
        out_set(r->result, "rule", json_integer((json_int_t)i));
        out_set(*out, "outcome", out_string(descriptor_outcome_name(rule->outcome)));
        return set_value(r, *out, "id", rule->id_part) && set_value(r, *out, "url", rule->url_part) &&
               set_value(r, *out, "duplicate", rule->duplicate_part);
    }
    return true;
}

/* ---- requests */

static const struct descriptor_request *login_request_at(const struct descriptor *d, const char *path)
{
    char name[64];
    if (strcmp(path, "login") == 0) return d->login.request.method ? &d->login.request : NULL;
    if (strcmp(path, "refresh") == 0) return d->refresh.request.method ? &d->refresh.request : NULL;
    for (size_t i = 0; i < d->login_step_count; i++) {
        snprintf(name, sizeof(name), "steps[%zu].request", i);
        if (strcmp(path, name) == 0) return &d->login_steps[i].request;
    }
    return NULL;
}

static const struct descriptor_request *request_at(const struct descriptor *d, const char *path)
{
    char name[64];
    if (strcmp(path, "write.request") == 0) return &d->write;
    if (strncmp(path, "auth.", 5) == 0) return login_request_at(d, path + 5);
    if (strcmp(path, "reads.by_id.request") == 0) return d->by_id.given ? &d->by_id.request : NULL;
    if (strcmp(path, "reads.by_key.request") == 0) return d->by_key.given ? &d->by_key.request : NULL;
    if (strcmp(path, "reads.listing.request") == 0) return d->listing.given ? &d->listing.request : NULL;
    for (size_t i = 0; i < d->read_prepare_count; i++) {
        snprintf(name, sizeof(name), "reads.prepare[%zu].request", i);
        if (strcmp(path, name) == 0) return &d->read_prepare[i].request;
    }
    for (size_t i = 0; i < d->prepare_count; i++) {
        snprintf(name, sizeof(name), "prepare[%zu].request", i);
        if (strcmp(path, name) == 0) return &d->prepare[i].request;
    }
    return NULL;
}

/* A hole is shown as {name}. */
static json_t *shown(const struct form_text *text, bool as_json)
{
    struct buf out;
    json_t *value = NULL;
    buf_init(&out, 2 * FORM_BODY_MAX_BYTES);
    for (size_t i = 0; i < text->count; i++) {
        if (text->segments[i].hole)
            buf_append_format(&out, "{%s}", text->segments[i].text);
        else
            buf_append(&out, text->segments[i].text, text->segments[i].len);
    }
    if (as_json) value = json_loadb(buf_text(&out), out.len, 0, NULL); /* a form is shown as it is */
    if (!value) value = out_bytes(buf_text(&out), out.len);
    buf_fini(&out);
    return value;
}

static bool render(struct running *r, const char *path, json_t **out)
{
    const enum descriptor_half half = strncmp(path, "reads", 5) == 0 ? DESCRIPTOR_READ : DESCRIPTOR_WRITE;
    const struct descriptor_request *request = request_at(r->channel->descriptor, path);
    struct form form;
    if (!request)
        return errbuf_set(
            &r->err, "the descriptor has no request %s; it is named by its place, such as reads.prepare[0].request",
            path);
    if (!form_render(r->channel, half, request, r->input, &form, &r->err)) return false;
    json_t *headers = json_object();
    for (size_t i = 0; i < form.header_count; i++)
        out_set(headers, form.headers[i].name, shown(&form.headers[i].value, false));
    *out = json_object();
    out_set(*out, "method", out_string(form.method));
    out_set(*out, "url", shown(&form.url, false));
    out_set(*out, "headers", headers);
    if (form.has_body) out_set(*out, "body", shown(&form.body, true));
    form_fini(&form);
    return true;
}

/* ---- what comes out in the end */

static bool differs(struct running *r, const char *what, const char *is, const char *to_be)
{
    return errbuf_set(&r->err, "the verdict's %s is \"%.*s\", is to be \"%.*s\"", what, SHOWN_MAX, is, SHOWN_MAX,
                      to_be);
}

static bool same_text(struct running *r, const json_t *expect, const char *what, const char *is)
{
    const char *to_be = text_at(expect, what);
    return !to_be || strcmp(is, to_be) == 0 || differs(r, what, is, to_be);
}

/* The rule's own word against what is made of it. A case that names the event says what is to be. */
static bool check_event(struct running *r, const struct outcome *out)
{
    const char *expected = text_at(json_object_get(r->test, "expect"), "outcome");
    const char *event = delivery_event_name(out->kind);
    const bool expired = expected && strcmp(expected, "session_expired") == 0;
    if (!expected || json_object_get(json_object_get(r->test, "verdict"), "event")) return true;
    if (strcmp(expected, "default") == 0)
        return out->kind != EV_COMMITTED || differs(r, "event", event, "another: no rule says so");
    if (strcmp(event, expired ? "credential" : expected) != 0) return differs(r, "event", event, expected);
    return !expired || out->session_expired == channel_has_session(r->channel) ||
           differs(r, "session", "not over", "over");
}

static bool check_verdict(struct running *r)
{
    const json_t *expect = json_object_get(r->test, "expect"), *said = json_object_get(r->test, "verdict");
    const json_t *wait = json_object_get(said, "wait_ms"), *spent = json_object_get(said, "spent_ms");
    struct program_input *seen = program_input_new(r->input);
    const struct verdict_context context = {.input = seen,
                                            .replay = json_is_true(json_object_get(r->input, "replay")),
                                            .session = channel_has_session(r->channel)};
    const struct transfer_facts facts = {.reached = true, .complete = true, .status = r->answer.status};
    struct outcome out;
    json_object_del(r->input, "answer");
    verdict(r->channel, &facts, &r->answer, &context, &out);
    program_input_free(&seen);
    if (json_is_integer(wait) && json_integer_value(wait) != out.wait_ms)
        return errbuf_set(&r->err, "the verdict's wait is %" PRId64 " ms, is to be %" JSON_INTEGER_FORMAT " ms",
                          out.wait_ms, json_integer_value(wait));
    if (json_is_integer(spent) && json_integer_value(spent) != out.spent_ms)
        return errbuf_set(&r->err, "the channel's wait is %" PRId64 " ms, is to be %" JSON_INTEGER_FORMAT " ms",
                          out.spent_ms, json_integer_value(spent));
    return check_event(r, &out) && same_text(r, said, "event", delivery_event_name(out.kind)) &&
           same_text(r, said, "reason", delivery_reason_name(out.reason)) && same_text(r, said, "ext_id", out.ext_id) &&
           same_text(r, expect, "duplicate", out.duplicate);
}

/* ---- the case */

/* The first place where two values differ: both become what stands there, and its path is appended. */
static void descend(const json_t **got, const json_t **expect, struct buf *path)
{
    for (bool deeper = true; deeper;) {
        const char *name;
        json_t *value;
        deeper = false;
        json_object_foreach(json_is_object(*got) ? (json_t *)*expect : NULL, name, value)
        {
            const json_t *other = json_object_get(*got, name);
            if (deeper || !other || json_equal(value, (json_t *)other)) continue;
            buf_append_format(path, ".%s", name);
            *got = other;
            *expect = value;
            deeper = true;
            break;
        }
        for (size_t i = 0; !deeper && json_is_array(*got) && i < json_array_size(*expect); i++) {
            const json_t *one = json_array_get(*got, i), *to_be = json_array_get(*expect, i);
            if (!one || json_equal((json_t *)one, (json_t *)to_be)) continue;
            buf_append_format(path, "[%zu]", i);
            *got = one;
            *expect = to_be;
            deeper = true;
        }
    }
}

static bool compare(struct running *r, json_t *got)
{
    const json_t *expect = json_object_get(r->test, "expect"), *at = got;
    if (!expect) return errbuf_set(&r->err, "it has no expect");
    if (json_equal(got, (json_t *)expect)) return true;
    struct buf path;
    buf_init(&path, 200);
    descend(&at, &expect, &path);
    char *is = json_dumps(at, JSON_ENCODE_ANY | JSON_SORT_KEYS),
         *to_be = json_dumps(expect, JSON_ENCODE_ANY | JSON_SORT_KEYS);
    errbuf_set(&r->err, "%s%sis %.*s, is to be %.*s", buf_text(&path), path.len ? " " : "", SHOWN_MAX, is ? is : "",
               SHOWN_MAX, to_be ? to_be : "");
    free(is);
    free(to_be);
    buf_fini(&path);
    return false;
}

static bool run(struct running *r)
{
    const char *program = text_at(r->test, "program"), *request = text_at(r->test, "request");
    json_t *got = NULL;
    bool ok = make_input(r);
    if (ok && request)
        ok = render(r, request, &got);
    else if (ok && program)
        ok = run_part(r, strncmp(program, "prepare[", 8) == 0 ? DESCRIPTOR_WRITE : DESCRIPTOR_READ, program, &got);
    else if (ok)
        ok = (r->has_answer || errbuf_set(&r->err, "it has no answer, no program and no request")) && decide(r, &got);
    ok = ok && compare(r, got);
    if (ok && !request && !program) ok = check_verdict(r);
    json_decref(got);
    return ok;
}

json_t *check_case_run(void *context)
{
    const struct check_case *one = context;
    struct running r = {.channel = one->channel, .test = one->test, .result = json_object(), .ran = json_array()};
    out_set(r.result, "ran", r.ran);
    if (!json_is_object(r.test))
        out_set(r.result, "problem", out_string("a case must be an object"));
    else if (!run(&r))
        out_set(r.result, "problem", out_string(r.err.text));
    if (r.has_answer) answer_fini(&r.answer);
    json_decref(r.input);
    return r.result;
}
