/* SPDX-License-Identifier: MIT */
/*
 * Rendering: run the programs, cut their results at the placeholders, check what came out. A placeholder is made of
 * letters and digits only, so that neither percent-encoding nor JSON changes it.
 */
#include "platforms/form.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "keys/canonical.h"
#include "platforms/auth.h"
#include "platforms/foreign.h"
#include "platforms/origin.h"
#include "platforms/program.h"
#include "runtime/buf.h"
#include "runtime/die.h"
#include "runtime/random.h"

#define HOLES_MAX         24
#define PLACEHOLDER_BYTES (RANDOM_TOKEN_SIZE + 3) /* token, two letters, NUL */

/* The holes that one rendering offers; a count of 0 where it offers none. */
struct holes {
    char token[RANDOM_TOKEN_SIZE];
    char names[HOLES_MAX][64];
    int count;
};

/* "<token>ca": 32 hexadecimal digits and the hole's number in letters, which hexadecimal digits cannot continue. */
static void placeholder(const struct holes *holes, int i, char out[PLACEHOLDER_BYTES])
{
    snprintf(out, PLACEHOLDER_BYTES, "%s%c%c", holes->token, 'g' + i / 16, 'g' + i % 16);
}

static void offer(struct holes *holes, const char *prefix, const char *name)
{
    if (holes->count < HOLES_MAX) snprintf(holes->names[holes->count++], sizeof(holes->names[0]), "%s%s", prefix, name);
}

static void offer_all(struct holes *holes, const struct descriptor *descriptor)
{
    random_token(holes->token);
    offer(holes, "", "timestamp");
    const char *name;
    for (size_t i = 0; (name = descriptor_credential(descriptor, i)); i++)
        offer(holes, strcmp(name, CREDENTIAL_ONLY) == 0 ? "" : "secret.", name);
    for (size_t i = 0; (name = descriptor_session_value(descriptor, i)); i++)
        offer(holes, "session.", name);
    if (descriptor->auth == AUTH_WEBHOOK) offer(holes, "", "signature");
    if (descriptor->auth == AUTH_BASIC) offer(holes, "", "basic");
    if (descriptor->auth == AUTH_JWT) offer(holes, "", "jwt");
    if (descriptor->auth == AUTH_OAUTH2) offer(holes, "", "client");
}

static json_t *holes_to_json(const struct holes *holes)
{
    json_t *object = json_object();
    for (int i = 0; i < holes->count; i++) {
        char text[PLACEHOLDER_BYTES];
        placeholder(holes, i, text);
        if (json_object_set_new(object, holes->names[i], json_string(text)) != 0) die("out of memory");
    }
    return object;
}

static void add_own_segment(struct form_text *text, bool hole, enum form_encoding encoding, char *own_bytes, size_t len)
{
    text->segments = xrealloc_array(text->segments, text->count + 1, sizeof(*text->segments));
    text->segments[text->count++] = (struct form_segment){hole, encoding, own_bytes, len};
}

static void add_segment(struct form_text *text, bool hole, enum form_encoding encoding, const char *bytes, size_t len)
{
    if (len > 0 || hole) add_own_segment(text, hole, encoding, xstrndup(bytes, len), len);
}

/* Cut a result at its placeholders. False if it holds the token without a hole's number: a program took it apart. */
static bool cut(const struct holes *holes, const char *bytes, size_t len, enum form_encoding encoding,
                struct form_text *out)
{
    size_t token_len = strlen(holes->token), done = 0;
    const char *at;
    while (holes->count > 0 && (at = memmem(bytes + done, len - done, holes->token, token_len))) {
        size_t start = (size_t)(at - bytes);
        int i = start + token_len + 2 <= len ? (at[token_len] - 'g') * 16 + (at[token_len + 1] - 'g') : -1;
        if (i < 0 || i >= holes->count) return false;
        add_segment(out, false, FORM_RAW, bytes + done, start - done);
        add_segment(out, true, encoding, holes->names[i], strlen(holes->names[i]));
        done = start + token_len + 2;
    }
    add_segment(out, false, FORM_RAW, bytes + done, len - done);
    return true;
}

/* What a rendering works with. */
struct render {
    struct channel *channel;
    enum descriptor_half half;
    struct program_input *input;
    struct holes holes;
    struct form *form;
    struct errbuf *err;
};

static bool complain(struct render *render, const char *part, const char *what)
{
    return errbuf_set(render->err, "%s: $.%s: %s", render->channel->descriptor->file, part, what);
}

static bool run(struct render *render, const char *part, json_t **result)
{
    return descriptor_run_over(render->channel->descriptor, render->half, part, render->input, result, render->err);
}

