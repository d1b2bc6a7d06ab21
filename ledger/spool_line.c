/* SPDX-License-Identifier: MIT */
#include "ledger/spool_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/link.h"
#include "runtime/die.h"

#define VERSION     1
#define TIME_MAX_MS 999999999999999 /* 15 digits, as in rows */

/* ---- writing ---- */

static void set(json_t *object, const char *name, json_t *own_value)
{
    if (own_value == NULL || json_object_set_new(object, name, own_value) != 0) die("out of memory");
}

/* NULL and "" are left out. False: no UTF-8. */
static bool set_text(json_t *object, const char *name, const char *text, size_t len, struct errbuf *err)
{
    if (text == NULL || len == 0) return true;
    json_t *value = memchr(text, '\0', len) == NULL ? json_stringn(text, len) : NULL;
    if (value == NULL) return errbuf_set(err, "the outcome's %s is not UTF-8 text", name);
    set(object, name, value);
    return true;
}

static bool set_word(json_t *object, const char *name, const char *text, struct errbuf *err)
{
    return set_text(object, name, text, text != NULL ? strlen(text) : 0, err);
}

static void set_number(json_t *object, const char *name, int64_t number)
{
    if (number != 0) set(object, name, json_integer(number));
}

static json_t *begin(void)
{
    json_t *line = json_object();
    if (line == NULL) die("out of memory");
    set(line, "v", json_integer(VERSION));
    return line;
}

/* Appends and frees the line. */
static bool finish(struct buf *out, json_t *own_line, bool ok, struct errbuf *err)
{
    char *text = ok ? json_dumps(own_line, JSON_COMPACT) : NULL;
    json_decref(own_line);
    if (!ok) return false;
    if (text == NULL) die("out of memory");
    size_t len = strlen(text);
    if (len >= SPOOL_LINE_MAX_BYTES)
        ok = errbuf_set(err, "the outcome's line would have %zu bytes", len);
    else if (!buf_append(out, text, len) || !buf_append(out, "\n", 1))
        ok = errbuf_set(err, "too much is to be written at once");
    free(text);
    return ok;
}

bool spool_line_stamp(struct buf *out, const struct spool_stamp *stamp, struct errbuf *err)
{
    json_t *line = begin();
    json_t *of = json_object();
    bool ok = set_word(of, "environment", stamp->environment, err) && set_word(of, "prefix", stamp->prefix, err) &&
              set_word(of, "worker", stamp->worker, err);
    set(of, "partition", json_integer(stamp->partition));
    set(line, "spool", of);
    return finish(out, line, ok, err);
}

static bool set_attempt(json_t *line, const char *name, const struct attempt_report *r, struct errbuf *err)
{
    set(line, "attempt", json_integer(r->input.attempt));
    return set_word(line, name, r->delivery, err) && set_word(line, "token", r->input.token, err);
}

/* Whether the item may be needed again: not of what is out, or was taken down by a person. */
static bool keeps_item(const struct attempt_report *r)
{
    return r->input.event != EV_COMMITTED && r->input.event != EV_DELETED &&
           r->item_len + r->frozen_len <= SPOOL_ITEM_MAX_BYTES;
}

bool spool_line_report(struct buf *out, const struct attempt_report *r, int64_t kept_at_ms, struct errbuf *err)
{
    json_t *line = begin();
    struct errbuf ignored;
    set_number(line, "kept_at", kept_at_ms);
    bool ok = set_attempt(line, "delivery", r, err) &&
              set_word(line, "event", delivery_event_name(r->input.event), err) &&
              set_word(line, "reason", delivery_reason_name(r->input.reason), err) &&
              set_word(line, "ext_id", r->ext_id, err) && set_word(line, "url", r->url, err) &&
              set_word(line, "duplicate", r->duplicate, err) && set_word(line, "content", r->content_hash, err) &&
              set_word(line, "key", r->key, err) && set_word(line, "body_hash", r->body_hash, err) &&
              set_word(line, "run_id", r->input.set_back ? NULL : r->run_id, err);
    set_number(line, "status", r->status);
    set_number(line, "changed", r->changed);
    set_number(line, "until", r->input.until_ms);
    set_number(line, "approved_at", r->approved_at_ms);
    (void)set_word(line, "detail", r->detail, &ignored); /* for people: better without than not at all */
    if (ok && keeps_item(r))
        ok = set_text(line, "item", r->item, r->item_len, err) &&
             set_text(line, "frozen", r->frozen, r->frozen_len, err);
    return finish(out, line, ok, err);
}

