/* SPDX-License-Identifier: MIT */
/* Status line, headers and body as they come. What the body means as JSON is answer_json.c. */
#include "platforms/answer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "platforms/answer_json.h"
#include "runtime/die.h"
#include "runtime/utf8.h"

void answer_init(struct answer *answer, size_t body_max_bytes)
{
    memset(answer, 0, sizeof(*answer));
    buf_init(&answer->body, body_max_bytes);
    answer->headers = json_object();
    answer->cookies = json_object();
    if (!answer->headers || !answer->cookies) die("out of memory");
}

void answer_fini(struct answer *answer)
{
    buf_fini(&answer->body);
    json_decref(answer->headers);
    json_decref(answer->cookies);
    json_decref(answer->json);
    answer->headers = answer->cookies = NULL;
    answer->json = NULL;
}

static void clear_head(struct answer *answer)
{
    answer->status = 0;
    answer->headers_cut = false;
    answer->json_type = false;
    json_object_clear(answer->headers);
    json_object_clear(answer->cookies);
}

void answer_clear(struct answer *answer)
{
    clear_head(answer);
    buf_clear(&answer->body);
    json_decref(answer->json);
    answer->json = NULL;
    answer->json_error[0] = '\0';
}

/* "HTTP/1.1 200 OK": three digits behind the first space. 0 if it is none. */
static int status_of(const char *line, size_t len)
{
    const char *space = memchr(line, ' ', len);
    if (!space || (size_t)(line + len - space) < 4) return 0;
    int status = 0;
    for (int i = 1; i <= 3; i++) {
        if (!isdigit((unsigned char)space[i])) return 0;
        status = status * 10 + (space[i] - '0');
    }
    return status;
}

/* The text with U+FFFD for what is no UTF-8, and for NUL. Most texts have neither, which jansson finds out itself. */
static json_t *lossy_string(const char *bytes, size_t len)
{
    json_t *clean = memchr(bytes, '\0', len) ? NULL : json_stringn(bytes, len);
    struct buf text;
    if (clean) return clean;
    buf_init(&text, 3 * len + 1);
    for (size_t at = 0; at < len;) {
        size_t step = bytes[at] == '\0' ? 0 : utf8_decode(bytes + at, len - at, NULL);
        if (step == 0)
            buf_append_text(&text, "\xEF\xBF\xBD");
        else
            buf_append(&text, bytes + at, step);
        at += step == 0 ? 1 : step;
    }
    json_t *string = json_stringn(buf_text(&text), text.len);
    buf_fini(&text);
    if (!string) die("out of memory");
    return string;
}

/* What a transfer of JSON declares: application/json, or a type that ends in +json, parameters aside. */
static bool is_json_type(const char *value)
{
    size_t len = strcspn(value, "; \t,");
    return (len == 16 && strncasecmp(value, "application/json", len) == 0) ||
           (len > 5 && strncasecmp(value + len - 5, "+json", 5) == 0);
}

static void keep_header(struct answer *answer, const char *name, const char *value, size_t value_len)
{
    json_t *text = lossy_string(value, value_len);
    const char *before = answer_header(answer, name);
    if (before) {
        char *joined = xformat("%s, %s", before, json_string_value(text));
        json_decref(text);
        text = json_string(joined);
        free(joined);
    }
    bool fits = json_string_length(text) <= ANSWER_HEADER_MAX_BYTES &&
                (before || json_object_size(answer->headers) < ANSWER_HEADERS_MAX);
    if (!fits) {
        answer->headers_cut = true;
        json_decref(text);
        return;
    }
    if (strcmp(name, "content-type") == 0) answer->json_type = is_json_type(json_string_value(text));
    if (json_object_set_new(answer->headers, name, text) != 0) die("out of memory");
}

/* Name and value of a cookie (RFC 6265, section 5.2); attributes are passed over, what is deleted is none. */
static void keep_cookie(struct answer *answer, const char *line, size_t len)
{
    const char *end = memchr(line, ';', len); /* nothing ends the line but its length */
    size_t pair_len = end ? (size_t)(end - line) : len;
    const char *equals = memchr(line, '=', pair_len);
    if (!equals || equals == line || json_object_size(answer->cookies) >= ANSWER_COOKIES_MAX) return;
    for (size_t i = 0; i < pair_len; i++)
        if (line[i] <= ' ' || line[i] >= 0x7f) return;
    char *name = xstrndup(line, (size_t)(equals - line));
    char *value = xstrndup(equals + 1, pair_len - (size_t)(equals + 1 - line));
    if (*value == '\0' || strcmp(value, "deleted") == 0)
        json_object_del(answer->cookies, name);
    else if (json_object_set_new(answer->cookies, name, json_string(value)) != 0)
        die("out of memory");
    free(name);
    free(value);
}

void answer_header_line(struct answer *answer, const char *line, size_t len)
{
    while (len > 0 && strchr("\r\n \t", line[len - 1]))
        len--;
    if (len > 5 && strncmp(line, "HTTP/", 5) == 0) {
        clear_head(answer);
        answer->status = status_of(line, len);
        return;
    }
    const char *colon = memchr(line, ':', len);
    char name[64];
    size_t name_len = colon ? (size_t)(colon - line) : 0;
    if (name_len == 0 || name_len >= sizeof(name)) {
        answer->headers_cut |= name_len > 0;
        return;
    }
    for (size_t i = 0; i < name_len; i++) {
        unsigned char c = (unsigned char)line[i];
        if (c <= ' ' || c >= 0x7f) return; /* a folded line, or no header at all */
        name[i] = (char)tolower(c);
    }
    name[name_len] = '\0';
    const char *value = colon + 1;
    while (value < line + len && (*value == ' ' || *value == '\t'))
        value++;
    if (strcmp(name, "set-cookie") == 0)
        keep_cookie(answer, value, (size_t)(line + len - value));
    else
        keep_header(answer, name, value, (size_t)(line + len - value));
}

bool answer_body(struct answer *answer, const void *bytes, size_t len)
{
    return buf_append(&answer->body, bytes, len);
}

void answer_finish(struct answer *answer)
{
    json_decref(answer->json);
    answer->json = NULL;
    answer->json_error[0] = '\0';
    if (answer->body.cut)
        snprintf(answer->json_error, sizeof(answer->json_error), "the body is longer than %zu bytes",
                 answer->body.max_bytes);
    else
        answer->json = answer_json_parse(buf_text(&answer->body), answer->body.len, answer->json_error,
                                         sizeof(answer->json_error));
}

const char *answer_header(const struct answer *answer, const char *name)
{
    return json_string_value(json_object_get(answer->headers, name));
}

static json_t *cookies_to_json(const struct answer *answer)
{
    const char *name;
    json_t *value;
    struct buf text;
    buf_init(&text, ANSWER_HEADER_MAX_BYTES);
    json_object_foreach(answer->cookies, name, value)
    {
        buf_append_format(&text, "%s%s=%s", text.len > 0 ? "; " : "", name, json_string_value(value));
    }
    json_t *out = text.len > 0 && !text.cut ? json_string(buf_text(&text)) : NULL;
    buf_fini(&text);
    return out;
}

json_t *answer_to_json(const struct answer *answer)
{
    size_t text_len = utf8_cut(buf_text(&answer->body), answer->body.len, ANSWER_TEXT_MAX_BYTES);
    json_t *out = json_pack("{s:i, s:O, s:O?, s:o, s:o*}", "status", answer->status, "headers", answer->headers, "body",
                            answer->json, "text", lossy_string(buf_text(&answer->body), text_len), "cookies",
                            cookies_to_json(answer));
    if (!out) die("out of memory");
    return out;
}