static bool render_text(struct render *render, const char *part, const json_t *value, enum form_encoding encoding,
                        struct form_text *out)
{
    const char *text = json_string_value(value);
    if (!text || strlen(text) != json_string_length(value))
        return complain(render, part, "must give strings without NUL characters");
    if (!cut(&render->holes, text, strlen(text), encoding, out))
        return complain(render, part, "a value of .hole must be used as it is");
    return true;
}

static bool render_url(struct render *render, const char *part)
{
    json_t *value;
    if (!run(render, part, &value)) return false;
    bool ok = render_text(render, part, value, FORM_PERCENT, &render->form->url);
    json_decref(value);
    return ok;
}

static struct form_header *new_header(struct form *form, const char *name)
{
    form->headers = xrealloc_array(form->headers, form->header_count + 1, sizeof(*form->headers));
    struct form_header *header = &form->headers[form->header_count++];
    *header = (struct form_header){.name = xstrdup(name)};
    return header;
}

static bool render_headers(struct render *render, const char *part)
{
    json_t *object;
    if (!part) return true;
    if (!run(render, part, &object)) return false;
    bool ok = json_is_object(object) || complain(render, part, "must give an object");
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        if (!ok) break;
        if (!json_is_null(value))
            ok = render_text(render, part, value, FORM_RAW, &new_header(render->form, name)->value);
    }
    json_decref(object);
    return ok;
}

static void append_percent(struct buf *out, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (form_unreserved(bytes[i]))
            buf_append(out, &bytes[i], 1);
        else
            buf_append_format(out, "%%%02X", (unsigned char)bytes[i]);
    }
}

/* One name=value pair; false for a value that is no scalar. */
static bool append_pair(struct buf *out, const char *name, const json_t *value)
{
    char number[CANONICAL_NUMBER_BYTES];
    const char *text = json_is_true(value) ? "true" : json_is_false(value) ? "false" : json_string_value(value);
    size_t len = json_is_string(value) ? json_string_length(value) : text ? strlen(text) : 0;
    if (json_is_number(value)) {
        len = canonical_number(json_number_value(value), number);
        text = number;
    }
    if (!text) return false;
    if (out->len > 0) buf_append(out, "&", 1);
    append_percent(out, name, strlen(name));
    buf_append(out, "=", 1);
    append_percent(out, text, len);
    return true;
}

/* An object as application/x-www-form-urlencoded: null leaves out, an array repeats its name. */
static bool append_form(struct buf *out, const json_t *object)
{
    const char *name;
    json_t *value;
    if (!json_is_object(object)) return false;
    json_object_foreach((json_t *)object, name, value)
    {
        if (json_is_null(value)) continue;
        if (!json_is_array(value)) {
            if (!append_pair(out, name, value)) return false;
            continue;
        }
        for (size_t i = 0; i < json_array_size(value); i++)
            if (!append_pair(out, name, json_array_get(value, i))) return false;
    }
    return true;
}

static bool cut_body(struct render *render, const char *part, const char *bytes, size_t len,
                     enum form_encoding encoding)
{
    if (len > FORM_BODY_MAX_BYTES) return complain(render, part, "the body is too long");
    return cut(&render->holes, bytes, len, encoding, &render->form->body) ||
           complain(render, part, "a value of .hole must be used as it is");
}

/* Where it was shown no hole the body is what was printed. */
static bool render_json(struct render *render, const char *part)
{
    struct canonical_text text = {0};
    bool ok = descriptor_print_over(render->channel->descriptor, render->half, part, render->input, &text, render->err);
    if (ok && render->holes.count == 0 && text.len <= FORM_BODY_MAX_BYTES) {
        add_own_segment(&render->form->body, false, FORM_RAW, text.bytes, text.len);
        return true;
    }
    ok = ok && cut_body(render, part, text.bytes, text.len, FORM_JSON);
    free(text.bytes);
    return ok;
}

static bool render_form(struct render *render, const char *part, const json_t *value)
{
    struct buf bytes;
    buf_init(&bytes, FORM_BODY_MAX_BYTES + 1);
    bool ok =
        append_form(&bytes, value) || complain(render, part, "must give an object of scalars, or of lists of them");
    ok = ok && cut_body(render, part, buf_text(&bytes), bytes.len, FORM_PERCENT);
    buf_fini(&bytes);
    return ok;
}

static bool has_header(const struct form *form, const char *name)
{
    for (size_t i = 0; i < form->header_count; i++)
        if (strcasecmp(form->headers[i].name, name) == 0) return true;
    return false;
}

