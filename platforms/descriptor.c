/* SPDX-License-Identifier: MIT */
/*
 * Loading, and running what was loaded. The reader's memory (paths of programs, lists) lives as long as the descriptor.
 * A half is compiled at its first run; a half that does not compile says so at every run, without trying again.
 */
#include "platforms/descriptor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platforms/credential.h"
#include "platforms/descriptor_check.h"
#include "platforms/descriptor_table.h"
#include "platforms/origin.h"
#include "platforms/program.h"
#include "platforms/shape.h"
#include "runtime/buf.h"
#include "runtime/die.h"
#include "runtime/file.h"

struct descriptor_private {
    struct shape_reader reader;
    struct program *programs[DESCRIPTOR_HALVES];
    struct errbuf broken[DESCRIPTOR_HALVES]; /* why it does not compile */
};

static json_t *read_document(const char *path, struct errbuf *err)
{
    struct buf text;
    buf_init(&text, DESCRIPTOR_FILE_MAX_BYTES);
    json_t *document = NULL;
    if (file_read(path, &text, err)) {
        json_error_t error;
        document = json_loadb(buf_text(&text), text.len, JSON_REJECT_DUPLICATES, &error);
        if (!document) errbuf_set(err, "%s: line %d, column %d: %s", path, error.line, error.column, error.text);
    }
    buf_fini(&text);
    return document;
}

/* A rule that ends a session is asked about the answers to reads, too. */
static void share_session_rules(struct descriptor *d)
{
    struct shape_reader *reader = &d->own->reader;
    for (size_t i = 0; i < d->rule_count; i++)
        for (size_t k = 0; k < reader->program_count; k++)
            if (d->rules[i].outcome == OUTCOME_SESSION_EXPIRED && d->rules[i].if_part == reader->programs[k].path)
                reader->programs[k].halves = HALF_BOTH;
}

/* Where the credential stands in a login is the request's own business. */
static void prepare_logins(struct descriptor *d)
{
    d->login.request.anonymous = d->refresh.request.anonymous = true;
    d->login.keep_part = d->refresh.keep_part = d->token_part;
    for (size_t i = 0; i < d->login_step_count; i++)
        d->login_steps[i].request.anonymous = true;
}

bool descriptor_load(const char *path, struct descriptor **out, struct errbuf *err)
{
    *out = NULL;
    json_t *document = read_document(path, err);
    if (!document) return false;
    struct descriptor *d = xcalloc(1, sizeof(*d));
    struct descriptor_private *own = xcalloc(1, sizeof(*own));
    char *file = xstrdup(path);
    shape_reader_init(&own->reader, file, "$", err);
    bool ok = shape_read(&own->reader, document, descriptor_shape(), d);
    d->file = file;
    d->document = document;
    d->own = own;
    prepare_logins(d);
    ok = ok && descriptor_check(&own->reader, d);
    own->reader.err = NULL;
    if (ok) share_session_rules(d);
    if (!ok) descriptor_free(&d);
    *out = d;
    return ok;
}

void descriptor_free(struct descriptor **descriptor)
{
    struct descriptor *d = *descriptor;
    if (!d) return;
    for (int half = 0; half < DESCRIPTOR_HALVES; half++)
        program_free(&d->own->programs[half]);
    shape_reader_fini(&d->own->reader);
    free(d->own);
    json_decref(d->document);
    free(d->file);
    free(d);
    *descriptor = NULL;
}

static bool compile_half(struct descriptor *d, enum descriptor_half half)
{
    struct shape_reader *reader = &d->own->reader;
    unsigned wanted = half == DESCRIPTOR_READ ? HALF_READ : HALF_WRITE;
    struct program_part *parts = xcalloc(reader->program_count, sizeof(*parts));
    size_t count = 0;
    for (size_t i = 0; i < reader->program_count; i++)
        if (reader->programs[i].halves & wanted)
            parts[count++] = (struct program_part){reader->programs[i].path, reader->programs[i].text};
    bool ok = program_new(d->file, parts, count, &d->own->programs[half], &d->own->broken[half]);
    free(parts);
    return ok;
}

bool descriptor_compiles(struct descriptor *descriptor, enum descriptor_half half, struct errbuf *err)
{
    const struct descriptor_private *own = descriptor->own;
    if (own->programs[half]) return true;
    return (own->broken[half].text[0] == '\0' && compile_half(descriptor, half)) ||
           errbuf_set(err, "%s", own->broken[half].text);
}

bool descriptor_run(struct descriptor *descriptor, enum descriptor_half half, const char *part, const json_t *input,
                    json_t **result, struct errbuf *err)
{
    *result = NULL;
    return descriptor_compiles(descriptor, half, err) &&
           program_run(descriptor->own->programs[half], part, input, result, err);
}