bool spool_line_done(struct buf *out, const struct attempt_report *report, struct errbuf *err)
{
    json_t *line = begin();
    return finish(out, line, set_attempt(line, "done", report, err), err);
}

/* ---- reading ---- */

/* A text of the object with at most max bytes; "" where there is none. NUL bytes were refused by the parser. */
static bool get_text(const json_t *object, const char *name, size_t max, const char **out, struct errbuf *err)
{
    const json_t *value = json_object_get(object, name);
    *out = value != NULL ? json_string_value(value) : "";
    if (*out == NULL) return errbuf_set(err, "%s is no text", name);
    return strlen(*out) <= max || errbuf_set(err, "%s is longer than %zu bytes", name, max);
}

static bool get_number(const json_t *object, const char *name, int64_t most, int64_t *out, struct errbuf *err)
{
    const json_t *value = json_object_get(object, name);
    *out = json_integer_value(value);
    bool ok = value == NULL || (json_is_integer(value) && *out >= 0 && *out <= most);
    return ok || errbuf_set(err, "%s is no number from 0 to %" PRId64, name, most);
}

static bool is_hex(const char *text, size_t len)
{
    return strlen(text) == len && strspn(text, "0123456789abcdef") == len;
}

/* Delivery, attempt and token: which attempt this is about. */
static bool read_attempt(struct spool_line *line, const char *name, struct errbuf *err)
{
    struct attempt_report *r = &line->report;
    struct delivery_id id;
    char normal[IDENTITY_NAME_BYTES], why[KEYS_ERR_BYTES];
    const char *token;
    int64_t attempt;
    if (!get_text(line->own_json, name, IDENTITY_NAME_BYTES - 1, &r->delivery, err) ||
        !get_text(line->own_json, "token", sizeof r->input.token - 1, &token, err) ||
        !get_number(line->own_json, "attempt", INT32_MAX, &attempt, err))
        return false;
    if (!identity_parse(r->delivery, &id, why)) return errbuf_set(err, "%s is no delivery: %s", name, why);
    (void)identity_name(&id, normal);
    if (strcmp(normal, r->delivery) != 0) return errbuf_set(err, "%s is not in normal form", name);
    if (!is_hex(token, CLAIM_TOKEN_BYTES - 1)) return errbuf_set(err, "token is not 16 hex digits");
    if (attempt == 0) return errbuf_set(err, "attempt is missing");
    snprintf(line->channel, sizeof line->channel, "%s", id.channel);
    snprintf(r->input.token, sizeof r->input.token, "%s", token);
    r->channel = line->channel;
    r->input.attempt = (int)attempt;
    return true;
}

static bool read_words(struct spool_line *line, struct errbuf *err)
{
    struct attempt_report *r = &line->report;
    const char *event, *reason;
    if (!get_text(line->own_json, "event", 64, &event, err) || !get_text(line->own_json, "reason", 64, &reason, err))
        return false;
    int number = delivery_event_from_name(event);
    if (number < EV_COMMITTED || number > EV_DELETED) return errbuf_set(err, "event is no report of an attempt");
    r->input.event = (enum delivery_event)number;
    number = delivery_reason_from_name(reason);
    if (number < 0) return errbuf_set(err, "reason is not known");
    r->input.reason = (enum delivery_reason)number;
    return true;
}

