/* SPDX-License-Identifier: MIT */
#include "platforms/request.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "keys/canonical.h"
#include "keys/content.h"
#include "platforms/answer.h"
#include "platforms/channel.h"
#include "platforms/form.h"
#include "platforms/program_input.h"
#include "platforms/text.h"
#include "runtime/buf.h"
#include "runtime/die.h"

static void put(json_t *object, const char *name, json_t *own_value)
{
    if (!own_value || json_object_set_new(object, name, own_value) != 0) die("out of memory");
}

/* Something is there: no null, no empty text, no empty list. */
static bool is_given(const json_t *value)
{
    if (json_is_string(value)) return json_string_length(value) > 0;
    if (json_is_array(value)) return json_array_size(value) > 0;
    if (json_is_object(value)) return json_object_size(value) > 0;
    return value && !json_is_null(value);
}

static bool has_one_of(const json_t *names, const json_t *content)
{
    bool given = json_array_size(names) == 0;
    for (size_t i = 0; i < json_array_size(names) && !given; i++)
        given = is_given(json_object_get(content, json_string_value(json_array_get(names, i))));
    return given;
}

/* `needs` is a list of lists: of each, one member must be there. */
static bool has_what_it_needs(const struct descriptor *descriptor, const json_t *fields, struct content *content,
                              struct errbuf *err)
{
    if (json_array_size(descriptor->item_needs) == 0) return true;
    if (content) fields = content_fields(content);
    for (size_t i = 0; i < json_array_size(descriptor->item_needs); i++) {
        const json_t *names = json_array_get(descriptor->item_needs, i);
        if (has_one_of(names, fields)) continue;
        struct buf words;
        buf_init(&words, 256);
        for (size_t j = 0; j < json_array_size(names); j++)
            buf_append_format(&words, "%s%s", j ? " or " : "", json_string_value(json_array_get(names, j)));
        errbuf_set(err, "the item has no %s, which %s needs", buf_text(&words), descriptor->title);
        buf_fini(&words);
        return false;
    }
    return true;
}

/* How people call what a limit measures: "text" for ".text", "title" for ".item.title". */
static void name_measured(const struct descriptor *descriptor, size_t i, struct request_measure *out)
{
    const json_t *limits = json_object_get(json_object_get(descriptor->document, "item"), "limits");
    const char *program = json_string_value(json_object_get(json_array_get(limits, i), "what"));
    out->what = "the item";
    out->what_len = strlen(out->what);
    if (!program || program[0] != '.') return;
    program += strncmp(program, ".item.", 6) == 0 ? 6 : 1;
    size_t word = strspn(program, "abcdefghijklmnopqrstuvwxyz_");
    if (word == 0 || program[word] != '\0') return;
    out->what = program;
    out->what_len = word;
}

static int64_t limit_of(const struct channel *channel, const struct descriptor_item_limit *limit)
{
    if (limit->max > 0 || !limit->max_setting) return limit->max;
    double max = json_number_value(json_object_get(channel->settings, limit->max_setting));
    return max >= 1 && max <= 1e9 ? (int64_t)max : 0;
}

bool request_measure(struct channel *channel, size_t i, struct program_input *input, struct request_measure *out,
                     struct errbuf *err)
{
#define X(symbol, name, words) [symbol] = (words),
    static const char *const units[] = {TEXT_UNITS(X)};
#undef X
    struct descriptor *descriptor = channel->descriptor;
    const struct descriptor_item_limit *limit = &descriptor->item_limits[i];
    const struct text_measure measure = {limit->unit, (size_t)limit->url_counts, limit->short_mentions};
    json_t *what = NULL;
    *out = (struct request_measure){.unit = units[limit->unit], .max = limit_of(channel, limit)};
    name_measured(descriptor, i, out);
    if (!descriptor_run_over(descriptor, DESCRIPTOR_WRITE, limit->what_part, input, &what, err)) return false;
    out->given = json_is_string(what);
    bool ok = out->given || json_is_null(what);
    if (out->given) out->count = text_count(json_string_value(what), json_string_length(what), &measure);
    json_decref(what);
    return ok || errbuf_set(err, "%s: $.%s: must give a string or null", descriptor->file, limit->what_part);
}

static enum render_result check_limit(struct channel *channel, size_t i, struct program_input *input,
                                      struct errbuf *err)
{
    struct request_measure measure;
    if (limit_of(channel, &channel->descriptor->item_limits[i]) <= 0) return RENDER_OK;
    if (!request_measure(channel, i, input, &measure, err)) return RENDER_BROKEN;
    if (!measure.given || measure.count <= (size_t)measure.max) return RENDER_OK;
    errbuf_set(err, "%.*s has %zu %s, the channel takes %lld", (int)measure.what_len, measure.what, measure.count,
               measure.unit, (long long)measure.max);
    return RENDER_UNFIT;
}

