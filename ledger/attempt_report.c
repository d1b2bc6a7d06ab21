/* SPDX-License-Identifier: MIT */
#include "ledger/attempt_report.h"

#include <string.h>

static const char *some(const char *text)
{
    return text != NULL && text[0] != '\0' ? text : NULL;
}

static void fill_made_again(const struct attempt_report *report, struct decide_request *request)
{
    request->attempt = report->input.attempt;
    request->token = report->input.token;
    request->key = report->key;
    request->content_hash = report->content_hash;
    request->content = report->item;
    request->content_len = report->item_len;
    request->body_hash = report->body_hash;
    request->frozen = report->frozen;
    request->frozen_len = report->frozen_len;
    request->approved_at_ms = report->approved_at_ms;
}

/* Beside the post that is kept: this one, where another id is kept already, or the one that the answer betrays. */
static const char *other_post(const struct attempt_report *report, const struct delivery_row *row)
{
    bool second = row->ext_id[0] != '\0' && strcmp(row->ext_id, report->ext_id) != 0;
    return second || report->duplicate[0] == '\0' ? report->ext_id : report->duplicate;
}

bool attempt_report_to(struct attempt_report *report, const char *run_id)
{
    /* A server that was left and comes back may have been set back meanwhile: once said, it stays said. */
    if (report->input.set_back || run_id[0] == '\0' || strcmp(report->run_id, run_id) == 0) return false;
    report->input.set_back = true;
    return true;
}

bool attempt_report_decide(struct attempt_report *report, const struct delivery_row *row,
                           const struct delivery_policy *policy, int64_t now_ms, struct delivery_decision *decision,
                           struct decide_request *request)
{
    report->input.ext_id = report->ext_id;
    report->input.two_found = report->duplicate[0] != '\0';
    *decision = delivery_step(row, &report->input, policy, now_ms);
    if (decision->verdict != VERDICT_CHANGE) return false;
    memset(request, 0, sizeof *request);
    request->base.channel = report->channel;
    request->base.delivery = report->delivery;
    request->row = row;
    request->decision = decision;
    request->lease_token = report->input.token;
    request->ext_id = some(report->ext_id);
    request->url = some(report->url);
    request->duplicate_id = decision->duplicate ? other_post(report, row) : NULL;
    request->changed = report->changed;
    request->status = report->status;
    request->detail = report->detail;
    request->detail_len = strlen(report->detail);
    if (row->state == DS_NONE)
        fill_made_again(report, request);
    else if (row->attempt == 0) /* never claimed, as far as the ledger remembers: it is to be found by this key */
        request->key = report->key;
    return true;
}

void attempt_report_foreign(struct attempt_report *report)
{
    report->input.event = EV_CONFLICT;
    report->input.reason = RS_NONE;
    report->input.until_ms = 0;
    report->ext_id = "";
    report->url = "";
    report->duplicate = "";
    report->changed = false;
}
