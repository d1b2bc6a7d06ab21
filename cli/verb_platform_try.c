/* SPDX-License-Identifier: MIT */
/*
 * The exact requests that an item would be published with on a channel, as forms: where a secret is put in at the send,
 * {{name}} stands. Nothing is sent, Redis is not asked, and no credential is read.
 *
 * A step that comes before the write is rendered as well. What its answer gives is not known here: {{prepared.name}}
 * stands for it; and {{after.ext_id}} for the post that must be published first.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/items.h"
#include "cli/out.h"
#include "cli/row_json.h"
#include "keys/content.h"
#include "keys/key.h"
#include "platforms/auth.h"
#include "platforms/form.h"
#include "platforms/program_input.h"
#include "platforms/request.h"
#include "runtime/clock.h"

struct trial {
    struct cli *cli;
    struct channel *channel;
    struct content content;
    char key[KEY_BYTES];         /* "" where the platform takes none */
    struct program_input *input; /* what the programs see */
    json_t *requests;            /* array of {name, request} or {name, unknown} */
    bool stood_in;               /* the result of a step is not known, and a text stands for it */
    int64_t now_ms;
};

/* ---- the item */

static bool read_item(struct trial *t, const char *path)
{
    struct cli *cli = t->cli;
    const struct items_source source = {.path = path};
    struct items *items = NULL;
    struct item item;
    size_t line;
    char why[KEYS_ERR_BYTES];
    if (!items_open(&source, &items, &cli->err)) return false;
    const enum input_result result = items_next(items, &item, &line, &cli->err);
    bool ok = result == INPUT_VALUE;
    if (result == INPUT_END)
        errbuf_set(&cli->err, "%s holds no item", items_name(items));
    else if (!ok)
        errbuf_prefix(&cli->err, "%s:%zu", items_name(items), line);
    else
        ok = content_merge(item.json, t->channel->name, &t->content, why) ||
             errbuf_set(&cli->err, "%s:%zu: %s", items_name(items), line, why);
    items_close(&items);
    return ok;
}

static bool make_key(struct trial *t)
{
    const struct channel *channel = t->channel;
    char why[KEYS_ERR_BYTES];
    if (!channel->descriptor->has_key) return true;
    const struct key_input input = {.instance = channel->instance,
                                    .account = channel->account,
                                    .operation = KEY_OPERATION_PUBLISH,
                                    .id = t->content.id,
                                    .content = t->content.canonical,
                                    .content_len = t->content.canonical_len,
                                    .approved_at_ms = t->now_ms};
    return key_make(&input, channel->descriptor->key_format, t->key, why) || errbuf_set(&t->cli->err, "%s", why);
}

static bool make_input(struct trial *t)
{
    const struct request_row row = {
        .key = t->key[0] ? t->key : NULL,
        .approved_at_ms = t->now_ms,
        .dated_ms = t->content.dated_ms != CONTENT_NO_TIME ? t->content.dated_ms : 0,
        /* What must be published first may not be there yet, and is not looked for. */
        .after_id = t->content.schedule.after[0] ? "{{after.ext_id}}" : NULL,
        .after_url = t->content.schedule.after[0] ? "{{after.url}}" : NULL,
    };
    return request_input(t->channel, t->content.fields, &row, &t->input, &t->cli->err) == RENDER_OK ||
           errbuf_prefix(&t->cli->err, "%s on %s", t->content.id, t->channel->name);
}

/* ---- the requests */

static void add_request(struct trial *t, const char *name, struct form *form)
{
    json_t *one = json_object();
    out_set(one, "name", out_string(name));
    out_set(one, "request", row_json_form(form));
    out_add(t->requests, one);
    form_fini(form);
}

/* A request that is made of what an earlier one answers, and cannot be made without it. */
static void add_unknown(struct trial *t, const char *name, const char *why)
{
    json_t *one = json_object();
    out_set(one, "name", out_string(name));
    out_set(one, "unknown", out_string(why));
    out_add(t->requests, one);
}

/* In place of what the step would give; a step for each element of a list gives a list. */
static void stand_in(struct trial *t, const struct descriptor_step *step)
{
    char text[128];
    json_t *prepared = program_input_get(t->input, "prepared");
    snprintf(text, sizeof(text), "{{prepared.%s}}", step->name);
    if (step->each_part)
        out_add(json_object_get(prepared, step->name), out_string(text));
    else
        out_set(prepared, step->name, out_string(text));
    t->stood_in = true;
}

static bool add_login(struct trial *t)
{
    struct form form;
    if (!channel_has_session(t->channel)) return true;
    int step = auth_can_login(t->channel) ? 0 : AUTH_REFRESH;
    for (; step == AUTH_REFRESH || descriptor_login(t->channel->descriptor, (size_t)step); step++) {
        if (!auth_form(t->channel, DESCRIPTOR_WRITE, step, &form, &t->cli->err)) return false;
        add_request(t, step == AUTH_REFRESH ? "refresh" : "login", &form);
        if (step == AUTH_REFRESH) break;
    }
    return true;
}

/* Where a step's result is only stood in for, a failing program may miss no more than that. */
static bool add_made(struct trial *t, const char *name, bool made, struct form *form)
{
    if (made)
        add_request(t, name, form);
    else if (t->stood_in)
        add_unknown(t, name, t->cli->err.text);
    return made || t->stood_in;
}

