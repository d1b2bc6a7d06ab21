/* SPDX-License-Identifier: MIT */
/* Prints every line of the protocol's table as one JSON object: row, input, policy, decision. tests/scripts replays
 * them through the scripts. Times are relative to the moment of the decision; 0 stays 0 ("never"). */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "golden_cases.h"

static json_t *at(int64_t ms)
{
    return ms == 0 ? json_null() : json_integer(ms - GOLDEN_NOW_MS);
}

static json_t *doubt_text(const struct doubt *doubt)
{
    char text[DOUBT_TEXT_MAX];
    doubt_format(doubt, text);
    return json_string(text);
}

static json_t *row_json(const struct delivery_row *r)
{
    return json_pack("{s:s,s:s,s:I,s:o,s:o,s:o,s:o,s:o,s:i,s:i,s:i,s:s,s:o,s:o,s:o,s:i,s:o,s:b,s:s}", "state",
                     delivery_state_name(r->state), "reason", delivery_reason_name(r->reason), "rev",
                     (json_int_t)r->rev, "since", at(r->since_ms), "approved_at", at(r->approved_at_ms), "not_before",
                     at(r->not_before_ms), "not_after", at(r->not_after_ms), "dated", at(r->dated_ms), "gen",
                     r->generation, "attempt", r->attempt, "tries", r->tries, "token", r->token, "first_send",
                     at(r->first_send_ms), "commit_by", at(r->commit_by_ms), "in_doubt", doubt_text(&r->doubt),
                     "misses", r->misses, "missed_at", at(r->missed_at_ms), "waived", r->waived, "ext_id", r->ext_id);
}

static json_t *input_json(const struct delivery_input *in)
{
    return json_pack("{s:s,s:i,s:s,s:s,s:o,s:o,s:b,s:b}", "event", delivery_event_name(in->event), "attempt",
                     in->attempt, "token", in->token, "ext_id", in->ext_id ? in->ext_id : "", "searched_from",
                     at(in->searched_from_ms), "no_absence_before", at(in->no_absence_before_ms), "hold", in->hold,
                     "two_found", in->two_found);
}

static json_t *policy_json(const struct delivery_policy *p)
{
    return json_pack(
        "{s:b,s:I,s:I,s:I,s:I,s:I,s:i,s:I}", "harmless", p->harmless, "window", (json_int_t)p->key_window_ms, "lease",
        (json_int_t)p->lease_ms, "late_commit", (json_int_t)p->late_commit_ms, "margin", (json_int_t)p->margin_ms,
        "lag", (json_int_t)p->visibility_lag_ms, "max_attempts", p->max_attempts, "max_age", (json_int_t)p->max_age_ms);
}

static json_t *decision_json(const struct delivery_decision *d)
{
    static const char *const verdicts[] = {
        [VERDICT_CHANGE] = "change", [VERDICT_ALREADY] = "already", [VERDICT_BUSY] = "busy"};
    static const char *const places[] = {
        [PLACE_NONE] = "-", [PLACE_AGENDA] = "agenda", [PLACE_WAITING] = "waiting", [PLACE_WALK] = "walk"};
    return json_pack("{s:s,s:s,s:s,s:s,s:o,s:o,s:b,s:i,s:i,s:i,s:o,s:I,s:b,s:b,s:b,s:b,s:b,s:s}", "verdict",
                     verdicts[d->verdict], "state", delivery_state_name(d->state), "reason",
                     delivery_reason_name(d->reason), "place", places[d->place], "due", at(d->due_ms), "in_doubt",
                     doubt_text(&d->doubt), "doubt_cleared", d->doubt_cleared, "tries", d->tries, "gen", d->generation,
                     "misses", d->misses, "missed_at", at(d->missed_at_ms), "commit_cap", (json_int_t)d->commit_cap_ms,
                     "waived", d->waived, "drop_times", d->drop_times, "new_generation", d->new_generation, "duplicate",
                     d->duplicate, "send", d->send, "source", delivery_source_name(d->source));
}

static void print(const struct golden_line *line, void *ctx)
{
    (void)ctx;
    json_t *all = json_pack("{s:s,s:s,s:s,s:o,s:o,s:o,s:o}", "row_name", line->row->name, "input_name",
                            line->input->name, "policy_name", line->policy->name, "row", row_json(&line->row->row),
                            "input", input_json(&line->input->in), "policy", policy_json(&line->policy->policy),
                            "decision", decision_json(&line->decision));
    if (!all) exit(1);
    json_dumpf(all, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(all);
}

int main(void)
{
    golden_each(print, NULL);
    return 0;
}