static enum render_result add_text(struct channel *channel, struct program_input *input, struct errbuf *err)
{
    char *text = NULL;
    if (!channel_text_over(channel, DESCRIPTOR_WRITE, input, &text, err)) return RENDER_BROKEN;
    if (text) {
        program_input_put(input, "text", json_string(text));
        program_input_put(input, "text_facts", text_facts_json(text));
    }
    free(text);
    return RENDER_OK;
}

enum render_result request_input(struct channel *channel, const json_t *content, const struct request_row *row,
                                 struct program_input **input, struct errbuf *err)
{
    const struct descriptor *descriptor = channel->descriptor;
    struct channel_facts facts = {.item = content,
                                  .content = row->content,
                                  .key = row->key,
                                  .generation = row->generation,
                                  .approved_at_ms = row->approved_at_ms,
                                  .dated_ms = row->dated_ms,
                                  .replay = row->replay,
                                  .after_id = row->after_id,
                                  .after_url = row->after_url};
    *input = NULL;
    if (!has_what_it_needs(descriptor, content, row->content, err)) return RENDER_UNFIT;
    struct program_input *made = channel_input_lazy(channel, &facts);
    program_input_put(made, "prepared", json_object());
    enum render_result result = add_text(channel, made, err);
    for (size_t i = 0; result == RENDER_OK && i < descriptor->item_limit_count; i++)
        result = check_limit(channel, i, made, err);
    if (result == RENDER_OK)
        *input = made;
    else
        program_input_free(&made);
    return result;
}

enum render_result request_check(struct channel *channel, const json_t *content, struct errbuf *err)
{
    const struct request_row no_row = {0};
    struct program_input *input;
    enum render_result result = request_input(channel, content, &no_row, &input, err);
    program_input_free(&input);
    return result;
}

bool request_render(struct channel *channel, struct program_input *input, struct form *form, struct errbuf *err)
{
    return form_render_over(channel, DESCRIPTOR_WRITE, &channel->descriptor->write, input, form, err);
}

/* Puts what a step gave. */
static void put_prepared(struct program_input *input, const char *step, json_t *own_value)
{
    json_t *prepared = json_incref(program_input_get(input, "prepared"));
    put(prepared, step, own_value);
    program_input_put(input, "prepared", prepared);
}

static bool element_wanted(struct channel *channel, const struct descriptor_step *s, size_t at,
                           struct program_input *input, bool *wanted, struct errbuf *err)
{
    json_t *list = NULL;
    if (!descriptor_run_over(channel->descriptor, DESCRIPTOR_WRITE, s->each_part, input, &list, err)) return false;
    bool ok =
        json_is_array(list) || errbuf_set(err, "%s: $.%s: must give a list", channel->descriptor->file, s->each_part);
    *wanted = ok && at < json_array_size(list);
    if (ok && at == 0) put_prepared(input, s->name, json_array());
    if (*wanted) program_input_put(input, "each", json_incref(json_array_get(list, at)));
    json_decref(list);
    return ok;
}

bool request_step_wanted(struct channel *channel, size_t step, size_t at, struct program_input *input, bool *wanted,
                         struct errbuf *err)
{
    const struct descriptor_step *s = &channel->descriptor->prepare[step];
    json_t *url = NULL;
    *wanted = false;
    if (s->each_part) return element_wanted(channel, s, at, input, wanted, err);
    if (at > 0) return true;
    if (!descriptor_run_over(channel->descriptor, DESCRIPTOR_WRITE, s->request.url_part, input, &url, err))
        return false;
    *wanted = !json_is_null(url);
    if (!*wanted) put_prepared(input, s->name, json_null());
    json_decref(url);
    return true;
}

bool request_render_step(struct channel *channel, size_t step, size_t at, struct program_input *input,
                         const struct request_files *files, struct form *form, struct errbuf *err)
{
    const struct descriptor_request *request = &channel->descriptor->prepare[step].request;
    if (!form_render_over(channel, DESCRIPTOR_WRITE, request, input, form, err)) return false;
    if (!request->file_part || request_file_body(channel, request->file_part, input, at, files, form, err)) return true;
    form_fini(form);
    return false;
}

bool request_again_step(struct channel *channel, size_t step, const struct answer *answer, struct program_input *input)
{
    struct errbuf err;
    const char *part = channel->descriptor->prepare[step].again_part;
    json_t *again = NULL, *seen;
    if (!part) return false;
    seen = json_copy(program_input_json(input));
    put(seen, "answer", answer_to_json(answer));
    const bool yes =
        descriptor_run(channel->descriptor, DESCRIPTOR_WRITE, part, seen, &again, &err) && json_is_true(again);
    json_decref(again);
    json_decref(seen);
    return yes;
}

/* The list of what the elements of a step gave, with one more. */
static json_t *appended(struct program_input *input, const char *step, json_t *kept)
{
    json_t *list = json_object_get(program_input_get(input, "prepared"), step);
    if (json_array_append(list, kept) != 0) die("out of memory");
    return json_incref(list);
}