/* The requests of a step: none, one, or one for each element of its list. */
static bool add_step(struct trial *t, size_t i)
{
    const struct request_files no_files = {0};
    const struct descriptor_step *step = &t->channel->descriptor->prepare[i];
    struct form form;
    bool wanted = true;
    for (size_t at = 0; wanted; at++) {
        const bool known = request_step_wanted(t->channel, i, at, t->input, &wanted, &t->cli->err);
        if (known && !wanted) break; /* this item needs no more of it */
        const bool made = known && request_render_step(t->channel, i, at, t->input, &no_files, &form, &t->cli->err);
        if (!add_made(t, step->name, made, &form)) return false;
        if (!known) return true;
        stand_in(t, step);
    }
    return true;
}

static bool add_requests(struct trial *t)
{
    struct form form;
    bool ok = add_login(t);
    for (size_t i = 0; ok && i < t->channel->descriptor->prepare_count; i++)
        ok = add_step(t, i);
    return ok && add_made(t, "write", request_render(t->channel, t->input, &form, &t->cli->err), &form);
}

/* ---- what is printed */

static bool add_limits(struct trial *t, json_t *limits)
{
    for (size_t i = 0; i < t->channel->descriptor->item_limit_count; i++) {
        struct request_measure measure;
        if (!request_measure(t->channel, i, t->input, &measure, &t->cli->err)) return false;
        if (!measure.given) continue;
        json_t *one = json_object();
        out_set(one, "what", out_bytes(measure.what, measure.what_len));
        out_set(one, "unit", out_string(measure.unit));
        out_set(one, "count", json_integer((json_int_t)measure.count));
        out_set(one, "max", measure.max > 0 ? json_integer(measure.max) : json_null());
        out_add(limits, one);
    }
    return true;
}

static json_t *document(const struct trial *t, json_t *own_limits)
{
    const json_t *text = program_input_get(t->input, "text");
    json_t *all = json_object();
    out_set(all, "channel", out_string(t->channel->name));
    out_set(all, "id", out_string(t->content.id));
    out_set(all, "key", t->key[0] ? out_string(t->key) : json_null());
    out_set(all, "key_depends_on_time", json_boolean(t->key[0] && t->channel->descriptor->key_format == KEY_TID));
    out_set(all, "text", json_is_string(text) ? json_incref((json_t *)text) : json_null());
    out_set(all, "limits", own_limits);
    out_set(all, "requests", json_incref(t->requests));
    return all;
}

static const char *text_at(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

static void print_request(const json_t *one)
{
    const json_t *request = json_object_get(one, "request");
    out_line(stdout, "%s", text_at(one, "name"));
    if (!request) {
        out_line(stdout, "  depends on what the step before it answers: %s", text_at(one, "unknown"));
        return;
    }
    out_line(stdout, "  %s %s", text_at(request, "method"), text_at(request, "url"));
    const json_t *headers = json_object_get(request, "headers");
    for (size_t i = 0; i < json_array_size(headers); i++) {
        const json_t *pair = json_array_get(headers, i);
        out_line(stdout, "  %s: %s", json_string_value(json_array_get(pair, 0)),
                 json_string_value(json_array_get(pair, 1)));
    }
    const char *body = text_at(request, "body");
    if (body) out_line(stdout, "  %s", body);
}

static void print(const json_t *all)
{
    const char *key = text_at(all, "key"), *text = text_at(all, "text");
    out_line(stdout, "%s on %s; nothing is sent", text_at(all, "id"), text_at(all, "channel"));
    out_line(stdout, "key: %s%s", key ? key : "none: the platform takes none",
             json_is_true(json_object_get(all, "key_depends_on_time")) ? " (if it were approved now)" : "");
    if (text) out_line(stdout, "text: %s", text);
    const json_t *limits = json_object_get(all, "limits"), *requests = json_object_get(all, "requests");
    for (size_t i = 0; i < json_array_size(limits); i++) {
        const json_t *one = json_array_get(limits, i), *max = json_object_get(one, "max");
        char of[48] = "no limit is set";
        if (json_is_integer(max)) snprintf(of, sizeof(of), "of %" JSON_INTEGER_FORMAT, json_integer_value(max));
        out_line(stdout, "%s: %" JSON_INTEGER_FORMAT " %s, %s", text_at(one, "what"),
                 json_integer_value(json_object_get(one, "count")), text_at(one, "unit"), of);
    }
    for (size_t i = 0; i < json_array_size(requests); i++)
        print_request(json_array_get(requests, i));
}

static bool show(struct trial *t)
{
    json_t *limits = json_array();
    if (!add_limits(t, limits)) {
        json_decref(limits);
        return false;
    }
    json_t *all = document(t, limits);
    if (t->cli->json) return out_json(all) || errbuf_set(&t->cli->err, "standard output cannot be written");
    print(all);
    json_decref(all);
    return true;
}

enum cli_exit verb_platform_try(struct cli *cli)
{
    const char *name = cli->options.operand[0];
    struct trial t = {.cli = cli, .now_ms = clock_wall_ms()};
    if (!cli_load(cli)) return EXIT_USAGE;
    t.channel = channel_find(cli->fleet.channels, name);
    if (!t.channel) {
        errbuf_set(&cli->err, "%s is not configured here", name);
        return cli_fail(cli, EXIT_USAGE);
    }
    t.requests = json_array();
    const bool has_item = read_item(&t, cli->options.operand[1]);
    const bool ok = has_item && make_key(&t) && make_input(&t) && add_requests(&t) && show(&t);
    if (has_item) content_fini(&t.content);
    program_input_free(&t.input);
    json_decref(t.requests);
    return ok ? EXIT_FINE : cli_fail(cli, EXIT_USAGE);
}