static void add_content_type(struct form *form, const char *type)
{
    if (!has_header(form, "Content-Type")) form_add_header(form, "Content-Type", type);
}

static const char *body_part(const struct descriptor_request *request)
{
    return request->json_part ? request->json_part : request->form_part ? request->form_part : request->text_part;
}

static const char *body_type(const struct descriptor_request *request)
{
    return request->json_part   ? "application/json"
           : request->form_part ? "application/x-www-form-urlencoded"
                                : request->text_type;
}

static bool render_value(struct render *render, const struct descriptor_request *request)
{
    const char *part = body_part(request);
    json_t *value;
    if (!run(render, part, &value)) return false;
    bool ok = part == request->form_part ? render_form(render, part, value)
                                         : render_text(render, part, value, FORM_RAW, &render->form->body);
    json_decref(value);
    return ok;
}

static bool render_body(struct render *render, const struct descriptor_request *request)
{
    if (!body_part(request)) return true;
    render->form->has_body = true;
    bool ok = request->json_part ? render_json(render, request->json_part) : render_value(render, request);
    if (ok) add_content_type(render->form, body_type(request));
    return ok;
}

static bool sees_holes(const struct render *render, const char *part)
{
    return part && descriptor_sees(render->channel->descriptor, render->half, part, "hole");
}

/* Where no program looks at a placeholder there is none: most do not, and to make them costs more than a rendering. */
static void offer_holes(struct render *render, const struct descriptor_request *request)
{
    if (!sees_holes(render, request->url_part) && !sees_holes(render, request->headers_part) &&
        !sees_holes(render, body_part(request)))
        return;
    offer_all(&render->holes, render->channel->descriptor);
    program_input_put(render->input, "hole", holes_to_json(&render->holes));
}

bool form_render_over(struct channel *channel, enum descriptor_half half, const struct descriptor_request *request,
                      struct program_input *input, struct form *form, struct errbuf *err)
{
    struct render render = {.channel = channel, .half = half, .input = input, .form = form, .err = err};
    memset(form, 0, sizeof(*form));
    memcpy(form->method, request->method, strnlen(request->method, sizeof(form->method) - 1));
    offer_holes(&render, request);
    bool ok = render_url(&render, request->url_part) && render_headers(&render, request->headers_part) &&
              render_body(&render, request);
    if (ok && !request->anonymous) auth_add_headers(channel, form);
    ok = ok && (form_check(form, err) || errbuf_prefix(err, "%s: $.%s", channel->descriptor->file, request->url_part));
    if (render.holes.count > 0) program_input_put(input, "hole", NULL);
    if (ok) form->foreign = foreign_form(channel, request, form);
    if (!ok) form_fini(form);
    return ok;
}

bool form_render(struct channel *channel, enum descriptor_half half, const struct descriptor_request *request,
                 const json_t *input, struct form *form, struct errbuf *err)
{
    struct program_input *once = program_input_new(input);
    bool ok = form_render_over(channel, half, request, once, form, err);
    program_input_free(&once);
    return ok;
}

static void text_fini(struct form_text *text)
{
    for (size_t i = 0; i < text->count; i++)
        free(text->segments[i].text);
    free(text->segments);
}

void form_fini(struct form *form)
{
    text_fini(&form->url);
    text_fini(&form->body);
    for (size_t i = 0; i < form->header_count; i++) {
        free(form->headers[i].name);
        text_fini(&form->headers[i].value);
    }
    free(form->headers);
    memset(form, 0, sizeof(*form));
}

void form_add_hole_header(struct form *form, const char *name, const char *before, const char *hole)
{
    struct form_header *header = new_header(form, name);
    add_segment(&header->value, false, FORM_RAW, before, strlen(before));
    add_segment(&header->value, true, FORM_RAW, hole, strlen(hole));
}

static bool text_needs(const struct form_text *text, const char *prefix)
{
    for (size_t i = 0; i < text->count; i++)
        if (text->segments[i].hole && strncmp(text->segments[i].text, prefix, strlen(prefix)) == 0) return true;
    return false;
}

bool form_needs(const struct form *form, const char *hole_prefix)
{
    for (size_t i = 0; i < form->header_count; i++)
        if (text_needs(&form->headers[i].value, hole_prefix)) return true;
    return text_needs(&form->url, hole_prefix) || text_needs(&form->body, hole_prefix);
}

void form_add_header(struct form *form, const char *name, const char *value)
{
    add_segment(&new_header(form, name)->value, false, FORM_RAW, value, strlen(value));
}

void form_add_body(struct form *form, const void *bytes, size_t len)
{
    form->has_body = true;
    add_segment(&form->body, false, FORM_RAW, bytes, len);
}
