/* SPDX-License-Identifier: MIT */
#include "cli/ledger_line.h"

#include "cli/out.h"
#include "runtime/clock.h"
#include "runtime/die.h"

static void put_text(json_t *line, const char *name, const char *text)
{
    if (text[0] != '\0') out_set(line, name, out_string(text));
}

static void put_time(json_t *line, const char *name, int64_t ms)
{
    char text[CLOCK_RFC3339_SIZE];
    if (ms > 0) out_set(line, name, out_string(clock_rfc3339(ms, text)));
}

/* Why an approved delivery waits changes from minute to minute; of the others the reason belongs to the state. */
json_t *ledger_line(const char *delivery, const struct row *row)
{
    const struct delivery_row *r = &row->core;
    char doubt[DOUBT_TEXT_MAX];
    json_t *line = json_object();
    doubt_format(&r->doubt, doubt);
    put_text(line, "delivery", delivery);
    put_text(line, "state", delivery_state_name(r->state));
    if (r->state != DS_APPROVED) put_text(line, "reason", delivery_reason_name(r->reason));
    put_time(line, "since", r->since_ms);
    put_text(line, "source", delivery_source_name(row->source));
    put_text(line, "ext_id", r->ext_id);
    put_text(line, "url", row->url);
    put_text(line, "duplicate", row->duplicate);
    if (row->changed) out_set(line, "changed", json_true());
    put_time(line, "approved_at", r->approved_at_ms);
    put_time(line, "not_before", r->not_before_ms);
    put_time(line, "not_after", r->not_after_ms);
    put_text(line, "content", row->content);
    put_text(line, "key", row->key);
    if (r->generation) out_set(line, "gen", json_integer(r->generation));
    if (r->attempt) out_set(line, "attempt", json_integer(r->attempt));
    put_text(line, "in_doubt", doubt);
    return line;
}

json_t *ledger_line_unreadable(const char *delivery, const char *why)
{
    json_t *line = json_object();
    put_text(line, "delivery", delivery);
    put_text(line, "unreadable", why);
    return line;
}

char *ledger_line_text(const json_t *line)
{
    char *text = json_dumps(line, JSON_COMPACT | JSON_ENSURE_ASCII);
    if (!text) die("out of memory");
    return text;
}