bool request_keep_step(struct channel *channel, size_t step, size_t at, const struct answer *answer,
                       struct program_input *input, struct request_files *files, struct errbuf *err)
{
    const struct descriptor_step *s = &channel->descriptor->prepare[step];
    json_t *kept = NULL, *seen = json_copy(program_input_json(input));
    put(seen, "answer", answer_to_json(answer));
    bool ok = descriptor_run(channel->descriptor, DESCRIPTOR_WRITE, s->keep_part, seen, &kept, err);
    json_decref(seen);
    if (ok && json_is_null(kept))
        ok = errbuf_set(err, "%s answered %d without what the step %s needs", channel->descriptor->title,
                        answer->status, s->name);
    if (ok) put_prepared(input, s->name, s->each_part ? appended(input, s->name, kept) : json_incref(kept));
    if (ok && s->keep_bytes_max > 0) request_files_keep(files, s->name, at, answer);
    json_decref(kept);
    return ok;
}

bool request_freeze(const struct form *form, char **bytes, size_t *len, char body_hash[HASH_HEX_BYTES],
                    struct errbuf *err)
{
    *bytes = form_frozen(form, len);
    if (*len > REQUEST_FROZEN_MAX_BYTES) {
        errbuf_set(err, "the request has %zu bytes, a request may have %d", *len, REQUEST_FROZEN_MAX_BYTES);
        free(*bytes);
        *bytes = NULL;
        return false;
    }
    hash_bytes_hex(*bytes, *len, body_hash);
    return true;
}

bool request_thaw(const char *bytes, size_t len, const char *body_hash, struct form *form, struct errbuf *err)
{
    char hash[HASH_HEX_BYTES], why[KEYS_ERR_BYTES];
    char *again = NULL;
    size_t again_len;
    json_t *json = NULL;
    hash_bytes_hex(bytes, len, hash);
    if (strcmp(hash, body_hash) != 0)
        return errbuf_set(err, "frozen request: its hash is %s, the row says otherwise", hash);
    if (!canonical_parse(bytes, len, &json, why)) return errbuf_set(err, "frozen request: %s", why);
    bool ok = form_parse(json, form, err) || errbuf_prefix(err, "frozen request");
    json_decref(json);
    if (!ok) return false;
    /* What parses may still be written in another way; only our own writing is what was hashed and sent. */
    ok = request_freeze(form, &again, &again_len, hash, err) && again_len == len && memcmp(again, bytes, len) == 0;
    free(again);
    if (!ok) {
        form_fini(form);
        errbuf_set(err, "frozen request: it is not written as this program writes it");
    }
    return ok;
}

/* Length of "scheme://host:port" at the start of a form's address; 0 if there is none without a hole in it. */
static size_t origin_length(const struct form *form)
{
    if (form->url.count == 0 || form->url.segments[0].hole) return 0;
    const char *text = form->url.segments[0].text;
    const char *host = strstr(text, "://");
    if (!host) return 0;
    size_t len = (size_t)(host + 3 - text) + strcspn(host + 3, "/?#");
    bool ends = text[len] != '\0' || form->url.count == 1;
    return ends ? len : 0;
}

/* The i-th hole of a text, or NULL. */
static const struct form_segment *hole_at(const struct form_text *text, size_t i)
{
    for (size_t k = 0; k < text->count; k++) {
        if (text->segments[k].hole && i-- == 0) return &text->segments[k];
    }
    return NULL;
}

static bool same_holes(const struct form_text *a, const struct form_text *b)
{
    for (size_t i = 0;; i++) {
        const struct form_segment *x = hole_at(a, i), *y = hole_at(b, i);
        if (!x || !y) return x == y;
        if (x->encoding != y->encoding || strcmp(x->text, y->text) != 0) return false;
    }
}

/* The next header with a hole, from *i on, or NULL. */
static const struct form_header *next_secret_header(const struct form *form, size_t *i)
{
    while (*i < form->header_count) {
        const struct form_header *header = &form->headers[(*i)++];
        if (hole_at(&header->value, 0)) return header;
    }
    return NULL;
}

static bool same_secret_headers(const struct form *a, const struct form *b)
{
    for (size_t i = 0, j = 0;;) {
        const struct form_header *x = next_secret_header(a, &i), *y = next_secret_header(b, &j);
        if (!x || !y) return x == y;
        if (strcasecmp(x->name, y->name) != 0 || !same_holes(&x->value, &y->value)) return false;
    }
}

bool request_agrees(const struct form *frozen, const struct form *rendered)
{
    size_t len = origin_length(frozen);
    return strcmp(frozen->method, rendered->method) == 0 && len > 0 && len == origin_length(rendered) &&
           strncasecmp(frozen->url.segments[0].text, rendered->url.segments[0].text, len) == 0 &&
           same_holes(&frozen->url, &rendered->url) && same_secret_headers(frozen, rendered) &&
           same_holes(&frozen->body, &rendered->body);
}