bool descriptor_run_over(struct descriptor *descriptor, enum descriptor_half half, const char *part,
                         struct program_input *input, json_t **result, struct errbuf *err)
{
    *result = NULL;
    return descriptor_compiles(descriptor, half, err) &&
           program_run_over(descriptor->own->programs[half], part, input, result, err);
}

bool descriptor_print_over(struct descriptor *descriptor, enum descriptor_half half, const char *part,
                           struct program_input *input, struct canonical_text *out, struct errbuf *err)
{
    return descriptor_compiles(descriptor, half, err) &&
           program_print_over(descriptor->own->programs[half], part, input, out, err);
}

bool descriptor_sees(struct descriptor *descriptor, enum descriptor_half half, const char *part, const char *member)
{
    return !descriptor_compiles(descriptor, half, NULL) || program_sees(descriptor->own->programs[half], part, member);
}

const char *descriptor_program_text(const struct descriptor *descriptor, const char *part)
{
    const struct shape_reader *reader = &descriptor->own->reader;
    for (size_t i = 0; i < reader->program_count; i++)
        if (strcmp(reader->programs[i].path, part) == 0) return reader->programs[i].text;
    return "";
}

bool descriptor_ask(struct descriptor *descriptor, enum descriptor_half half, const char *part, const json_t *input,
                    bool *yes, struct errbuf *err)
{
    json_t *result;
    *yes = false;
    if (!descriptor_run(descriptor, half, part, input, &result, err)) return false;
    *yes = json_is_true(result);
    json_decref(result);
    return true;
}

const char *descriptor_credential(const struct descriptor *descriptor, size_t i)
{
    static const char *const basic[] = {"user", "password"};
    static const char *const oauth2[] = {"refresh_token", "client_id", "client_secret"};
    if (descriptor->credential_names) return json_string_value(json_array_get(descriptor->credential_names, i));
    if (descriptor->auth == AUTH_BASIC) return i < 2 ? basic[i] : NULL;
    if (descriptor->auth == AUTH_OAUTH2) return i < 3 ? oauth2[i] : NULL;
    return descriptor->auth != AUTH_NONE && i == 0 ? CREDENTIAL_ONLY : NULL;
}

bool descriptor_credential_optional(const struct descriptor *descriptor, const char *name)
{
    return descriptor->auth == AUTH_OAUTH2 && strcmp(name, "client_secret") == 0; /* RFC 6749, 2.1: public clients */
}

const char *descriptor_session_value(const struct descriptor *descriptor, size_t i)
{
    static const char *const usual[] = {"token", "refresh_token"};
    if (!descriptor_has_session(descriptor)) return NULL;
    if (descriptor->session_names) return json_string_value(json_array_get(descriptor->session_names, i));
    return i < (descriptor->auth == AUTH_OAUTH2 ? 2 : 1) ? usual[i] : NULL;
}

const struct descriptor_login *descriptor_login(const struct descriptor *descriptor, size_t i)
{
    if (descriptor->login_step_count > 0) return i < descriptor->login_step_count ? &descriptor->login_steps[i] : NULL;
    return i == 0 && descriptor->login.request.method ? &descriptor->login : NULL;
}

bool descriptor_has_session(const struct descriptor *descriptor)
{
    return descriptor->auth == AUTH_SESSION || descriptor->auth == AUTH_OAUTH2;
}

static bool is_among(const json_t *value, const json_t *values)
{
    for (size_t i = 0; i < json_array_size(values); i++)
        if (json_equal(value, json_array_get(values, i))) return true;
    return false;
}

bool descriptor_setting_fits(const struct descriptor_setting *setting, const json_t *value, char *why, size_t why_size)
{
    const char *text = json_string_value(value);
    bool plain = text && strlen(text) == json_string_length(value);
    char normal[ORIGIN_MAX_BYTES];
    bool fits = false;
    const char *must = "";
    switch (setting->type) {
    case SETTING_ORIGIN:
        fits = plain && origin_normalize(text, normal);
        must = "must be an http or https address without query, such as https://social.example";
        break;
    case SETTING_URL:
        fits = plain && origin_is_url(text);
        must = "must be an http or https address without user name and spaces";
        break;
    case SETTING_STRING:
        fits = plain && *text;
        must = "must be a string, not empty";
        break;
    case SETTING_ENUM:
        fits = is_among(value, setting->values);
        must = "must be one of the setting's values";
        break;
    case SETTING_NUMBER:
        fits = json_is_number(value) && json_number_value(value) >= 0;
        must = "must be a number, not below 0";
        break;
    case SETTING_BOOLEAN:
        fits = json_is_boolean(value);
        must = "must be true or false";
        break;
    }
    snprintf(why, why_size, "%s", must);
    return fits;
}

bool descriptor_status_fits(const struct descriptor_status_list *list, int status)
{
    for (int i = 0; i < list->count; i++)
        if (list->status[i] == status) return true;
    return list->count == 0;
}
