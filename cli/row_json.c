/* SPDX-License-Identifier: MIT */
#include "cli/row_json.h"

#include <string.h>

#include "cli/out.h"
#include "platforms/form.h"

static void put_text(json_t *object, const char *name, const char *text)
{
    if (text[0] != '\0') out_set(object, name, out_string(text));
}

static void put_number(json_t *object, const char *name, int64_t number)
{
    if (number != 0) out_set(object, name, json_integer(number));
}

json_t *row_json(const struct row *row)
{
    const struct delivery_row *r = &row->core;
    char doubt[DOUBT_TEXT_MAX];
    json_t *out = json_object();
    doubt_format(&r->doubt, doubt);
    put_text(out, "state", delivery_state_name(r->state));
    put_text(out, "reason", delivery_reason_name(r->reason));
    put_number(out, "since_ms", r->since_ms);
    put_number(out, "rev", r->rev);
    put_text(out, "content", row->content);
    put_number(out, "approved_at_ms", r->approved_at_ms);
    put_number(out, "not_before_ms", r->not_before_ms);
    put_number(out, "not_after_ms", r->not_after_ms);
    put_number(out, "dated_ms", r->dated_ms);
    put_number(out, "gen", r->generation);
    put_number(out, "attempt", r->attempt);
    put_number(out, "tries", r->tries);
    put_text(out, "worker", row->worker);
    put_number(out, "claimed_at_ms", row->claimed_at_ms);
    put_number(out, "first_send_ms", r->first_send_ms);
    put_number(out, "commit_by_ms", r->commit_by_ms);
    put_text(out, "key", row->key);
    put_text(out, "body_hash", row->body_hash);
    put_text(out, "in_doubt", doubt);
    put_number(out, "misses", r->misses);
    put_number(out, "missed_at_ms", r->missed_at_ms);
    put_number(out, "cleared_at_ms", row->cleared_at_ms);
    put_number(out, "waived", r->waived);
    put_number(out, "taken", row->taken);
    put_number(out, "turn_ms", row->turn_ms);
    put_text(out, "journal", row->journal);
    put_text(out, "ext_id", r->ext_id);
    put_text(out, "url", row->url);
    put_text(out, "source", delivery_source_name(row->source));
    put_text(out, "duplicate", row->duplicate);
    put_number(out, "changed", row->changed);
    put_number(out, "status", row->status);
    return out;
}

static json_t *segments(const struct form_text *text)
{
    struct buf out;
    buf_init(&out, 2 * FORM_BODY_MAX_BYTES);
    for (size_t i = 0; i < text->count; i++) {
        const struct form_segment *segment = &text->segments[i];
        if (segment->hole)
            buf_append_format(&out, "{{%s}}", segment->text);
        else
            buf_append(&out, segment->text, segment->len);
    }
    json_t *value = out_bytes(buf_text(&out), out.len);
    buf_fini(&out);
    return value;
}

json_t *row_json_form(const struct form *form)
{
    json_t *headers = json_array();
    for (size_t i = 0; i < form->header_count; i++) {
        json_t *pair = json_array();
        out_add(pair, out_string(form->headers[i].name));
        out_add(pair, segments(&form->headers[i].value));
        out_add(headers, pair);
    }
    json_t *out = json_object();
    out_set(out, "method", out_string(form->method));
    out_set(out, "url", segments(&form->url));
    out_set(out, "headers", headers);
    out_set(out, "body", form->has_body ? segments(&form->body) : json_null());
    return out;
}

json_t *row_json_request(const char *frozen, size_t len, struct errbuf *err)
{
    struct form form;
    json_error_t where;
    json_t *json = json_loadb(frozen, len, JSON_ALLOW_NUL, &where);
    bool ok = json || errbuf_set(err, "not JSON: %s", where.text);
    ok = ok && form_parse(json, &form, err);
    json_decref(json);
    if (!ok) return NULL;
    json_t *out = row_json_form(&form);
    form_fini(&form);
    return out;
}
