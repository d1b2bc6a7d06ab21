/* SPDX-License-Identifier: MIT */
/*
 * The frozen form. It comes back from Redis, where other hands can reach it, so reading it back takes nothing for
 * granted: every member is checked, and then the form as a whole.
 */
#include "platforms/form.h"

#include <stdlib.h>
#include <string.h>

#include "keys/canonical.h"
#include "runtime/die.h"

#define FORM_VERSION      1
#define FORM_VERSION_TEXT "1"

static const char *const encodings[] = {[FORM_RAW] = NULL, [FORM_PERCENT] = "percent", [FORM_JSON] = "json"};

/* ---- written ---- */

static inline void put(struct canonical_text *out, const char *text)
{
    canonical_put(out, text, strlen(text));
}

static void put_string(struct canonical_text *out, const char *text)
{
    canonical_put_string(out, text, strlen(text));
}

static void put_hole(struct canonical_text *out, const struct form_segment *segment)
{
    put(out, "{");
    if (encodings[segment->encoding]) {
        put(out, "\"as\":");
        put_string(out, encodings[segment->encoding]);
        put(out, ",");
    }
    put(out, "\"hole\":");
    put_string(out, segment->text);
    put(out, "}");
}

static void put_text(struct canonical_text *out, const struct form_text *text)
{
    put(out, "[");
    for (size_t i = 0; i < text->count; i++) {
        const struct form_segment *segment = &text->segments[i];
        if (i > 0) put(out, ",");
        if (segment->hole)
            put_hole(out, segment);
        else
            canonical_put_string(out, segment->text, segment->len);
    }
    put(out, "]");
}

static void put_headers(struct canonical_text *out, const struct form *form)
{
    put(out, "[");
    for (size_t i = 0; i < form->header_count; i++) {
        put(out, i > 0 ? ",[" : "[");
        put_string(out, form->headers[i].name);
        put(out, ",");
        put_text(out, &form->headers[i].value);
        put(out, "]");
    }
    put(out, "]");
}

char *form_frozen(const struct form *form, size_t *len)
{
    struct canonical_text out = {0};
    put(&out, "{");
    if (form->has_body) {
        put(&out, "\"body\":");
        put_text(&out, &form->body);
        put(&out, ",");
    }
    put(&out, "\"headers\":");
    put_headers(&out, form);
    put(&out, ",\"method\":");
    put_string(&out, form->method);
    put(&out, ",\"url\":");
    put_text(&out, &form->url);
    put(&out, ",\"v\":" FORM_VERSION_TEXT "}");
    *len = out.len;
    return out.bytes;
}

/* ---- read ---- */

static bool is_hole_name(const char *name)
{
    static const char *const whole[] = {"secret", "timestamp", "signature", "basic", "jwt"};
    for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++)
        if (strcmp(name, whole[i]) == 0) return true;
    return strncmp(name, "secret.", 7) == 0 || strncmp(name, "session.", 8) == 0;
}

static bool parse_hole(const json_t *json, struct form_segment *segment)
{
    const char *name = json_string_value(json_object_get(json, "hole"));
    const json_t *as = json_object_get(json, "as");
    if (!name || !is_hole_name(name) || json_object_size(json) != (as ? 2 : 1)) return false;
    segment->encoding = FORM_RAW;
    for (enum form_encoding i = FORM_PERCENT; as && i <= FORM_JSON; i++)
        if (json_is_string(as) && strcmp(json_string_value(as), encodings[i]) == 0) segment->encoding = i;
    if (as && segment->encoding == FORM_RAW) return false;
    segment->hole = true;
    segment->text = xstrdup(name);
    segment->len = strlen(name);
    return true;
}

static bool parse_text(const json_t *json, struct form_text *out)
{
    if (!json_is_array(json)) return false;
    out->segments = xcalloc(json_array_size(json), sizeof(*out->segments));
    for (size_t i = 0; i < json_array_size(json); i++) {
        const json_t *item = json_array_get(json, i);
        struct form_segment *segment = &out->segments[out->count];
        if (json_is_string(item)) {
            segment->len = json_string_length(item);
            segment->text = xstrndup(json_string_value(item), segment->len);
        } else if (!parse_hole(item, segment)) {
            return false;
        }
        out->count++;
    }
    return true;
}

static bool parse_headers(const json_t *json, struct form *form)
{
    if (!json_is_array(json) || json_array_size(json) > FORM_HEADERS_MAX) return false;
    form->headers = xcalloc(json_array_size(json), sizeof(*form->headers));
    for (size_t i = 0; i < json_array_size(json); i++) {
        const json_t *pair = json_array_get(json, i);
        const char *name = json_string_value(json_array_get(pair, 0));
        if (json_array_size(pair) != 2 || !name) return false;
        form->headers[form->header_count++].name = xstrdup(name);
        if (!parse_text(json_array_get(pair, 1), &form->headers[i].value)) return false;
    }
    return true;
}

static bool parse_form(const json_t *json, struct form *form)
{
    const json_t *version = json_object_get(json, "v"), *body = json_object_get(json, "body");
    const char *method = json_string_value(json_object_get(json, "method"));
    if (json_object_size(json) != (body ? 5 : 4) || !json_is_integer(version) || !method) return false;
    if (json_integer_value(version) != FORM_VERSION || strlen(method) >= sizeof(form->method)) return false;
    memcpy(form->method, method, strlen(method) + 1);
    form->has_body = body != NULL;
    return parse_text(json_object_get(json, "url"), &form->url) &&
           parse_headers(json_object_get(json, "headers"), form) && (!body || parse_text(body, &form->body));
}

bool form_parse(const json_t *json, struct form *form, struct errbuf *err)
{
    memset(form, 0, sizeof(*form));
    form->foreign = true;
    bool ok = parse_form(json, form) || errbuf_set(err, "it is no frozen request of version %d", FORM_VERSION);
    ok = ok && form_check(form, err);
    if (!ok) form_fini(form);
    return ok;
}