static bool read_made_again(struct spool_line *line, struct errbuf *err)
{
    struct attempt_report *r = &line->report;
    const json_t *json = line->own_json;
    if (!get_text(json, "content", HASH_HEX_BYTES - 1, &r->content_hash, err) ||
        !get_text(json, "key", KEY_BYTES - 1, &r->key, err) ||
        !get_text(json, "body_hash", HASH_HEX_BYTES - 1, &r->body_hash, err) ||
        !get_text(json, "item", SPOOL_ITEM_MAX_BYTES, &r->item, err) ||
        !get_text(json, "frozen", SPOOL_ITEM_MAX_BYTES, &r->frozen, err) ||
        !get_number(json, "approved_at", TIME_MAX_MS, &r->approved_at_ms, err))
        return false;
    if (!is_hex(r->content_hash, HASH_HEX_BYTES - 1)) return errbuf_set(err, "content is no hash");
    if (r->body_hash[0] != '\0' && !is_hex(r->body_hash, HASH_HEX_BYTES - 1))
        return errbuf_set(err, "body_hash is no hash");
    r->item_len = strlen(r->item);
    r->frozen_len = strlen(r->frozen);
    if (r->item_len == 0) r->item = NULL;
    if (r->frozen_len == 0) r->frozen = NULL;
    return true;
}

/* The row's own limits hold for what goes into it. */
static bool read_report(struct spool_line *line, struct errbuf *err)
{
    struct attempt_report *r = &line->report;
    const json_t *json = line->own_json;
    int64_t status, changed;
    line->kind = SPOOL_LINE_REPORT;
    if (!read_attempt(line, "delivery", err) || !read_words(line, err) || !read_made_again(line, err) ||
        !get_text(json, "run_id", LINK_RUN_ID_BYTES - 1, &r->run_id, err) ||
        !get_text(json, "ext_id", DELIVERY_EXT_ID_MAX, &r->ext_id, err) ||
        !get_text(json, "duplicate", DELIVERY_EXT_ID_MAX, &r->duplicate, err) ||
        !get_text(json, "url", ROW_URL_BYTES - 1, &r->url, err) || !get_text(json, "detail", 4096, &r->detail, err) ||
        !get_number(json, "status", 999, &status, err) || !get_number(json, "changed", 1, &changed, err) ||
        !get_number(json, "until", TIME_MAX_MS, &r->input.until_ms, err) ||
        !get_number(json, "kept_at", TIME_MAX_MS, &line->kept_at_ms, err))
        return false;
    r->status = (int)status;
    r->changed = changed != 0;
    return true;
}

static bool read_stamp(struct spool_line *line, const json_t *of, struct errbuf *err)
{
    struct spool_stamp *s = &line->stamp;
    line->kind = SPOOL_LINE_STAMP;
    return get_text(of, "environment", 64, &s->environment, err) && get_text(of, "prefix", 64, &s->prefix, err) &&
           get_text(of, "worker", 64, &s->worker, err) && get_number(of, "partition", INT32_MAX, &s->partition, err);
}

static bool read_line(struct spool_line *line, struct errbuf *err)
{
    int64_t version;
    if (!json_is_object(line->own_json)) return errbuf_set(err, "it is no JSON object");
    if (!get_number(line->own_json, "v", INT32_MAX, &version, err)) return false;
    if (version != VERSION) return errbuf_set(err, "its version is %" PRId64 ", this program reads 1", version);
    const json_t *of = json_object_get(line->own_json, "spool");
    if (of != NULL) return read_stamp(line, of, err);
    if (json_object_get(line->own_json, "done") == NULL) return read_report(line, err);
    line->kind = SPOOL_LINE_DONE;
    return read_attempt(line, "done", err);
}

bool spool_line_read(const char *bytes, size_t len, struct spool_line *out, struct errbuf *err)
{
    json_error_t where;
    memset(out, 0, sizeof *out);
    out->own_json = json_loadb(bytes, len, JSON_REJECT_DUPLICATES, &where);
    if (out->own_json == NULL) return errbuf_set(err, "it is no JSON: %.150s", where.text);
    if (read_line(out, err)) return true;
    spool_line_fini(out);
    return false;
}

void spool_line_fini(struct spool_line *line)
{
    json_decref(line->own_json);
    line->own_json = NULL;
}

bool spool_line_same(const struct attempt_report *a, const struct attempt_report *b)
{
    return a->input.attempt == b->input.attempt && strcmp(a->input.token, b->input.token) == 0 &&
           strcmp(a->delivery, b->delivery) == 0;
}
